"""The data of the genai-prices package (https://github.com/pydantic/genai-prices) as a catalogue.

Only models with a window or with prices per token are taken. Prices are those in force on one day; prices that vary by
the time of day are left out. The package is not imported here: its objects come in as an argument.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any, Final

from ullage.models.catalogue import FORMAT, Catalogue, CatalogueRow, PriceTier

PACKAGE: Final = "genai-prices"

LICENCE: Final = (
    "From https://github.com/pydantic/genai-prices under the MIT License: Copyright (c) Pydantic Services Inc. 2025 to "
    'present. Permission is granted, free of charge, to deal in it without restriction; it is provided "as is", '
    "without warranty of any kind."
)

PROVIDERS: Final = (
    "anthropic", "openai", "google", "x-ai", "deepseek", "mistral", "groq", "cohere", "aws", "azure", "cerebras",
    "moonshotai", "zai", "minimax", "perplexity", "meta", "together", "fireworks", "openrouter", "avian",
)  # fmt: skip
"""The providers that are taken, by the package's names for them."""

_KINDS: Final = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


def catalogue_of(providers: Iterable[Any], version: str, on: datetime.date) -> Catalogue:
    """The catalogue of ``genai_prices.data.providers`` of that version, with the prices of that day.

    Raises ``ValueError`` for data in a form that is not known.
    """
    known = {provider.id: provider for provider in providers}
    missing = [name for name in PROVIDERS if name not in known]
    if missing:
        raise ValueError(f"genai-prices {version} does not list {', '.join(missing)}")
    rows = {name: tuple(_rows(known[name], on)) for name in PROVIDERS}
    return Catalogue(FORMAT, PACKAGE, version, on.isoformat(), LICENCE, rows)


def _rows(provider: Any, on: datetime.date) -> Iterable[CatalogueRow]:
    for model in provider.models:
        prices = _tiers(_price_in_force(model.prices, on))
        if not model.context_window and (not prices or provider.id == "openrouter"):
            continue
        names = [pattern.replace(" ", r"\s") for pattern in _patterns(model.match)]
        yield CatalogueRow(" ".join(dict.fromkeys(names)), model.context_window, prices)


def _patterns(clause: Any) -> list[str]:
    """The clause as alternatives of the catalogue's pattern language."""
    match type(clause).__name__:
        case "ClauseOr":
            return [pattern for part in clause.or_ for pattern in _patterns(part)]
        case "ClauseAnd":
            return ["~" + "".join(f"(?={_as_regex(part)})" for part in clause.and_)]
        case "ClauseEquals":
            return ["=" + clause.equals.lower()]
        case "ClauseStartsWith":
            return ["^" + clause.starts_with.lower()]
        case "ClauseEndsWith":
            return ["$" + clause.ends_with.lower()]
        case "ClauseContains":
            return ["*" + clause.contains.lower()]
        case "ClauseRegex":
            return ["~" + clause.regex]
        case name:
            raise ValueError(f"a clause {name!r} is not known")


def _as_regex(clause: Any) -> str:
    """One clause of a conjunction as a regular expression anchored at the id's start."""
    first = _patterns(clause)[0]
    kind, text = first[0], first[1:]
    literal = re.escape(text)
    return {
        "=": f"{literal}$",
        "^": literal,
        "$": f".*{literal}$",
        "*": f".*{literal}",
        "~": text,
    }[kind]


def _price_in_force(prices: Any, on: datetime.date) -> Any:
    """The last price that holds on that day whatever the hour."""
    if not isinstance(prices, list):
        return prices
    for conditional in reversed(prices):
        constraint = conditional.constraint
        if constraint is None:
            return conditional.prices
        start = getattr(constraint, "start_date", None)
        if start is not None and start <= on:
            return conditional.prices
    return prices[0].prices


def _tiers(price: Any) -> tuple[PriceTier, ...]:
    """The price as rows by prompt size; empty when input or output has no price per token."""
    values = [getattr(price, kind, None) for kind in _KINDS]
    if values[0] is None or values[1] is None:
        return ()
    starts = sorted(
        {tier.start for value in values for tier in getattr(value, "tiers", ())}
    )
    tiers = []
    for start in (0, *starts):
        paid, answered, read, written = (_at(value, start) for value in values)
        assert paid is not None and answered is not None
        tiers.append((start, paid, answered, read, written))
    return tuple(tiers)


def _at(value: Any, start: int) -> float | None:
    """What the price is for a prompt of more than so many tokens."""
    reached = [tier.price for tier in getattr(value, "tiers", ()) if tier.start <= start]
    chosen = reached[-1] if reached else getattr(value, "base", value)
    return None if chosen is None else float(chosen)
