"""Which constants hold for a model: one family per (wire, provider, model), first match wins.

Rows say what was measured; a model that no row knows gets the ``generic`` family, whose text is counted as o200k and
whose ratio is learnt from reported inputs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import msgspec

from ullage.models.facts import facts
from ullage.models.providers import SIMULATED, canonical
from ullage.tokens import constants as c
from ullage.tokens.constants import Answering, Framing


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models that count alike."""

    name: str
    vocabulary: str = "o200k"
    framing: Framing = c.GENERIC
    kept_framing: Framing | None = None
    """Instead of ``framing`` where the answer's reasoning is sent back and counted."""
    answering: Answering = c.GENERIC_ANSWER
    floors_reasoning: bool = False
    """Whether reported reasoning is floored to a multiple of 64 (OpenAI Responses, o-series and gpt-5)."""
    recounts: bool = False
    """Whether an answer whose output is far from its visible text is charged by its text when sent back."""
    charges_thoughts: bool = False
    """Whether the text of thoughts that are sent back is charged as text, reasoning or not (Gemini, whose thoughts are
    summaries: 9 recorded pairs, in loops and at a turn's begin)."""
    forgets: bool = False
    """Whether an answer is not charged again once a user's message follows it (DeepSeek R1: n=2, two providers)."""
    is_known: bool = True
    is_own: bool = False
    """Whether the models were trained with this vocabulary; else it is the nearest that is known."""

    def framing_for(self, *, kept: bool) -> Framing:
        """The constants for what follows an answer whose reasoning is (not) in the next input."""
        return (
            self.kept_framing if kept and self.kept_framing is not None else self.framing
        )


GENERIC: Final = Family(name="generic", is_known=False)
PLAIN: Final = Family(name="plain", framing=c.NOTHING, answering=c.BARE)
"""No constants and no ratio: for an estimator of the application's own, whose numbers are used as they are."""


class FamilyRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family and the calls it holds for: a regular expression each for wire, provider and model name."""

    model: str
    family: Family
    wire: str = ""
    provider: str = ""
    own: str | None = None
    """The models that the family's vocabulary is their own of (``Family.is_own``), as a regular expression."""
    note: str = ""


_rows: Final = msgspec.json.Decoder(list[FamilyRow])


@lru_cache(maxsize=1)
def family_rows() -> list[FamilyRow]:
    """The rows of ``models/families.json``."""
    return facts("families", _rows)


@lru_cache(maxsize=512)
def family_for(wire: str, provider: str, model: str) -> Family:
    """The family of a model as served by a provider over a wire; ``GENERIC`` for one that no row knows."""
    wire, provider, model = wire.lower(), canonical(provider).lower(), model.lower()
    if re.search(SIMULATED, model):
        return GENERIC
    for row in family_rows():
        if (
            re.search(row.model, model)
            and re.search(row.wire, wire)
            and re.search(row.provider, provider)
        ):
            is_own = row.own is not None and bool(re.search(row.own, model))
            return replace(row.family, is_own=is_own)
    return GENERIC
