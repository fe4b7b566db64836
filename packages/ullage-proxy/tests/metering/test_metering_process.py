"""The process that meters: fed by a relay over its pipes, killed at any moment, and started again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.metering.tapped_calls import (
    answer,
    answer_body,
    assistant,
    body_of,
    request,
    user,
)
from tests.tiers import first_of
from ullage.events import CallEnded, CallStarted, MessageAdded
from ullage.importers import read
from ullage.meter.meter import Meter
from ullage_proxy.relay.frames import FrameReader, TapFrame, encoded

SESSION = "2f764e64-de0c-454d-ab43-8044e4d3deeb"
MARKS = {
    "user-agent": "claude-cli/2.1.330 (external, cli)",
    "x-claude-code-session-id": SESSION,
}


class Relay:
    """The relay's side of the pipes to one process. ``unstored`` are frames that it would send again."""

    def __init__(self, data: Path, **settings: object) -> None:
        self.data = data
        self.settings = settings
        self.unstored: list[TapFrame] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.told = ""

    def start(self) -> None:
        """Start a process and give it what is not stored yet."""
        environment = {**os.environ, "ULLAGE_DATA": str(self.data)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ullage_proxy.metering.metering_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self._write(encoded({"kind": "settings"}, json.dumps(self.settings).encode()))
        for frame in self.unstored:
            self._write(encoded(frame.header, frame.payload))

    def send(self, frames: Sequence[TapFrame]) -> None:
        for frame in frames:
            self.unstored.append(frame)
            self._write(encoded(frame.header, frame.payload))

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self._take(self.process.communicate()[0])

    def end(self) -> int:
        """Close the pipe, as at the end of the relay, and wait for the process."""
        assert self.process is not None
        written, told = self.process.communicate()
        self.told += told.decode()
        self._take(written)
        return self.process.returncode

    def read_until_stored(self, call: str) -> None:
        """Wait until this call is acknowledged."""
        assert self.process is not None
        assert self.process.stdout is not None
        reader = FrameReader()
        while any(frame.text("call") == call for frame in self.unstored):
            data = os.read(self.process.stdout.fileno(), 65_536)
            assert data, "the process has ended"
            self._note(reader.feed(data))

    def _write(self, data: bytes) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def _take(self, written: bytes) -> None:
        self._note(FrameReader().feed(written))

    def _note(self, frames: Sequence[TapFrame]) -> None:
        done = {frame.text("call") for frame in frames if frame.kind == "stored"}
        self.unstored = [
            frame for frame in self.unstored if frame.text("call") not in done
        ]


def conversation() -> list[TapFrame]:
    """Three calls, the second of which fails and is tried again."""
    asked, then = user("Is the lamp lit?"), user("Then trim the wick.")
    longer = body_of(asked, assistant("It is."), then)
    refused = b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}'
    return [
        request("r-1", body_of(asked), headers=MARKS),
        answer("r-1", answer_body("It is.", 640)),
        request("r-2", longer, headers=MARKS),
        answer("r-2", refused, status=529, outcome="failed"),
        request("r-3", longer, headers=MARKS),
        answer("r-3", answer_body("Done.", 660)),
    ]


def checked(path: Path) -> None:
    """Every call is in the ledger exactly once, and so is every message."""
    events = read(path, session=SESSION).events
    started = [event.call for event in events if isinstance(event, CallStarted)]
    ended = [event.call for event in events if isinstance(event, CallEnded)]
    assert started == ended == ["r-1", "r-2", "r-3"]
    assert sum(isinstance(event, MessageAdded) for event in events) == 4
    meter = Meter()
    for event in events:
        meter.apply(event)
    assert meter.reading().basis.last_input == 660


PLACES: Final = len(conversation())


