"""``ullage models``: what the catalogue knows of models, and its refresh from the genai-prices package."""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ullage.cli.listing import Column, columns
from ullage.cli.screen import Screen
from ullage.directories import data_directory
from ullage.display.text import Line, Span, counted, number, printable
from ullage.errors import MissingExtra, SettingError, UllageError, UnreadableInput
from ullage.installation import package_command
from ullage.meter.limits import ModelLimits, Rate, lookup
from ullage.meter.policy import COUNTING, STRANGE_COUNTING
from ullage.models.catalogue import (
    REFRESHED,
    Catalogue,
    CatalogueRow,
    built_in,
    checked,
    choose,
    differences,
    encode,
    in_use,
    read_refreshed,
)
from ullage.models.genai_prices import PACKAGE, catalogue_of
from ullage.models.providers import read_name
from ullage.models.similar_models import similar_models
from ullage.store.private_file import private_directory, replace_file
from ullage.tokens.content import is_exact
from ullage.tokens.families import family_for
from ullage.tokens.text import counter_for


def run(options: argparse.Namespace) -> int:
    """Refresh the catalogue, look one model up, or list them. Gives the exit code; raises ``UllageError``."""
    if options.refresh:
        return _refresh(data_directory(os.environ))
    _warn_of_damage()
    screen = Screen()
    if options.name:
        return _show(options.name, screen, as_json=options.json)
    return _list(options.filter.lower(), screen, as_json=options.json)


def installed_catalogue(on: datetime.date) -> Catalogue:
    """The catalogue of the installed genai-prices, with the prices of that day.

    Raises ``MissingExtra`` without the package, ``UnreadableInput`` for data in a form that is not known.
    """
    try:
        providers = importlib.import_module("genai_prices.data").providers
        version = importlib.metadata.version(PACKAGE)
    except ImportError as problem:
        raise MissingExtra(
            f"The catalogue is made from {PACKAGE}, which is missing. Install it: {package_command(PACKAGE)}"
        ) from problem
    return translated(providers, version, on)


def translated(providers: Any, version: str, on: datetime.date) -> Catalogue:
    """The package's data as a catalogue that passes every check. Raises ``UnreadableInput``."""
    try:
        return checked(encode(catalogue_of(providers, version, on)))
    except (AttributeError, TypeError, ValueError) as problem:
        raise UnreadableInput(
            f"The data of {PACKAGE} {version} can't be used: {problem}. The catalogue was not changed; "
            "try another version of the package."
        ) from problem


def write_refreshed(new: Catalogue, directory: Path) -> Path:
    """Put the catalogue into the user's data directory. Raises ``UnreadableInput`` for one that is not newer."""
    shipped = built_in()
    if new.release < shipped.release:
        raise UnreadableInput(
            f"The installed {new.source} is older than the built-in catalogue ({shipped.source}). "
            f"Update it: {package_command(PACKAGE)}"
        )
    path = directory / REFRESHED
    try:
        private_directory(directory)
        replace_file(path, encode(new))
    except OSError as problem:
        raise UllageError(
            f"{path} can't be written: {problem.strerror or problem}. Nothing was changed. Check who may write there."
        ) from problem
    return path


def _refresh(directory: Path) -> int:
    new = installed_catalogue(datetime.datetime.now(datetime.UTC).date())
    try:
        old = choose(read_refreshed(directory))
    except UnreadableInput:
        old = built_in()  # a damaged file is replaced
    path = write_refreshed(new, directory)
    models = counted(sum(len(rows) for rows in new.providers.values()), "model")
    changes = ", ".join(
        f"{number(count)} {what}" for what, count in differences(old, new).items()
    )
    print(
        f"{models} of {new.source}, prices of {new.date}: {changes} since {old.source} of {old.date}."
    )
    print(f"Written to {printable(str(path))}.")
    return 0


def _warn_of_damage() -> None:
    try:
        read_refreshed(data_directory(os.environ))
    except UnreadableInput as problem:
        print(f"ullage: {problem}", file=sys.stderr)


def _show(name: str, screen: Screen, *, as_json: bool) -> int:
    found: ModelLimits | None = None
    with suppress(SettingError):  # a provider that is in no table
        provider, model = read_name(name)
        found = lookup(provider.name, model)
    if found is None:
        raise SettingError(_unknown(name))
    text = _text_of(provider.name, model)
    if as_json:
        screen.show_json(msgspec.json.encode(_as_object(name, found, text)))
    else:
        screen.show(_lines_of(name, found, text))
    return 0


