"""Logs cut and garbled at every place: nothing but the typed errors, and what stands before the damage is kept."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.folding import FIXTURES, fold
from ullage.errors import InputError
from ullage.events import Event
from ullage.importers import ImportedSession, read
from ullage.importers.detect import formats
from ullage.importers.reader import Reader

READERS: dict[str, type[Reader]] = {
    each.name.replace("-", "_"): each.reader
    for each in formats()
    if each.reader is not None
}
LINES = sorted(path for path in FIXTURES.glob("*/*.jsonl"))
WHOLE = sorted(path for path in FIXTURES.glob("*/*.json"))


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def fed(path: Path, data: bytes) -> list[Event]:
    """The events of damaged data, folded."""
    reader = READERS[path.parent.name]()
    events = [*reader.feed(data.splitlines(keepends=True)), *reader.settle()]
    fold(events, path.parent.name)
    return events


def attempt(path: Path) -> ImportedSession | None:
    try:
        imported = read(path)
    except InputError:
        return None
    fold(imported.events, imported.format)
    return imported


@pytest.mark.parametrize("path", LINES, ids=name)
def test_line_by_line_gives_the_same_events_as_at_once(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    at_once = READERS[path.parent.name]()
    expected = [*at_once.feed(lines), *at_once.settle()]
    by_line = READERS[path.parent.name]()
    events = [event for line in lines for event in by_line.feed([line])]
    assert [*events, *by_line.settle()] == expected


@pytest.mark.parametrize("path", LINES, ids=name)
def test_a_log_cut_at_any_byte_keeps_the_events_of_its_whole_lines(path: Path) -> None:
    data = path.read_bytes()
    reader = READERS[path.parent.name]()
    certain: list[Event] = []
    start = 0
    for line in data.splitlines(keepends=True):
        step = max(1, len(line) // 25)
        for cut in {
            *range(start, start + len(line), step),
            start + 1,
            start + len(line) - 1,
        }:
            assert fed(path, data[:cut])[: len(certain)] == certain
        certain += reader.feed([line])
        start += len(line)


@pytest.mark.parametrize("path", LINES, ids=name)
def test_nul_bytes_behind_the_end_cost_nothing(path: Path) -> None:
    data = path.read_bytes()
    assert fed(path, data + b"\0" * 4096) == fed(path, data)


@pytest.mark.parametrize("path", LINES, ids=name)
def test_a_garbled_line_costs_no_more_than_what_depends_on_it(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for at in range(len(lines)):
        damaged = [*lines[:at], b'{"' + bytes(range(128, 256)) + b"\n", *lines[at + 1 :]]
        before = READERS[path.parent.name]().feed(lines[:at])
        assert fed(path, b"".join(damaged))[: len(before)] == before


@pytest.mark.parametrize("path", LINES + WHOLE, ids=name)
def test_single_bytes_changed_anywhere_never_raise(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    chance = random.Random(name(path))
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 3, 40))):
            damaged[chance.randrange(len(damaged))] = chance.choice(
                b'{}[]",:0x\0\xff\\ntf'
            )
        target = tmp_path / "damaged"
        target.write_bytes(damaged)
        attempt(target)


@pytest.mark.parametrize("path", WHOLE, ids=name)
def test_a_value_cut_at_any_byte_never_raises(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    target = tmp_path / "cut.json"
    for cut in range(0, len(data), max(1, len(data) // 200)):
        target.write_bytes(data[:cut])
        attempt(target)


scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.just("\ud83d")
    | st.just("text")
)
foreign = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
)


def replaced(value: Any, chance: random.Random, other: Any) -> Any:
    """The value with one of its places, at any depth, holding something else."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        return {**value, key: replaced(value[key], chance, other)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], replaced(value[at], chance, other), *value[at + 1 :]]
    return other


@pytest.mark.parametrize("path", LINES, ids=name)
@given(seed=st.integers(0, 10_000), other=foreign)
def test_values_of_other_types_never_raise(path: Path, seed: int, other: Any) -> None:
    import json

    chance = random.Random(seed)
    lines = path.read_bytes().splitlines()
    at = chance.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except ValueError:
        return
    lines[at] = json.dumps(replaced(value, chance, other)).encode()
    fed(path, b"\n".join(lines))


@given(data=st.binary(max_size=300))
def test_random_bytes_never_raise_anything_untyped(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    target = tmp_path_factory.mktemp("random") / "log"
    for start in (b"", b'{"type":"user",', b"[", b"SQLite format 3\0", b'{"messages":['):
        target.write_bytes(start + data)
        attempt(target)


@pytest.mark.parametrize("path", LINES, ids=name)
def test_lines_in_any_order_give_consistent_events(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for seed in range(12):
        shuffled = list(lines)
        random.Random(seed).shuffle(shuffled)
        fed(path, b"".join(shuffled))


@pytest.mark.parametrize("path", LINES, ids=name)
def test_a_log_written_twice_behind_itself_is_consistent(path: Path) -> None:
    data = path.read_bytes().rstrip(b"\0")
    fed(path, data + b"\n" + data)
