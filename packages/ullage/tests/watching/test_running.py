"""The list of running sessions: which there are, what their lines say, what is read when, and what is wrong."""

import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from tests.cli.logs import write_log
from tests.importers.opencode_database import make_database
from ullage.errors import FormatMiss, NotASession
from ullage.importers import Found, FoundSession, ImportedSession
from ullage.importers.growing import LogEnds
from ullage.importers.places import Looked
from ullage.meter.meter import Meter
from ullage.watching import running as module
from ullage.watching.policy import RETRY_S
from ullage.watching.running import FOREVER_S, RunningList, RunningSession, first_line

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC).timestamp()
"""Of the day that ``write_log``'s calls are of, in any time zone up to nine hours from UTC."""


def new_meter(imported: ImportedSession) -> Meter:
    return Meter(estimator="pretoken")


class Machine:
    """A machine with sessions at these places, and clocks that a test moves."""

    def __init__(self) -> None:
        self.places: list[FoundSession] = []
        self.now = NOON
        self.ticks = 0.0
        self.searches = 0
        self.meters = 0
        self.a_meter_takes = 0.0
        self.list = RunningList(
            find=self._find,
            new_meter=self._meter,
            clock=lambda: self.ticks,
            now=lambda: self.now,
        )

    def _find(self) -> Found:
        self.searches += 1
        return Found(tuple(self.places), ())

    def _meter(self, imported: ImportedSession) -> Meter:
        self.meters += 1
        self.ticks += self.a_meter_takes
        return new_meter(imported)

    def add(
        self, path: Path, age_s: float = 0, session: str = "", format_: str = "pi"
    ) -> Path:
        """A session that was written to so many seconds before now."""
        if path.exists():
            os.utime(path, (self.now - age_s,) * 2)
        self.places.append(FoundSession(format_, path, self.now - age_s, session))
        return path

    def lines(self, since_s: float | None = 3_600) -> tuple[RunningSession, ...]:
        return self.list.look(since_s).sessions

    def only(self) -> RunningSession:
        (line,) = self.lines()
        return line


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_line_has_all_its_columns(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "a.jsonl"), age_s=30)
    line = machine.only()
    assert line.program.startswith("pi")
    assert (line.project, line.model) == ("app", "claude-haiku-4-5")
    assert (line.calls, line.problem, line.is_whole) == (4, "", True)
    assert line.reading is not None
    assert line.reading.basis.last_input == 5_850
    assert all(row.children == () for row in line.reading.rows)
    assert line.active_at == pytest.approx(NOON - 30)


def test_a_directory_of_windows_has_the_name_of_its_last_part() -> None:
    line = RunningSession(
        id="s-1",
        format="claude-code",
        path="",
        active_at=0,
        cwd="c:\\Users\\Ann Lee\\shop",
    )
    assert line.project == "shop"


def test_sessions_are_ordered_by_activity(machine: Machine, tmp_path: Path) -> None:
    for name, age_s in (("b", 600), ("a", 5), ("old", 3_700), ("c", 3_500)):
        machine.add(write_log(tmp_path / f"{name}.jsonl"), age_s)
    assert [Path(line.path).stem for line in machine.lines()] == ["a", "b", "c"]
    every = [Path(line.path).stem for line in machine.lines(None)]
    assert every == ["a", "b", "c", "old"]


def test_growth_is_since_the_look_before(machine: Machine, tmp_path: Path) -> None:
    whole = write_log(tmp_path / "whole.jsonl").read_bytes()
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-2]))
    machine.add(path)
    before = machine.only()
    assert before.reading is not None and before.grown is None
    path.write_bytes(whole)
    after = machine.only()
    assert after.reading is not None
    assert after.grown == after.reading.used.tokens - before.reading.used.tokens > 0


def test_what_did_not_change_is_not_read_again(machine: Machine, tmp_path: Path) -> None:
    for name in "abc":
        machine.add(write_log(tmp_path / f"{name}.jsonl"))
    first = machine.lines()
    assert machine.meters == 3
    assert machine.lines() == first
    assert machine.meters == 3


# -- what today cost --


def test_today_begins_at_midnight(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "a.jsonl"))
    today = machine.only().today
    assert (today.calls, today.money.priced) == (4, 4)
    assert today.money.usd > 0
    assert today.tokens == sum(2_100 + 1_250 * n + 60 for n in range(4))
    machine.now += 86_400
    assert machine.lines(None)[0].today.calls == 0


def test_an_earlier_days_calls_are_not_todays(machine: Machine, tmp_path: Path) -> None:
    machine.now += 86_400
    machine.add(write_log(tmp_path / "a.jsonl"))
    assert machine.only().today.tokens == 0


