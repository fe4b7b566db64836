"""The catalogue of models: windows and list prices by provider, as data that a user can refresh.

``catalogue.json`` beside this file is the built-in catalogue. ``ullage models --refresh`` writes another one into the
user's data directory; the newer of the two is used. Both are written by ``genai_prices.py``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec

from ullage.bounds import json_excess
from ullage.directories import data_directory
from ullage.envelope import CATALOGUE_BYTES, CATALOGUE_MODELS
from ullage.errors import UnreadableInput

BUILT_IN: Final = Path(__file__).with_name("catalogue.json")
REFRESHED: Final = "models.json"
"""The name of a refreshed catalogue in the user's data directory."""

FORMAT: Final = 1

Price = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
PriceTier = tuple[
    Annotated[int, msgspec.Meta(ge=0)], Price, Price, Price | None, Price | None
]
"""For prompts of more than so many tokens: input, output, cache read and cache write, in US dollars per million."""

_REGEX_CHARS: Final = 200
_NAME_CHARS: Final = 256
"""The longest regular expression of a catalogue, and the longest name of a model it is tried on."""


class CatalogueRow(NamedTuple):
    """One model of one provider: the patterns of its ids, its window (``None``: unknown) and its prices.

    Patterns are joined by spaces, any of them may match: ``=`` the whole id, ``^`` its start, ``$`` its end, ``*``
    anywhere, ``~`` a regular expression.
    """

    patterns: Annotated[str, msgspec.Meta(min_length=2, max_length=4_000)]
    window: Annotated[int, msgspec.Meta(gt=0, le=1_000_000_000)] | None
    prices: Annotated[tuple[PriceTier, ...], msgspec.Meta(max_length=20)]

    @property
    def names(self) -> list[str]:
        """The ids, and the starts of ids, that the patterns spell out."""
        return [pattern[1:] for pattern in self.patterns.split(" ") if pattern[0] in "=^"]

    def matches(self, name: str) -> bool:
        """Whether the model of that id, in lower case, is this one."""
        return any(_matches(pattern, name) for pattern in self.patterns.split(" "))


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What one catalogue file holds. ``date``: the day whose prices it has; ``package`` and ``version`` made it."""

    format: int
    package: Annotated[str, msgspec.Meta(max_length=100)]
    version: Annotated[str, msgspec.Meta(pattern=r"^\d{1,6}(\.\d{1,6}){1,3}$")]
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    licence: str
    providers: dict[str, tuple[CatalogueRow, ...]]

    @property
    def source(self) -> str:
        """The package that the catalogue was made from, with its version."""
        return f"{self.package} {self.version}"

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers, to compare."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version))

    def find(self, provider: str, name: str) -> CatalogueRow | None:
        """The provider's first row for a model of that id, in lower case."""
        for row in self.providers.get(provider, ()):
            if row.matches(name):
                return row
        return None


_of_file: Final = msgspec.json.Decoder(Catalogue)


@lru_cache(maxsize=1)
def built_in() -> Catalogue:
    """The catalogue of this release."""
    return _of_file.decode(BUILT_IN.read_bytes())


@lru_cache(maxsize=1)
def in_use() -> Catalogue:
    """The user's refreshed catalogue, unless there is none, it is damaged, or this release has a newer one.

    It is read once in a process. A damaged file is logged.
    """
    try:
        return choose(read_refreshed(data_directory()))
    except UnreadableInput as problem:
        logging.getLogger("ullage").warning("%s", problem)
        return built_in()


def choose(refreshed: Catalogue | None) -> Catalogue:
    """The refreshed catalogue, unless there is none or the built-in one is newer."""
    if refreshed is None or refreshed.release < built_in().release:
        return built_in()
    return refreshed


