"""Which constants hold for a model: one family per (wire, provider, model), first match wins.

Rows say what was measured; a model that no row knows gets the ``generic`` family, whose text is counted as o200k and
whose ratio is learnt from reported inputs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from ullage.models.providers import SIMULATED, canonical
from ullage.tokens import constants as c
from ullage.tokens.constants import Answering, Framing

PUBLISHED: Final = frozenset({"o200k", "cl100k"})
"""Vocabularies that a tokenizer counts as the provider does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models that count alike. ``ratio`` scales the count in ``vocabulary`` to what the provider charges."""

    name: str
    vocabulary: str = "o200k"
    ratio: float = 1.0
    framing: Framing = c.GENERIC
    kept_framing: Framing | None = None
    """Instead of ``framing`` where the answer's reasoning is sent back and counted."""
    answering: Answering = c.GENERIC_ANSWER
    floors_reasoning: bool = False
    """Whether reported reasoning is floored to a multiple of 64 (OpenAI Responses, o-series and gpt-5)."""
    recounts: bool = False
    """Whether an answer whose output is far from its visible text is charged by its text when sent back."""
    forgets: bool = False
    """Whether an answer is not charged again once a user's message follows it (DeepSeek R1: n=2, two providers)."""
    is_known: bool = True

    @property
    def has_public_vocabulary(self) -> bool:
        """Whether a real tokenizer counts this family's text exactly."""
        return self.vocabulary in PUBLISHED and self.name.startswith("gpt")

    def framing_for(self, *, kept: bool) -> Framing:
        """The constants for what follows an answer whose reasoning is (not) in the next input."""
        return (
            self.kept_framing if kept and self.kept_framing is not None else self.framing
        )


GENERIC: Final = Family(name="generic", is_known=False)
PLAIN: Final = Family(name="plain", framing=c.NOTHING, answering=c.BARE)
"""No constants and no ratio: for an estimator of the application's own, whose numbers are used as they are."""


class FamilyRow(NamedTuple):
    """A family and the calls it holds for: a regular expression each for wire, provider and model name."""

    family: Family
    model: str
    wire: str = ""
    provider: str = ""


_LATER_CLAUDE: Final = r"opus-4[-.][7-9]|opus-[5-9]|sonnet-[5-9]|haiku-[5-9]|fable|mythos"
_GPT_REASONING: Final = r"gpt-[5-9]|codex|(^|/)o[1-9](-|$)"
_GPT_LATER: Final = r"gpt-5\.[4-9]|gpt-[6-9]"


def _openai(name: str, framing: Framing, answering: Answering, **more: object) -> Family:
    return Family(name=name, framing=framing, answering=answering, **more)  # type: ignore[arg-type]


