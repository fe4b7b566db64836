"""Logs whose values are nested at every place: what is too deep is skipped and counted, the rest is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.importers.folding import fold
from tests.importers.test_damaged_logs import LINES, READERS, name
from ullage.bounds import TOO_DEEP
from ullage.checkpoint.checkpoint import Checkpoints
from ullage.envelope import JSON_DEPTH
from ullage.importers import read
from ullage.meter.meter import Meter

MARK = "\x1bhere"


def places(value: object) -> Iterator[str]:
    """The JSON of the value, each time with the mark in another place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            for one in places(inner):
                yield json.dumps({**value, key: 0}).replace(
                    f"{json.dumps(key)}: 0", f"{json.dumps(key)}: {one}", 1
                )
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            for one in places(inner):
                rest = [json.dumps(each) for each in value]
                yield "[" + ", ".join([*rest[:at], one, *rest[at + 1 :]]) + "]"
    yield json.dumps(MARK)


def good_lines(path: Path) -> list[bytes]:
    """The lines of a fixture that are JSON; some are damaged on purpose."""
    lines = path.read_bytes().splitlines()
    return [line for line in lines if is_json(line)]


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def nested(levels: int, opening: str = "[") -> str:
    return opening * levels + "0" + ("]" if opening.startswith("[") else "}") * levels


def deep_in_the_stack(frames: int, function: Callable[[], object]) -> object:
    """As where a terminal program or a server calls it: with frames below."""
    return deep_in_the_stack(frames - 1, function) if frames else function()


def metered(path: Path, lines: list[bytes]) -> None:
    reader = READERS[path.parent.name]()
    events = [*reader.feed(lines), *reader.settle()]
    meter = Meter()
    for event in events:
        meter.apply(event)
    meter.largest(5)
    Checkpoints().save(meter._fold)
    fold(events, path.parent.name)


@pytest.mark.slow
@pytest.mark.parametrize("path", LINES, ids=name)
def test_a_value_as_deep_as_allowed_is_read_in_any_place(path: Path) -> None:
    lines = good_lines(path)
    for at, line in enumerate(lines):
        for marked in places(json.loads(line)):
            for opening in ("[", '{"type":'):
                deep = marked.replace(
                    json.dumps(MARK), nested(JSON_DEPTH - 10, opening)
                ).encode()
                deep_in_the_stack(
                    300, partial(metered, path, [*lines[:at], deep, *lines[at + 1 :]])
                )


@pytest.mark.parametrize("levels", [800, 5_000, 200_000])
@pytest.mark.parametrize("path", LINES, ids=name)
def test_too_deep_lines_are_counted(path: Path, levels: int, tmp_path: Path) -> None:
    lines = good_lines(path)
    last = json.loads(lines[-1])
    key = next(iter(last))
    for opening in ("[", '{"a":'):
        deep = (
            json.dumps({**last, key: MARK})
            .replace(json.dumps(MARK), nested(levels, opening))
            .encode()
        )
        log = tmp_path / path.name
        log.write_bytes(b"\n".join([*lines, deep, lines[-1]]) + b"\n")
        imported = read(log)
        assert dict(imported.reasons)[TOO_DEEP] == 1
        assert imported.events
