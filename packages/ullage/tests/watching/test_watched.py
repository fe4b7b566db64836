"""Following logs that grow: with every cut the reading of ``ullage context``, and what was spent since a time."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.logs import of_context, write_log
from tests.places import CLIENT_LOGS
from tests.tiers import first_of
from ullage.cli.session import metered, read_session
from ullage.errors import InputError
from ullage.events import CompactionCommitted, Event
from ullage.importers import FoundSession, ImportedSession
from ullage.importers.calls import read_calls
from ullage.importers.growing import GrowingLog, LogEnds
from ullage.meter.meter import Meter
from ullage.watching.watched import Seen, UnusableSession, Watched

FIXTURES = CLIENT_LOGS
LOGS = sorted(
    path
    for path in FIXTURES.rglob("*.json*")
    if path.is_file() and "opencode" not in path.parts
)


def new_meter(imported: ImportedSession | None = None) -> Meter:
    return Meter(estimator="pretoken")


def is_compaction(event: Event) -> bool:
    return isinstance(event, CompactionCommitted)


def grown(path: Path, pieces: Sequence[bytes], watched: Watched) -> Iterator[bytes]:
    """What a watch says after each piece is appended."""
    said = b""
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        try:
            seen = watched.look()
            said = said if seen is None else seen.reading.to_json()
        except InputError as problem:
            said = type(problem).__name__.encode()
        yield said


@pytest.mark.parametrize(
    "log", first_of(LOGS, 3), ids=lambda path: f"{path.parent.name}/{path.name}"
)
@settings(max_examples=12)
@given(data=st.data())
def test_every_reading_is_that_of_ullage_context_wherever_the_log_is_cut(
    log: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = log.read_bytes()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(content) - 1), max_size=6)))
    pieces = [
        content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)
    ]
    path = tmp_path_factory.mktemp("log") / log.name
    watched = Watched(GrowingLog(path), new_meter)
    for said in grown(path, pieces, watched):
        assert said == of_context(path)


def test_a_whole_line_without_a_line_break_counts(tmp_path: Path) -> None:
    lines = (FIXTURES / "pi" / "session.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    watched = Watched(GrowingLog(path), new_meter)
    pieces = [piece for line in lines for piece in (line[:-1], line[-1:])]
    for said in grown(path, pieces, watched):
        assert said == of_context(path)


def test_a_log_that_was_written_anew_is_read_from_its_begin(tmp_path: Path) -> None:
    first, second = (
        FIXTURES / "pi" / "session.jsonl",
        FIXTURES / "codex" / "session.jsonl",
    )
    path = tmp_path / "log.jsonl"
    shutil.copy(first, path)
    watched = Watched(GrowingLog(path), new_meter)
    seen = watched.look()
    assert seen is not None and seen.restarted == ""

    content = first.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    seen = watched.look()
    assert seen is not None and seen.restarted == "the log was cut"
    assert seen.reading.to_json() == of_context(path)

    new = tmp_path / "new"
    shutil.copy(second, new)
    with new.open("ab") as file:
        file.write(b"\n" * len(content))
    new.rename(path)
    seen = watched.look()
    assert seen is not None and seen.restarted == "the log was replaced by another file"
    assert seen.reading.to_json() == of_context(path)

    content = path.read_bytes()
    path.write_bytes(content.replace(b"\n\n", b"\n \n") + content)
    seen = watched.look()
    assert seen is not None and seen.restarted == "the log was replaced"
    assert seen.reading.to_json() == of_context(path)


def test_nothing_is_said_of_a_log_that_has_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    shutil.copy(FIXTURES / "pi" / "session.jsonl", path)
    watched = Watched(GrowingLog(path), new_meter)
    assert watched.look() is not None
    assert watched.look() is None


def test_a_compaction_is_told_once_when_it_comes(tmp_path: Path) -> None:
    lines = (
        (FIXTURES / "claude_code" / "compaction.jsonl")
        .read_bytes()
        .splitlines(keepends=True)
    )
    path = tmp_path / "log.jsonl"
    watched = Watched(GrowingLog(path), new_meter, is_notable=is_compaction)
    told = 0
    for line in lines:
        with path.open("ab") as file:
            file.write(line)
        try:
            seen = watched.look()
        except InputError:
            continue
        told += (
            0
            if seen is None
            else sum(isinstance(event, CompactionCommitted) for event in seen.happened)
        )
    assert (
        told
        == sum(
            isinstance(event, CompactionCommitted) for event in read_session(path).events
        )
        > 0
    )
    seen = Watched(GrowingLog(path), new_meter, is_notable=is_compaction).look()
    assert seen is not None and seen.happened == ()


def test_near_the_limit_goes_up_high_and_down_only_well_below(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    shutil.copy(FIXTURES / "claude_code" / "session.jsonl", path)
    used = metered(read_session(path), new_meter()).meter.reading().used.high
    for window, is_near in (
        (round(used / 0.8 / 0.85), True),
        (round(used / 0.8 / 0.75), False),
    ):
        seen = Watched(
            GrowingLog(path),
            lambda imported, window=window: Meter(estimator="pretoken", window=window),  # type: ignore[misc]
        ).look()
        assert seen is not None and seen.status.near_limit is is_near


def look(watched: Watched) -> Seen:
    seen = watched.look()
    assert seen is not None
    return seen


def test_a_log_without_message_or_call_is_unusable_until_then(tmp_path: Path) -> None:
    whole = write_log(tmp_path / "whole.jsonl").read_bytes()
    path = tmp_path / "log.jsonl"
    path.write_bytes(whole.splitlines(keepends=True)[0])
    watched = Watched(GrowingLog(path), new_meter)
    with pytest.raises(UnusableSession, match="no message and no model call yet"):
        watched.look()
    path.write_bytes(whole)
    assert look(watched).calls == 4


def test_calls_are_kept_one_by_one_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl")
    kept = look(Watched(GrowingLog(path), new_meter, keeps_calls=True)).spent.calls
    assert [call.input for call in kept] == [2_100 + 1_250 * n for n in range(4)]
    assert look(Watched(GrowingLog(path), new_meter)).spent.calls == []


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_growing_logs_calls_are_those_of_the_whole(tmp_path: Path, log: Path) -> None:
    path = tmp_path / log.name
    lines = log.read_bytes().splitlines(keepends=True)
    watched = Watched(GrowingLog(path), new_meter, keeps_calls=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    with suppress(InputError):
        watched.look()
    path.write_bytes(b"".join(lines))
    whole = read_calls(FoundSession(log.parent.name, path, 0.0))
    assert tuple(look(watched).spent.calls) == whole.calls


def test_a_log_read_in_slices_shows_nothing_before_its_end(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl", calls=40)
    whole = look(Watched(GrowingLog(path), new_meter, keeps_calls=True))
    watched = Watched(GrowingLog(path, most=1_000), new_meter, keeps_calls=True)
    looks = 0
    seen = watched.look()
    while watched.is_behind:
        assert seen is None
        looks += 1
        seen = watched.look()
    assert looks > 10
    assert seen is not None
    assert seen.reading.to_json() == whole.reading.to_json()
    assert seen.spent.calls == whole.spent.calls
    assert watched.look() is None


def test_of_a_large_log_the_ends_give_the_last_report(tmp_path: Path) -> None:
    whole = write_log(tmp_path / "whole.jsonl", calls=40).read_bytes()
    lines = whole.splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines[:-4]))
    log = GrowingLog(path, ends=LogEnds(2_000, 4_000))
    watched = Watched(log, new_meter)
    seen = look(watched)
    assert log.leaves_out
    assert 0 < seen.calls < 38
    path.write_bytes(whole)
    seen = look(watched)
    assert seen.restarted == ""
    assert seen.reading.basis.last_input == 2_100 + 1_250 * 39


def test_a_log_that_is_hardly_larger_than_its_ends_is_read_whole(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl", calls=40)
    log = GrowingLog(path, ends=LogEnds(2_000, path.stat().st_size - 2_000))
    assert look(Watched(log, new_meter)).calls == 40
    assert not log.leaves_out
