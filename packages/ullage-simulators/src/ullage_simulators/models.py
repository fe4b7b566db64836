"""The models the simulators serve: windows, what they ask of a request, and what they count of earlier reasoning.

``loop`` and ``turns``: is reasoning that came back counted inside a tool loop, and after a user message? Where it was
measured, n is the number of recorded pairs of calls behind it; the values that differed between deployments of one
model are drawn anew for each run (see ``drawn.py``).
"""

from __future__ import annotations

from dataclasses import dataclass


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
    # Responses with items sent back: kept in loops (n = 11 + 5 + 2 + 51), dropped after a user message (n = 9 + 18).
    _openai("gpt-5", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5-mini", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5-nano", 272_000, 128_000, "floors-reasoning"),
    _openai("gpt-5.5", 1_050_000, 128_000),
    _openai("o4-mini", 200_000, 100_000, "floors-reasoning"),
    _openai("gpt-4.1", 1_047_576, 32_768, reasons=False),
    # Kept in a loop, dropped after a user message: n = 1-2 each.
    _openai("deepseek-reasoner", 131_072, 65_536, "reasoning-text"),
    _openai(
        "deepseek-v4-flash", 1_048_576, 393_216, "reasoning-text", "reasoning-for-ever"
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
    _openai("gpt-oss-20b", 131_072, 32_768, "reasoning-text"),
    _openai("mistral-medium-latest", 131_072, 32_768, reasons=False),
    _openai("anthropic/claude-sonnet-4.5", 200_000, 64_000, "reasoning-details"),
    # 2.5 counts it when streaming (n = 7 + 3) and not otherwise (n = 24 + 7).
    _gemini("gemini-2.5-flash", "counts-when-streaming"),
    _gemini("gemini-2.5-pro", "counts-when-streaming"),
    # Kept with its signature on one endpoint (n = 52 + 7), not counted on another (n = 38): drawn.
    _gemini("gemini-3-flash-preview", "needs-signature", "draws-rules"),
    _gemini("gemini-3-pro-preview", "needs-signature", "draws-rules"),
)
"""Names are the providers' own, so that a client's table of windows and prices applies."""
