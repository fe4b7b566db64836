from pathlib import Path

import pytest

from tests.cli.logs import write_log
from ullage.cli.session import NoSuchStep, main_calls, metered, read_session
from ullage.errors import NotASession, UnreadableInput
from ullage.events import CallEnded, CallStarted, MessageAdded
from ullage.importers import ImportedSession, Skipped
from ullage.messages import Message
from ullage.meter.meter import Meter
from ullage.watching.usable_logs import skipped
from ullage.watching.watched import UnusableSession

EVENTS = (
    CallStarted(call="a"),
    CallEnded(call="a"),
    CallStarted(call="title", purpose="title"),
    CallEnded(call="title", purpose="title"),
    CallStarted(call="never-ended"),
    CallStarted(call="b"),
    MessageAdded(message=Message(id="m", role="user")),
    CallEnded(call="b"),
)


def test_main_calls_are_those_that_came_to_an_end() -> None:
    assert main_calls(EVENTS) == [0, 5]


def test_the_meter_stops_just_before_the_step(tmp_path: Path) -> None:
    imported = read_session(write_log(tmp_path / "a.jsonl"))
    assert len(metered(imported, Meter(), 3).meter.steps) == 2
    assert len(metered(imported, Meter()).meter.steps) == 4


def test_a_session_without_calls_has_no_steps() -> None:
    with pytest.raises(NoSuchStep, match="it has no model call"):
        metered(ImportedSession(format="pi", session="s"), Meter(), 1)


def test_what_can_not_be_read_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="No such file"):
        read_session(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(NotASession):
        read_session(tmp_path / "text")
    (tmp_path / "head").write_text(
        '{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05Z","cwd":"/"}'
    )
    with pytest.raises(UnusableSession, match="it has 1 line"):
        read_session(tmp_path / "head")


def test_skipped_lines_are_counted_by_reason_and_the_first_are_named() -> None:
    imported = ImportedSession(
        format="pi",
        session="s",
        lines=812,
        skipped=(
            Skipped(4, "torn"),
            Skipped(9, "torn"),
            Skipped(70, "too\x1b deep"),
            Skipped(80, "torn"),
        ),
        reasons=(("torn", 30), ("too\x1b deep", 1)),
    )
    assert skipped(imported) == [
        "31 of 812 lines not read",
        "30 torn (lines 4, 9, 80 …)",
        "1 too deep (line 70)",
    ]
