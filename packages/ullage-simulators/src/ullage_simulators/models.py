"""The models the simulators serve: windows, what they ask of a request, and what they count of earlier reasoning.

``loop`` and ``turns``: is reasoning that came back counted inside a tool loop, and after a user message? Where it was
measured, n is the number of recorded pairs of calls behind it; the values that differed between deployments of one
model are drawn anew for each run (see ``drawn.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ullage_simulators.body import Count


@dataclass(frozen=True, slots=True)
class Model:
    """One model of one wire family (``anthropic``, ``openai`` or ``gemini``).

    ``beside``: a user message next to tool results begins a turn. ``even_unsent``: reasoning is counted though nothing
    was sent back. ``traits`` are the wire's own peculiarities, named where they are used.
    """

    name: str
    family: str
    window: Count
    max_output: Count
    reasons: bool = True
    loop: bool = True
    turns: bool = False
    beside: bool = True
    even_unsent: bool = False
    cache_from: Count = 1_024
    traits: frozenset[str] = frozenset()
    reads: str = ""
    """A pattern of the names of other models whose reasoning it reads."""


DATE: Final = r"(-\d{8})?"
"""The day at the end of a name: ``claude-haiku-4-5-20251001``."""
_CLAUDE_4: Final = r"claude-([0-3].*|opus-4.*|sonnet-(4.*|5)|haiku-4.*)"
_UNBOUND: Final = (
    rf"{_CLAUDE_4}|claude-(opus|fable|mythos)-5|claude-mythos-preview|claude-haiku-5-5"
)


def _claude(
    name: str,
    *traits: str,
    wide: bool = True,
    turns: bool = True,
    cache_from: int,
    reads: str = _UNBOUND,
) -> Model:
    """A Claude model. A window of 1,000,000 tokens goes with 128,000 of output, one of 200,000 with 64,000.

    https://platform.claude.com/docs/en/build-with-claude/context-windows#context-window-sizes-by-model; ``cache_from``:
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations.
    """
    return Model(
        name,
        "anthropic",
        1_000_000 if wide else 200_000,
        128_000 if wide else 64_000,
        turns=turns,
        beside=False,
        cache_from=cache_from,
        traits=frozenset(traits),
        reads=f"(?:{reads}|{name})" + DATE,
    )


_MANUAL: Final = ("manual-thinking", "budgeted", "prefill", "coarse-images")
"""Claude models that think when told to, within a budget, and continue an answer that the request begins."""
_BOUND: Final = ("system-messages", "thinks", "bound")
"""Claude models whose thinking is bound to what is in front of it; they think unasked and take system messages.

https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks and, for the messages,
https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
"""
_ALWAYS_BOUND: Final = (*_BOUND, "unforced", "bound-always", "always-thinks")
"""Those that are checked for every account, however old: Claude Fable 5.2, Claude Mythos 5.2 and 5.1.

https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2.
"""
_READ_BY_FABLE: Final = rf"{_UNBOUND}|claude-(fable|mythos)-5-1|claude-opus-5-5"
"""https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#switching-models, which says nothing of what
5.2 reads: taken to be that of 5.1. Thinking of Claude Haiku 5.5 is read by the others, and it reads that of no other:
https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-thinking-block-binding.html.
"""


_APPENDED: Final = ("bound", "instructions-last")
"""OpenAI's models whose reasoning is bound to what is in front of it, and who read instructions behind the input."""


def _openai(name: str, window: int, max_output: int, *traits: str, **more: Any) -> Model:
    return Model(name, "openai", window, max_output, traits=frozenset(traits), **more)


def _gemini(name: str, *traits: str) -> Model:
    return Model(name, "gemini", 1_048_576, 65_536, traits=frozenset(traits))