ROWS: Final[tuple[FamilyRow, ...]] = (
    FamilyRow(GENERIC, SIMULATED),
    FamilyRow(
        Family(
            name="claude-5",
            vocabulary="claude",
            ratio=1.17,  # 1.41 against 1.20 x o200k, n=10
            framing=c.CLAUDE_5,
            answering=c.CLAUDE_ANSWER,
            recounts=True,
        ),
        _LATER_CLAUDE,
    ),
    FamilyRow(
        Family(
            name="claude",
            vocabulary="claude",
            framing=c.CLAUDE,
            answering=c.CLAUDE_ANSWER,
            recounts=True,
        ),
        "claude",
    ),
    FamilyRow(
        Family(name="gpt-oss", framing=c.GPT_OSS, answering=c.GENERIC_ANSWER), "gpt-oss"
    ),
    FamilyRow(
        _openai("gpt-later-responses", c.OPENAI_RESPONSES_LATER, c.GPT_LATER_ANSWER),
        _GPT_LATER,
        "responses",
    ),
    FamilyRow(_openai("gpt-later", c.OPENAI_CHAT_LATER, c.GPT_LATER_ANSWER), _GPT_LATER),
    FamilyRow(
        _openai(
            "gpt-reasoning-responses",
            c.OPENAI_RESPONSES_DROPPED,
            c.GPT_REASONING_ANSWER,
            kept_framing=c.OPENAI_RESPONSES_KEPT,
            floors_reasoning=True,
        ),
        _GPT_REASONING,
        "responses",
    ),
    FamilyRow(
        _openai(
            "gpt-reasoning-vercel",
            c.OPENAI_RESPONSES_DROPPED,
            c.GPT_REASONING_ANSWER,
            kept_framing=c.OPENAI_RESPONSES_KEPT,
            floors_reasoning=True,
        ),
        _GPT_REASONING,
        "chat",
        "vercel",
    ),
    FamilyRow(
        _openai("gpt-reasoning", c.OPENAI_CHAT_REASONING, c.GPT_REASONING_ANSWER),
        _GPT_REASONING,
    ),
    FamilyRow(
        _openai("gpt-4-turbo", c.OPENAI_CHAT, c.GPT_ANSWER, vocabulary="cl100k"),
        r"gpt-3\.5|gpt-35|gpt-4(?!o|\.\d)|davinci",
    ),
    FamilyRow(
        _openai("gpt-responses", c.OPENAI_RESPONSES, c.GPT_ANSWER), "gpt", "responses"
    ),
    FamilyRow(_openai("gpt", c.OPENAI_CHAT, c.GPT_ANSWER), "gpt"),
    FamilyRow(
        Family(
            name="gemini-vercel",
            vocabulary="digits",
            framing=c.GEMINI_VERCEL,
            answering=c.BARE,
        ),
        "gemini",
        provider="vercel",
    ),
    FamilyRow(
        Family(
            name="gemini-vertex",
            vocabulary="digits",
            framing=c.GEMINI_VERTEX,
            answering=c.BARE,
        ),
        "gemini",
        provider="vertex",
    ),
    FamilyRow(
        Family(
            name="gemini-chat",
            vocabulary="digits",
            framing=c.GEMINI_CHAT,
            answering=c.BARE,
        ),
        "gemini",
        "chat",
    ),
    FamilyRow(
        Family(
            name="gemini-2.0", vocabulary="digits", framing=c.GEMINI_2, answering=c.BARE
        ),
        r"gemini-(2\.0|1)",
    ),
    FamilyRow(
        Family(
            name="gemini-2.5-pro",
            vocabulary="digits",
            framing=c.GEMINI_PRO,
            answering=c.BARE,
        ),
        r"gemini-2\.5-pro",
    ),
    FamilyRow(
        Family(
            name="gemini-2.5", vocabulary="digits", framing=c.GEMINI, answering=c.BARE
        ),
        r"gemini-2\.5",
    ),
    FamilyRow(
        Family(
            name="gemini",
            vocabulary="digits",
            ratio=0.96,
            framing=c.GEMINI,
            answering=c.BARE,
        ),
        "gemini",
    ),
    FamilyRow(
        Family(name="grok-responses", framing=c.GROK_RESPONSES, answering=c.GROK_ANSWER),
        "grok",
        "responses",
    ),
    FamilyRow(
        Family(
            name="grok-grpc",
            framing=c.GROK_CHAT,
            kept_framing=c.GROK_RESPONSES,
            answering=c.GROK_ANSWER,
        ),
        "grok",
        "grpc",
    ),
    FamilyRow(Family(name="grok", framing=c.GROK_CHAT, answering=c.GROK_ANSWER), "grok"),
    FamilyRow(
        Family(
            name="nova",
            vocabulary="digits",
            framing=c.NOVA,
            answering=c.NOVA_ANSWER,
            recounts=True,
        ),
        "nova",
    ),
    FamilyRow(
        Family(
            name="mistral",
            vocabulary="digits",
            framing=c.MISTRAL,
            answering=c.GENERIC_ANSWER,
        ),
        "mistral|magistral|ministral|codestral|devstral|pixtral",
    ),
    FamilyRow(Family(name="kimi", framing=c.KIMI, answering=c.KIMI_ANSWER), "kimi"),
    FamilyRow(
        Family(name="glm", vocabulary="digits", framing=c.GLM, answering=c.GLM_ANSWER),
        "glm",
    ),
    FamilyRow(Family(name="sonar", framing=c.SONAR, answering=c.GENERIC_ANSWER), "sonar"),
    FamilyRow(
        Family(
            name="deepseek-r1",
            framing=c.DEEPSEEK_R1,
            answering=c.GENERIC_ANSWER,
            forgets=True,
        ),
        r"deepseek.*\br1\b(?!.*distill)",
    ),
    FamilyRow(
        Family(name="deepseek", framing=c.DEEPSEEK, answering=c.GENERIC_ANSWER),
        "deepseek(?!.*llama)",
    ),
    FamilyRow(
        Family(
            name="qwen", vocabulary="digits", framing=c.QWEN, answering=c.GENERIC_ANSWER
        ),
        "qwen",
    ),
    FamilyRow(
        Family(
            name="command",
            vocabulary="digits",
            framing=c.COMMAND,
            answering=c.GENERIC_ANSWER,
        ),
        "command",
    ),
    FamilyRow(
        Family(name="llama", framing=c.COMMAND, answering=c.GENERIC_ANSWER), "llama"
    ),
)


@lru_cache(maxsize=512)
def family_for(wire: str, provider: str, model: str) -> Family:
    """The family of a model as served by a provider over a wire; ``GENERIC`` for one that no row knows."""
    wire, provider, model = wire.lower(), canonical(provider).lower(), model.lower()
    for row in ROWS:
        if (
            re.search(row.model, model)
            and re.search(row.wire, wire)
            and re.search(row.provider, provider)
        ):
            return row.family
    return GENERIC
