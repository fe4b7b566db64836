"""What a provider says itself of a cache that it did not read, in an answer to a request that asked.

Anthropic: ``diagnostics`` of a message (https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics;
anthropic 2.12, ``types/diagnostics.py``). OpenAI: ``prompt_cache_diagnostics`` of a response, from GPT-5.6 on
(https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics; openai, ``types/responses/response.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ullage.codec.foreign import get_object, get_text
from ullage.envelope import MOST_TOKENS, WORD_CHARS
from ullage.usage import CacheVerdict

_PLACES: Final = (
    ("diagnostics", "cache_miss_reason", "type", "cache_missed_input_tokens"),
    ("prompt_cache_diagnostics", "", "reason", "cache_missed_tokens"),
)


def read_verdict(answer: Mapping[str, Any]) -> CacheVerdict | None:
    """The verdict in an answer; ``None`` where it has none, or says that nothing differs. Never raises."""
    for name, inner, word, count in _PLACES:
        found = get_object(answer, name)
        if inner:
            found = get_object(found, inner)
        reason = get_text(found, word)[:WORD_CHARS]
        tokens = found.get(count)
        if reason:
            is_count = type(tokens) is int and 0 <= tokens <= MOST_TOKENS
            return CacheVerdict(reason=reason, tokens=tokens if is_count else None)
    return None