def test_a_shared_call_is_once_in_the_sum(machine: Machine, tmp_path: Path) -> None:
    path = machine.add(write_log(tmp_path / "a.jsonl"))
    copy = tmp_path / "forked.jsonl"
    copy.write_bytes(path.read_bytes())
    machine.add(copy)
    running = machine.list.look()
    assert [line.today.calls for line in running.sessions] == [4, 4]
    assert running.today == running.sessions[0].today


def test_an_unknown_price_is_counted_as_such(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "a.jsonl", model="nobodys-model"))
    assert machine.only().today.money.unpriced == 4
    assert machine.only().today.money.priced == 0


# -- one session, one line --


def test_a_proxied_session_replaces_its_log(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "3f0e.jsonl"))
    machine.add(tmp_path / "proxy.db", session="s1", format_="ullage")
    line = machine.only()
    assert line.is_proxied and line.id == "s1"


def test_a_name_tells_a_metered_sessions_log(machine: Machine, tmp_path: Path) -> None:
    uuid = "01234567-89ab-4cde-8f01-23456789abcd"
    log = tmp_path / f"rollout-2026-01-02T03-04-05-{uuid}.jsonl"
    log.write_bytes(b"")
    machine.add(log, format_="codex")
    machine.add(tmp_path / "proxy.db", session=uuid, format_="ullage")
    assert machine.only().is_proxied


@pytest.mark.parametrize("child", ["parent/call-1", "parent.child-1"])
def test_a_subagent_has_no_line(machine: Machine, tmp_path: Path, child: str) -> None:
    database = tmp_path / "sessions.db"
    machine.add(database, session="parent", format_="ullage")
    machine.add(database, session=child, format_="ullage")
    assert machine.only().id == "parent"


def test_a_database_session_has_its_own_time(machine: Machine, tmp_path: Path) -> None:
    database = tmp_path / "opencode.db"
    make_database(database)
    machine.add(database, 600, session="ses_whole", format_="opencode")
    machine.add(database, 5, session="ses_other", format_="opencode")
    ages: list[int] = []
    for line in machine.lines():
        ages.append(round(machine.now - line.active_at))
    assert ages == [5, 600]


def test_the_title_that_a_database_has_is_shown(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "3f0e.jsonl"))
    machine.places[0] = machine.places[0]._replace(title="Of the database")
    assert machine.only().title == "Of the database"


# -- large logs, and many --