MODELS: tuple[Model, ...] = (
    # Tool loop kept: n = 146 + 7 + 5; after a user message all of the turn leaves: n = 10 + 3 and 2.
    _claude("claude-sonnet-4-5", *_MANUAL, wide=False, turns=False, cache_from=1_024),
    _claude("claude-haiku-4-5", *_MANUAL, wide=False, turns=False, cache_from=4_096),
    # Kept in both: n = 1,752 + 107 in loops, 88 + 4 + 7 after user messages.
    _claude("claude-opus-4-5", *_MANUAL, wide=False, cache_from=4_096),
    _claude("claude-opus-4-6", "budgeted", "coarse-images", cache_from=4_096),
    _claude("claude-sonnet-4-6", "budgeted", "coarse-images", cache_from=1_024),
    # https://platform.claude.com/docs/en/build-with-claude/thinking#thinking-block-preservation-by-model for the rest.
    _claude("claude-opus-4-7", cache_from=2_048),
    _claude("claude-opus-4-8", "system-messages", cache_from=1_024),
    # It looks at the place of a system message, which others refuse wherever it stands:
    # https://github.com/letta-ai/letta-code/issues/3989, https://github.com/UKGovernmentBEIS/inspect_ai/pull/4221.
    _claude("claude-sonnet-5", "system-messages", "thinks", cache_from=1_024),
    _claude("claude-opus-5", "system-messages", "thinks", cache_from=512),
    _claude(
        "claude-fable-5", "system-messages", "thinks", "always-thinks", cache_from=512
    ),
    _claude(
        "claude-mythos-5", "system-messages", "thinks", "always-thinks", cache_from=512
    ),
    _claude("claude-mythos-preview", "thinks", cache_from=512),
    _claude(
        "claude-fable-5-1",
        *_BOUND,
        "unforced",
        "always-thinks",
        reads=_READ_BY_FABLE,
        cache_from=512,
    ),
    _claude("claude-mythos-5-1", *_ALWAYS_BOUND, reads=_READ_BY_FABLE, cache_from=512),
    _claude(
        "claude-fable-5-2",
        *_ALWAYS_BOUND,
        reads=f"{_READ_BY_FABLE}|claude-mythos-5-2",
        cache_from=512,
    ),
    _claude(
        "claude-mythos-5-2",
        *_ALWAYS_BOUND,
        reads=f"{_READ_BY_FABLE}|claude-fable-5-2",
        cache_from=512,
    ),
    # A prefix is cached from the size of the other models on; no page names that of Haiku 5.5.
    _claude("claude-haiku-5-5", *_BOUND, reads="claude-haiku-5-5", cache_from=512),
    _claude(
        "claude-sonnet-5-5",
        *_BOUND,
        "unforced",
        "between-tools",
        reads=f"{_CLAUDE_4}|claude-haiku-5-5",
        cache_from=512,
    ),
    _claude(
        "claude-opus-5-5",
        *_BOUND,
        "unforced",
        "always-thinks",
        reads=f"{_CLAUDE_4}|claude-opus-5|claude-haiku-5-5",
        cache_from=512,
    ),
    # Responses with items sent back: kept in loops (n = 11 + 5 + 2 + 51), dropped after a user message (n = 9 + 18).
    _openai("gpt-5", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5-mini", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5-nano", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5.5", 1_050_000, 128_000),
    # Reasoning of earlier turns is kept from GPT-5.6 on (openai 3.52, types/shared/reasoning.py), and bound from 6.2
    # on: https://developers.openai.com/api/docs/guides/latest-model/gpt-6.2-astra.md
    # Windows: https://developers.openai.com/api/docs/models/gpt-6.1-sol and /gpt-6.2-sol.
    _openai("gpt-6.1-sol", 1_050_000, 128_000, turns=True),
    _openai("gpt-6.2-sol", 1_050_000, 128_000, *_APPENDED, turns=True),
    _openai("gpt-6.2-astra", 1_050_000, 128_000, *_APPENDED, turns=True),
    _openai("o4-mini", 200_000, 100_000, "floors-reasoning"),
    _openai("gpt-4.1", 1_047_576, 32_768, reasons=False),
    # https://developers.openai.com/api/docs/models/gpt-4o
    _openai("gpt-4o", 128_000, 16_384, reasons=False),
    # Kept in a loop, dropped after a user message: n = 1-2 each.
    _openai("deepseek-reasoner", 131_072, 65_536, "reasoning-text"),
    _openai(
        "deepseek-v4-flash", 1_048_576, 393_216, "reasoning-text", "reasoning-for-ever"
    ),
    _openai(
        "deepseek-v4-pro", 1_048_576, 393_216, "reasoning-text", "reasoning-for-ever"
    ),
    _openai("deepseek-chat", 131_072, 8_192, reasons=False),
    # Kept even where nothing was sent back: n = 4 (chat) and 11 + 7 (Responses). grok-3-mini drops: n = 2.
    _openai("grok-4.3", 256_000, 64_000, "reasoning-text", turns=True, even_unsent=True),
    # Windows of it, kimi-k3 and glm-5.3: https://github.com/pydantic/genai-prices; the output is the family's.
    _openai("grok-4.7", 500_000, 64_000, "reasoning-text", turns=True, even_unsent=True),
    _openai("grok-3-mini", 131_072, 32_768, "reasoning-text", loop=False),
    # Kept when sent: n = 2 + 3. https://github.com/iOfficeAI/AionUi/issues/2746 is its rule.
    _openai("kimi-k2.5", 262_144, 65_536, "reasoning-text"),
    _openai("kimi-k3", 1_048_576, 65_536, "reasoning-text"),
    _openai("glm-4.7", 204_800, 131_072, "reasoning-text", turns=True),
    _openai("glm-5.3", 1_000_000, 131_072, "reasoning-text", turns=True),
    # Kept when sent in a loop, dropped after a user message: n = 18 and 9.
    _openai("qwen3", 32_768, 8_192, "reasoning-text"),
    # https://docs.venice.ai/models/qwen-3-7-max
    _openai("qwen3.7-max", 1_000_000, 65_536, "reasoning-text"),
    _openai("gpt-oss-20b", 131_072, 32_768, "reasoning-text"),
    _openai("mistral-medium-latest", 131_072, 32_768, reasons=False),
    _openai("anthropic/claude-sonnet-4.5", 200_000, 64_000, "reasoning-details"),
    # 2.5 counts it when streaming (n = 7 + 3) and not otherwise (n = 24 + 7).
    _gemini("gemini-2.5-flash", "counts-when-streaming"),
    _gemini("gemini-2.5-pro", "counts-when-streaming"),
    # Kept with its signature on one endpoint (n = 52 + 7), not counted on another (n = 38): drawn.
    _gemini("gemini-3-flash-preview", "needs-signature", "draws-rules"),
    _gemini("gemini-3-pro-preview", "needs-signature", "draws-rules"),
    _gemini("gemini-3.1-pro-preview", "needs-signature", "draws-rules"),
    _gemini("gemini-3.8-flash", "needs-signature", "draws-rules"),
    _gemini("gemini-4-argon", "needs-signature", "draws-rules"),
)
"""Names are the providers' own, so that a client's table of windows and prices applies."""

_NEWEST: Final = (
    ("claude-([a-z]+-4|[0-3])", "claude-sonnet-4-5"),
    ("claude-haiku", "claude-haiku-5-5"),
    ("claude-sonnet", "claude-sonnet-5-5"),
    ("claude-fable", "claude-fable-5-2"),
    ("claude-mythos", "claude-mythos-5-2"),
    ("claude", "claude-opus-5-5"),
    ("claude", "anthropic/claude-sonnet-4.5"),
    ("gpt-oss", "gpt-oss-20b"),
    (r"gpt-4\.1", "gpt-4.1"),
    ("gpt-[34]|chatgpt", "gpt-4o"),
    (r"gpt-5(\.\d)?-(mini|nano)", "gpt-5-mini"),
    (r"gpt-5(\.[0-5])?(-|$)|codex", "gpt-5.5"),
    (r"gpt-5|gpt-6(\.[01])?(-|$)", "gpt-6.1-sol"),
    ("gpt", "gpt-6.2-sol"),
    (r"o\d", "o4-mini"),
    ("gemini-([12]|pro$|(pro|flash)-1)", "gemini-2.5-pro"),
    ("gemini", "gemini-4-argon"),
    ("deepseek", "deepseek-v4-pro"),
    ("qwen|qwq|coder-model", "qwen3.7-max"),
    ("kimi-k2|moonshot", "kimi-k2.5"),
    ("kimi", "kimi-k3"),
    ("(zai-)?glm-4", "glm-4.7"),
    ("(zai-)?glm", "glm-5.3"),
    ("grok", "grok-4.7"),
    ("((open|labs)-)?(mi|mini|magi|dev|code)stral", "mistral-medium-latest"),
)
"""How the names of a family begin, and its newest model here. The first row whose model is served decides."""

_STAND_INS: Final = (
    ("chat-latest", "gpt-6.2-sol"),
    ("computer-use", "gpt-4o"),
    ("gemma", "gemini-2.5-flash"),
    (r"minimax|m\d", "gpt-oss-20b"),
    ("((open|labs)-)?mixtral|pixtral|voxtral", "mistral-medium-latest"),
    (r"gemma|(code|meta-)?llama|phi-\d", "mistral-medium-latest"),
)
"""The same for names whose family has no model here: what they share is whether they reason, and the wire."""


def model_of_family(name: str, models: Sequence[Model]) -> Model | None:
    """The model that an unknown name is treated as, under that name; ``None`` for a name of no family.

    A name that extends a known one (``gpt-4.1-mini``) is that model; every other is the newest of its family.
    """
    bare = name.rpartition("/")[2]
    extended = [model for model in models if _extends(bare, model.name)]
    if extended:
        longest = max(extended, key=lambda model: len(model.name))
        return replace(longest, name=name)
    by_name = {model.name: model for model in models}
    for beginning, newest in (*_NEWEST, *_STAND_INS):
        if newest in by_name and re.match(beginning, bare):
            return replace(by_name[newest], name=name)
    return None


def _extends(name: str, known: str) -> bool:
    """Whether a word or a day follows; another number makes it another version (``claude-opus-5-7``)."""
    rest = name.removeprefix(known)
    return rest != name and re.match(r"-\D|-\d{8}$", rest) is not None
