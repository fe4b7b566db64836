"""The models the simulators serve: windows, what they ask of a request, and what they count of earlier reasoning.

``loop`` and ``turns``: is reasoning that came back counted inside a tool loop, and after a user message? Where it was
measured, n is the number of recorded pairs of calls behind it; the values that differed between deployments of one
model are drawn anew for each run (see ``drawn.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Model:
    """One model of one wire family (``anthropic``, ``openai`` or ``gemini``).

    ``beside``: a user message next to tool results begins a turn. ``even_unsent``: reasoning is counted though nothing
    was sent back. ``traits`` are the wire's own peculiarities, named where they are used.
    """

    name: str
    family: str
    window: int
    max_output: int
    reasons: bool = True
    loop: bool = True
    turns: bool = False
    beside: bool = True
    even_unsent: bool = False
    cache_from: int = 1_024
    traits: frozenset[str] = frozenset()


def _claude(
    name: str, window: int = 200_000, *traits: str, turns: bool, cache_from: int = 1_024
) -> Model:
    return Model(
        name,
        "anthropic",
        window,
        64_000,
        turns=turns,
        beside=False,
        cache_from=cache_from,
        traits=frozenset(traits),
    )


def _openai(name: str, window: int, max_output: int, *traits: str, **more: bool) -> Model:
    return Model(name, "openai", window, max_output, traits=frozenset(traits), **more)


def _gemini(name: str, *traits: str, turns: bool = False) -> Model:
    return Model(name, "gemini", 1_048_576, 65_536, turns=turns, traits=frozenset(traits))


MODELS: tuple[Model, ...] = (
    # Tool loop kept: n = 146 + 7 + 5; after a user message all of the turn leaves: n = 10 + 3 and 2.
    _claude("claude-sonnet-4-5", 200_000, "manual-thinking", "prefill", turns=False),
    _claude(
        "claude-haiku-4-5",
        200_000,
        "manual-thinking",
        "prefill",
        turns=False,
        cache_from=4_096,
    ),
    # Kept in both: n = 1,752 + 107 in loops, 88 + 4 + 7 after user messages.
    _claude(
        "claude-opus-4-5",
        200_000,
        "manual-thinking",
        "prefill",
        turns=True,
        cache_from=4_096,
    ),
    _claude("claude-opus-4-6", 200_000, turns=True, cache_from=4_096),
    _claude("claude-sonnet-4-6", 200_000, turns=True),
    # https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
    _claude("claude-fable-5-1", 1_000_000, "bound", turns=True, cache_from=512),
    _claude("claude-opus-5-5", 1_000_000, "bound", turns=True, cache_from=512),
    # Responses with items sent back: kept in loops (n = 11 + 5 + 2 + 51), dropped after a user message (n = 9 + 18).
    _openai("gpt-5", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5-mini", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5-nano", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5.5", 1_050_000, 128_000),
    # https://developers.openai.com/api/docs/models/gpt-6.1-sol
    _openai("gpt-6.1-sol", 1_050_000, 128_000),
    _openai("o4-mini", 200_000, 100_000, "floors-reasoning"),
    _openai("gpt-4.1", 1_047_576, 32_768, reasons=False),
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
    _openai("grok-3-mini", 131_072, 32_768, "reasoning-text", loop=False),
    # Kept when sent: n = 2 + 3. https://github.com/iOfficeAI/AionUi/issues/2746 is its rule.
    _openai("kimi-k2.5", 262_144, 65_536, "reasoning-text"),
    _openai("glm-4.7", 204_800, 131_072, "reasoning-text", turns=True),
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
    ("claude-haiku", "claude-haiku-4-5"),
    ("claude-sonnet", "claude-sonnet-4-6"),
    ("claude-fable", "claude-fable-5-1"),
    ("claude", "claude-opus-5-5"),
    ("claude", "anthropic/claude-sonnet-4.5"),
    ("gpt-oss", "gpt-oss-20b"),
    ("gpt-[34]|chatgpt", "gpt-4.1"),
    ("gpt|codex", "gpt-6.1-sol"),
    (r"o\d", "o4-mini"),
    ("gemini-[12]", "gemini-2.5-pro"),
    ("gemini", "gemini-4-argon"),
    ("deepseek", "deepseek-v4-pro"),
    ("qwen|qwq|coder-model", "qwen3.7-max"),
    ("kimi|moonshot", "kimi-k2.5"),
    ("glm", "glm-4.7"),
    ("grok", "grok-4.3"),
    ("(mi|mini|magi|dev|code|pix)stral", "mistral-medium-latest"),
)
"""How the names of a family begin, and its newest model here. The first row whose model is served decides."""


def model_of_family(name: str, models: Sequence[Model]) -> Model | None:
    """The model that an unknown name is treated as, under that name; ``None`` for a name of no family.

    A name that extends a known one (``gpt-4.1-mini``) is that model; every other is the newest of its family.
    """
    bare = name.rpartition("/")[2]
    extended = [model for model in models if bare.startswith(f"{model.name}-")]
    if extended:
        longest = max(extended, key=lambda model: len(model.name))
        return replace(longest, name=name)
    by_name = {model.name: model for model in models}
    for beginning, newest in _NEWEST:
        if newest in by_name and re.match(beginning, bare):
            return replace(by_name[newest], name=name)
    return None