@pytest.fixture
def large(monkeypatch: MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(module, "ENDS", LogEnds(4_000, 20_000))
    monkeypatch.setattr(module, "SLICE_BYTES", 3_000)
    return write_log(tmp_path / "large.jsonl", calls=40)


def test_a_large_log_is_read_at_its_ends_first(machine: Machine, large: Path) -> None:
    machine.add(large)
    machine.a_meter_takes = 10
    ends = machine.only()
    assert not ends.is_whole
    assert ends.calls < 40
    machine.a_meter_takes = 0
    whole = machine.only()
    assert whole.is_whole
    assert (whole.calls, whole.today.calls) == (40, 40)
    assert whole.reading is not None and ends.reading is not None
    assert whole.reading.basis.last_input == ends.reading.basis.last_input


def test_a_log_is_read_behind_a_long_line(machine: Machine, tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.jsonl")
    first, *others = path.read_bytes().splitlines(keepends=True)
    long_line = b'{"type":"custom","text":"%s"}\n' % (b"x" * 1_500_000)
    path.write_bytes(b"".join([first, long_line, *others]))
    machine.add(path)
    assert machine.only().calls == 4


def test_what_is_too_large_to_stay_in_memory_is_never_read_whole(
    machine: Machine, large: Path, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WHOLE_BYTES", large.stat().st_size - 1)
    machine.add(large)
    machine.only()
    assert not machine.only().is_whole


def test_a_log_that_grows_meanwhile_ends_as_it_is(machine: Machine, large: Path) -> None:
    content = large.read_bytes()
    lines = content.splitlines(keepends=True)
    large.write_bytes(b"".join(lines[:-6]))
    machine.add(large)
    machine.a_meter_takes = 1
    for end in range(len(lines) - 5, len(lines) + 1):
        large.write_bytes(b"".join(lines[:end]))
        line = machine.only()
    machine.a_meter_takes = 0
    line = machine.only()
    assert line.reading is not None
    assert (line.is_whole, line.calls) == (True, 40)
    assert line.reading.basis.last_input == 2_100 + 1_250 * 39


def test_a_look_ends_when_its_time_is_up(machine: Machine, tmp_path: Path) -> None:
    for number in range(6):
        machine.add(write_log(tmp_path / f"{number}.jsonl"), age_s=number)
    machine.a_meter_takes = 1.0
    unread = []
    for _ in range(4):
        running = machine.list.look(patience_s=1.5)
        unread.append(running.unread)
        assert len(running.sessions) == 6
    assert unread == [4, 2, 0, 0]


def test_a_look_reads_at_least_one_session(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "a.jsonl"))
    assert machine.list.look(patience_s=0).unread == 0


def test_a_search_that_takes_long_is_not_repeated_with_each_look(tmp_path: Path) -> None:
    machine = Machine()
    clock = itertools.count()
    slow = RunningList(
        find=machine._find, clock=lambda: float(next(clock)), now=lambda: NOON
    )
    for _ in range(10):
        slow.look()
    assert machine.searches == 1


def test_an_ended_session_keeps_its_line(machine: Machine, tmp_path: Path) -> None:
    machine.add(write_log(tmp_path / "a.jsonl"), age_s=4_000)
    first = machine.lines(None)
    assert first[0].calls == 4
    assert [entry.watched for entry in machine.list._entries.values()] == [None]
    assert machine.lines(None) == first
    assert machine.meters == 1


# -- what is wrong --


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path) -> None:
    path.mkdir()


def _nothing(path: Path) -> None:
    """No file: it was removed after the search."""


def _text(path: Path) -> None:
    path.write_text("no log\n" * 100)


def _begun(path: Path) -> None:
    path.write_bytes(b'{"type":"session","version":3,"id":"s","cwd":"/"}\n')


def _dangling(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


def _loop(path: Path) -> None:
    path.symlink_to(path)


NOBODY = 65_534

WRONG = [
    (_loop, "a.jsonl does not exist. Check its name."),
    (_fifo, "is a pipe, and only regular files are read"),
    (_directory, "No session that was begun in the directory"),
    (_nothing, "a.jsonl does not exist. Check its name."),
    (_text, "is no session log that Ullage can read"),
    (_begun, "no message and no call yet"),
    (_dangling, "a.jsonl does not exist. Check its name."),
]


@pytest.mark.parametrize(("make", "said"), WRONG)
def test_what_can_not_be_read_is_a_line_that_says_why_beside_the_others(
    machine: Machine, tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "a.jsonl"
    make(path)
    machine.places.append(FoundSession("pi", path, NOON))
    machine.add(write_log(tmp_path / "fine.jsonl"), age_s=1)
    wrong, fine = machine.lines()
    assert said in wrong.problem
    assert wrong.reading is None
    assert str(tmp_path) not in wrong.problem
    assert fine.problem == ""


@contextmanager
def without_rights(path: Path) -> Iterator[None]:
    """As a user who may not read this file, also where root runs the tests."""
    path.chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_a_forbidden_log_is_a_line(machine: Machine, tmp_path: Path) -> None:
    path = machine.add(write_log(tmp_path / "a.jsonl"))
    with without_rights(path):
        assert "Permission denied" in machine.only().problem


def test_a_damaged_database_is_a_line(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "proxy.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    machine.add(path, session="s1", format_="ullage")
    assert "proxy.db can't be read" in machine.only().problem


def test_a_vanished_log_keeps_its_reading(machine: Machine, tmp_path: Path) -> None:
    path = machine.add(write_log(tmp_path / "a.jsonl"))
    before = machine.only()
    path.unlink()
    after = machine.only()
    assert after.problem == "a.jsonl does not exist. Check its name."
    assert after.reading == before.reading


def test_what_failed_is_tried_again_later(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    machine.add(path)
    assert machine.only().problem
    write_log(path)
    assert machine.only().problem
    machine.ticks += RETRY_S
    assert machine.only().problem == ""


def test_a_json_document_that_is_too_large_for_a_list_says_so(
    machine: Machine, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WATCHED_DOCUMENT_BYTES", 10)
    path = tmp_path / "session-1.json"
    path.write_text('{"messages": []}')
    machine.add(path)
    assert "too large for a list" in machine.only().problem


def test_a_place_that_can_not_be_searched_is_named() -> None:
    looked = Looked("opencode", "/data", 0, "Permission denied.")
    sessions = RunningList(find=lambda: Found((), (looked,)))
    assert sessions.look().problems == ("Permission denied.",)


def test_an_error_is_shortened_to_its_first_line() -> None:
    assert first_line(NotASession("x.jsonl", (FormatMiss("pi", "a header"),))) == (
        "x.jsonl is no session log that Ullage can read."
    )
    assert first_line(OSError(13, "Permission denied")) == "Permission denied"
    assert first_line(ValueError()) == "ValueError"


# -- in the usual places --


def test_usual_places_are_listed(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    path = write_log(tmp_path / ".pi/agent/sessions/app/one.jsonl")
    running = RunningList().look(patience_s=FOREVER_S)
    assert [line.path for line in running.sessions] == [str(path)]
    os.utime(path, (time.time() - 7_200,) * 2)
    assert RunningList().look(patience_s=FOREVER_S).sessions == ()
    assert len(RunningList().look(None, patience_s=FOREVER_S).sessions) == 1


def test_a_locked_database_is_a_line(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id TEXT)")
    database.execute("BEGIN EXCLUSIVE")
    machine.add(path, session="ses_1", format_="opencode")
    assert "opencode.db" in machine.only().problem
    database.close()