@pytest.mark.parametrize("place", first_of((2, 1, 0, 3, 4, 5, 6), 2))
@pytest.mark.parametrize("waits", [True, False])
def test_killed_anywhere_it_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, place: int, waits: bool
) -> None:
    frames = conversation()
    relay = Relay(tmp_path)
    relay.start()
    relay.send(frames[:place])
    if waits and place and frames[place - 1].kind == "answer":
        relay.read_until_stored(frames[place - 1].text("call"))
    relay.kill()
    relay.start()
    relay.send(frames[place:])
    assert relay.end() == 0, relay.told
    assert relay.unstored == []
    checked(tmp_path / "proxy.db")


def moments() -> Iterator[tuple[int, int]]:
    for first in range(PLACES):
        for second in range(first, PLACES):
            yield first, second


@pytest.mark.sweep
@pytest.mark.parametrize(("first", "second"), list(moments()))
def test_killed_twice_it_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, first: int, second: int
) -> None:
    frames = conversation()
    relay = Relay(tmp_path)
    sent = 0
    for place in (first, second):
        relay.start()
        relay.send(frames[sent:place])
        relay.kill()
        sent = place
    relay.start()
    relay.send(frames[sent:])
    assert relay.end() == 0, relay.told
    assert relay.unstored == []
    checked(tmp_path / "proxy.db")


def test_a_line_for_each_call_is_on_standard_error(tmp_path: Path) -> None:
    relay = Relay(tmp_path, lines=True)
    relay.start()
    relay.send(conversation())
    relay.end()
    lines = relay.told.splitlines()
    assert len(lines) == 3
    assert "claude-code 2.1.330" in lines[0]
    assert "640" in lines[0]
    assert "overloaded" in lines[1]
    assert "\x1b" not in relay.told


def test_sessions_older_than_they_are_kept_are_gone_at_the_start(tmp_path: Path) -> None:
    relay = Relay(tmp_path)
    relay.start()
    relay.send(conversation())
    relay.end()
    with closing(sqlite3.connect(tmp_path / "proxy.db")) as database:
        database.execute(
            "UPDATE sessions SET changed = changed - 40 * 86400, listed = listed - 40 * 86400"
        )
        database.commit()
    for days, left in ((0, 1), (50, 1), (30, 0)):
        later = Relay(tmp_path, keep_days=days)
        later.start()
        later.end()
        with closing(sqlite3.connect(tmp_path / "proxy.db")) as database:
            assert database.execute("SELECT count(*) FROM sessions").fetchone() == (left,)


def test_without_a_store_no_file_is_written(tmp_path: Path) -> None:
    relay = Relay(tmp_path, is_stored=False, local=["anthropic"])
    relay.start()
    relay.send(conversation())
    assert relay.end() == 0, relay.told
    assert relay.unstored == []
    assert not list(tmp_path.glob("*.db"))


def test_an_unwritable_database_acknowledges_no_call(tmp_path: Path) -> None:
    (tmp_path / "proxy.db").mkdir()
    relay = Relay(tmp_path)
    relay.start()
    relay.send(conversation())
    relay.end()
    assert len(relay.unstored) == len(conversation())
    assert relay.told.count("Metering goes on in memory") == 1


@pytest.mark.parametrize("settings", [b"", b"{", b'{"keep_days": "x"}', b"[1]", b"\xff"])
def test_settings_that_cant_be_read_are_said_and_calls_are_metered(
    tmp_path: Path, settings: bytes
) -> None:
    environment = {**os.environ, "ULLAGE_DATA": str(tmp_path)}
    frames = [encoded({"kind": "settings"}, settings)]
    frames += [encoded(frame.header, frame.payload) for frame in conversation()]
    done = subprocess.run(
        [sys.executable, "-m", "ullage_proxy.metering.metering_process"],
        input=b"".join(frames),
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0
    checked(tmp_path / "proxy.db")
    assert bool(done.stderr) == bool(settings)


def test_input_that_is_no_frames_ends_the_process(tmp_path: Path) -> None:
    environment = {**os.environ, "ULLAGE_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "ullage_proxy.metering.metering_process"],
        input=b"GET / HTTP/1.1\r\n\r\n",
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 2
    assert b"damaged" in done.stderr