def read_refreshed(directory: Path) -> Catalogue | None:
    """The catalogue in the user's data directory, ``None`` without one. Raises ``UnreadableInput``."""
    path = directory / REFRESHED
    try:
        with path.open("rb") as file:
            data = file.read(CATALOGUE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _refused(path, problem.strerror or str(problem)) from problem
    try:
        return checked(data)
    except ValueError as problem:
        raise _refused(path, str(problem)) from problem


def checked(data: bytes) -> Catalogue:
    """The catalogue in these bytes. Raises ``ValueError`` for anything that ``encode`` would not write.

    Nothing in it can make a look-up slow: a regular expression repeats no group and has few open repetitions.
    """
    if len(data) > CATALOGUE_BYTES:
        raise ValueError(f"it is larger than {CATALOGUE_BYTES // 1_048_576} MiB")
    if excess := json_excess(data):
        raise ValueError(f"it is {excess}")
    try:
        catalogue = _of_file.decode(data)
    except msgspec.MsgspecError as problem:
        raise ValueError(str(problem)) from problem
    if catalogue.format != FORMAT:
        raise ValueError(
            f"its format is {catalogue.format}, and this version of Ullage reads {FORMAT}"
        )
    models = sum(len(rows) for rows in catalogue.providers.values())
    if not 0 < models <= CATALOGUE_MODELS:
        raise ValueError(
            f"it lists {models:,} models, and may list 1 to {CATALOGUE_MODELS:,}"
        )
    for provider, rows in catalogue.providers.items():
        for row in rows:
            wrong = next(_problems(row), "")
            if wrong:
                raise ValueError(f"{provider} {row.patterns[:80]!r}: {wrong}")
    return catalogue


def encode(catalogue: Catalogue) -> bytes:
    """The catalogue as the bytes of its file, one model a line."""
    head = {
        name: getattr(catalogue, name)
        for name in ("format", "package", "version", "date", "licence")
    }
    lines = [f"  {_json(name)}: {_json(value)}," for name, value in head.items()]
    providers = [
        f"    {_json(name)}: [\n{_lines(rows)}\n    ]"
        for name, rows in catalogue.providers.items()
    ]
    return "\n".join(
        ["{", *lines, '  "providers": {', ",\n".join(providers), "  }", "}", ""]
    ).encode()


def differences(old: Catalogue, new: Catalogue) -> Mapping[str, int]:
    """How many models are new, changed and gone from one catalogue to the other."""
    before, after = _by_patterns(old), _by_patterns(new)
    changed = [key for key, row in after.items() if key in before and before[key] != row]
    return {
        "new": len(after.keys() - before.keys()),
        "changed": len(changed),
        "gone": len(before.keys() - after.keys()),
    }


def _by_patterns(catalogue: Catalogue) -> dict[tuple[str, str], CatalogueRow]:
    return {
        (provider, row.patterns): row
        for provider, rows in catalogue.providers.items()
        for row in rows
    }


def _matches(pattern: str, name: str) -> bool:
    kind, text = pattern[0], pattern[1:]
    match kind:
        case "=":
            return name == text
        case "^":
            return name.startswith(text)
        case "$":
            return name.endswith(text)
        case "*":
            return text in name
        case _:
            return len(name) <= _NAME_CHARS and re.search(text, name) is not None


def _problems(row: CatalogueRow) -> Iterator[str]:
    """What is wrong with a row whose types are right."""
    for pattern in row.patterns.split(" "):
        if len(pattern) < 2 or pattern[0] not in "=^$*~":
            yield f"{pattern!r} is no pattern"
        elif pattern[0] == "~":
            yield from _regex_problems(pattern[1:])
    starts = [tier[0] for tier in row.prices]
    if starts and (starts[0] != 0 or starts != sorted(set(starts))):
        yield "its price tiers do not rise from 0"


def _regex_problems(text: str) -> Iterator[str]:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        yield f"{text!r} is no regular expression"
        return
    repetitions = len(re.findall(r"[*+]|\{\d*,\d*\}", text))
    if len(text) > _REGEX_CHARS or re.search(r"\)[*+{]", text) or repetitions > 3:
        yield f"the regular expression {text[:40]!r} could take too long"


def _refused(path: Path, why: str) -> UnreadableInput:
    return UnreadableInput(
        f"The refreshed catalogue of models {path} can't be used: {why}. The built-in one is used instead. "
        "Run `ullage models --refresh`, or delete the file."
    )


def _lines(rows: tuple[CatalogueRow, ...]) -> str:
    return ",\n".join(f"      {_json(row)}" for row in rows)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