def _unknown(name: str) -> str:
    suggested = similar_models(name)
    if suggested:
        return f"No model {name!r} is in the catalogue. Did you mean {' or '.join(suggested)}?"
    return f"No model {name!r} is in the catalogue. `ullage models --filter TEXT` lists those it has."


def _lines_of(name: str, found: ModelLimits, text: TextCount) -> Iterator[Line]:
    catalogue = in_use()
    yield (Span(printable(name), "title"),)
    facts = {
        "window": found.window,
        "input at most": found.input_cap,
        "output at most": found.max_output,
    }
    for label, tokens in facts.items():
        value = "unknown" if tokens is None else f"{number(tokens)} tokens"
        source = "" if tokens is None else _source(found)
        yield (Span(f"  {label:<14}  {value:<18}"), Span(f"  {printable(source)}", "dim"))
    yield (
        Span(f"  {'text':<14}  {'as ' + text.vocabulary:<18}"),
        Span(f"  {text.exactness}{text.remedy}", "dim"),
    )
    if found.prices is None:
        yield (Span(f"  {'prices':<14}  unknown"),)
        return
    yield (
        Span(f"  {'prices':<14}  {'$ per million':<18}"),
        Span(f"  {catalogue.source}, list prices of {catalogue.date}", "dim"),
    )
    for tier in found.prices.tiers:
        above = f"above {number(tier.above)}" if tier.above else ""
        yield (Span(f"    {above:<12}  {_priced(tier)}"),)


class TextCount(NamedTuple):
    """How a model's text is counted here."""

    vocabulary: str
    off: float
    """The share of it that a count may be off, 95 times in 100; 0 in the model's own vocabulary."""
    remedy: str = ""

    @property
    def exactness(self) -> str:
        return f"±{self.off:.0%}" if self.off else "exact"


def _text_of(provider: str, model: str) -> TextCount:
    family = family_for("", provider, model)
    off = COUNTING if family.is_known else STRANGE_COUNTING
    if is_exact(family, counter_for()):
        return TextCount(family.vocabulary, 0.0)
    remedy = ", exact with ullage[bpe]" if family.is_own else ""
    return TextCount(family.vocabulary, off, remedy)


def _source(found: ModelLimits) -> str:
    catalogue = in_use()
    day = f", {catalogue.date}" if found.source == catalogue.source else ""
    return f"{found.source}{day}"


def _priced(tier: Rate) -> str:
    prices = tier._asdict()
    del prices["above"]
    return " · ".join(
        f"{what.replace('_', ' ')} {price:g}"
        for what, price in prices.items()
        if price is not None
    )


def _as_object(name: str, found: ModelLimits, text: TextCount) -> dict[str, object]:
    catalogue = in_use()
    prices: dict[str, object] | None = None
    if found.prices is not None:
        tiers = [tier._asdict() for tier in found.prices.tiers]
        prices = {"source": catalogue.source, "date": catalogue.date, "tiers": tiers}
    return {
        "model": name,
        "window": found.window,
        "input_cap": found.input_cap,
        "max_output": found.max_output,
        "source": _source(found),
        "vocabulary": text.vocabulary,
        "text_off": text.off,
        "prices": prices,
    }


def _list(text: str, screen: Screen, *, as_json: bool) -> int:
    catalogue = in_use()
    listed: list[tuple[str, str, CatalogueRow]] = []
    for provider, rows in catalogue.providers.items():
        for row in rows:
            name = next(iter(row.names), row.patterns)
            if text in f"{provider}:{name}":
                listed.append((provider, name, row))
    if not listed:
        raise SettingError(_unknown(text))
    if as_json:
        models = [
            {
                "provider": provider,
                "name": name,
                "window": row.window,
                "prices": row.prices,
            }
            for provider, name, row in listed
        ]
        content = {"source": catalogue.source, "date": catalogue.date, "models": models}
        screen.show_json(msgspec.json.encode(content))
        return 0
    table = (
        Column("Provider"),
        Column("Window", right=True),
        Column("$ in", right=True),
        Column("$ out", right=True),
        Column("Text", right=True),
        Column("Model"),
    )
    cells = [
        (provider, *_numbers(row), _text_of(provider, name).exactness, name)
        for provider, name, row in listed
    ]
    screen.show(columns(table, cells, screen.width))
    print(
        f"{counted(len(listed), 'model')}, {catalogue.source}, list prices per million tokens of {catalogue.date}."
    )
    return 0


def _numbers(row: CatalogueRow) -> tuple[str, str, str]:
    window = number(row.window) if row.window else "?"
    if not row.prices:
        return window, "?", "?"
    return window, f"{row.prices[0][1]:g}", f"{row.prices[0][2]:g}"
