"""What hosts add to a request that no client sees: their own system prompts, cached content, tools that run elsewhere.

One row a condition in ``models/hidden_prompts.json``; the first that fits is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from ullage.models.facts import facts
from ullage.models.providers import canonical


class HiddenPrompt(NamedTuple):
    """Tokens that a host adds, and how many fewer or more they may be."""

    tokens: float = 0.0
    below: float = 0.0
    above: float = 0.0


NONE: Final = HiddenPrompt()


class HiddenPromptRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A hidden prompt and the requests that it is in.

    ``model`` and ``value`` are regular expressions, ``value`` of the parameter ``param`` (names with dots between
    them), which is in the request if there is no ``value``. ``tools`` limits the row to requests with tools or without.
    """

    tokens: float
    beside_system: float | None = None
    """Instead of ``tokens`` where the request has a system prompt."""
    doubt: float = 0.0
    """What it may be more or less; ``below`` and ``above`` add to either side."""
    below: float = 0.0
    above: float = 0.0
    model: str = ""
    wires: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    param: str = ""
    value: str = ""
    tools: bool | None = None
    n: int = 0
    note: str = ""

    def fits(self, params: Mapping[str, object], *, has_tools: bool) -> bool:
        """Whether it is in a request to a model that it holds for."""
        if self.tools is not None and self.tools != has_tools:
            return False
        if not self.param:
            return True
        value: object = params
        for name in self.param.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value is not None and bool(re.search(self.value, str(value)))


_rows: Final = msgspec.json.Decoder(list[HiddenPromptRow])


@lru_cache(maxsize=512)
def rows_for(wire: str, provider: str, model: str) -> tuple[HiddenPromptRow, ...]:
    """The rows that hold for a model as a provider serves it."""
    served_by = canonical(provider)
    return tuple(
        row
        for row in facts("hidden_prompts", _rows)
        if (not row.wires or wire in row.wires)
        and (not row.providers or served_by in row.providers)
        and re.search(row.model, model.lower())
    )


def hidden_prompt(
    rows: tuple[HiddenPromptRow, ...],
    params: Mapping[str, object],
    *,
    has_system: bool,
    has_tools: bool,
) -> HiddenPrompt:
    """What the host adds to a request; nothing where no row fits."""
    for row in rows:
        if row.fits(params, has_tools=has_tools):
            tokens = row.tokens
            if has_system and row.beside_system is not None:
                tokens = row.beside_system
            return HiddenPrompt(tokens, row.doubt + row.below, row.doubt + row.above)
    return NONE
