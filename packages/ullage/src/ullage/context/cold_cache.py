"""How long a provider keeps its prompt cache, and what is cleared once it has certainly expired.

Clearing old tool results changes the beginning of the request, so the provider's cache has to be written anew. After a
pause longer than the cache lives, that is paid anyway: clearing is free, and saves its tokens on the very next call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ullage.codec.blocks import CacheMarks

MINUTE_S: Final = 60.0
HOUR_S: Final = 3_600.0
DAY_S: Final = 86_400.0

CLAUDE_S: Final[Mapping[str, float]] = {"5m": 5 * MINUTE_S, "1h": HOUR_S}
"""The lifetime by the marker of the request, counted from its last use
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching)."""

OPENAI_S: Final[Mapping[str, float]] = {"in_memory": HOUR_S, "24h": DAY_S}
"""The longest lifetime by ``prompt_cache_retention``. Organizations that keep data have 24 hours by default
(https://developers.openai.com/api/docs/guides/prompt-caching, ``prompt_cache_retention`` in openai 3.52)."""


def cache_lifetime_s(
    provider: str, marks: CacheMarks | None, params: Mapping[str, object]
) -> float | None:
    """Seconds after its last use at which the cache is certainly gone; ``None`` where nobody documents it.

    Google documents no lifetime of its implicit cache, and a local server keeps it as long as it has room.
    """
    if provider == "anthropic":
        return 0.0 if marks is None else CLAUDE_S[marks.ttl]
    if provider == "openai":
        asked = params.get("prompt_cache_retention")
        return OPENAI_S["in_memory" if asked == "in_memory" else "24h"]
    return None


def is_cold(lifetime_s: float | None, last_call_at: float, now: float) -> bool:
    """Whether the cache of a call at ``last_call_at`` is gone. Both times are seconds since 1970; 0 is unknown."""
    if lifetime_s is None or last_call_at <= 0:
        return False
    return now - last_call_at > lifetime_s
