from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.app import App, ComposeResult

from tests.cli.readings import QUARTER_FULL
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import Span, cells, plain
from ullage.meter.reading import Basis, CompactionThreshold, Used, Window
from ullage.turns.loop import Loop, OpenCall
from ullage_agent.chat.commands import COMMANDS
from ullage_agent.chat.panels import (
    NAMES,
    SHOWN_COMMANDS,
    Panel,
    Panels,
    doing,
    foot_line,
    gauge_line,
    source_of,
    waiting_lines,
)


class FakeScreen(App[str]):
    """The panels and nothing else."""

    def compose(self) -> ComposeResult:
        for name in NAMES:
            yield Panel(id=name)


async def test_a_panel_without_lines_takes_no_room() -> None:
    app = FakeScreen()
    async with app.run_test(size=(80, 24)) as pilot:
        panel = app.query_one("#waiting", Panel)
        panel.put([(Span("one"),), (Span("[bold]two"),)])
        await pilot.pause()
        assert panel.shown.plain == "one\n[bold]two"
        assert panel.size.height == 2
        panel.put([])
        await pilot.pause()
        assert not panel.display


async def test_the_marked_command_stays_in_sight() -> None:
    app = FakeScreen()
    async with app.run_test(size=(80, 24)):
        panels = Panels(app, UNICODE)
        for marked in range(len(COMMANDS)):
            panels.completing(COMMANDS, marked)
            shown = app.query_one("#completing", Panel).shown.plain
            assert f"› /{COMMANDS[marked].name}" in shown
            assert len(shown.splitlines()) == SHOWN_COMMANDS + 1


EXACT = replace(
    QUARTER_FULL,
    basis=Basis(last_input=50_000, last_output=2_100, new=0, changed=0, removed=0),
)
UNKNOWN = replace(
    QUARTER_FULL,
    window=Window(tokens=None, source="unknown"),
    threshold=CompactionThreshold(tokens=None, source="unknown"),
    input_limit=None,
    free=None,
)


def test_the_whole_gauge_says_used_interval_window_point_growth_and_source() -> None:
    line = plain(gauge_line(QUARTER_FULL, 1_204, 140, UNICODE))
    assert line.endswith(
        "52,100 ± 140 of 200,000 (26 %) · compacts at 160,000 · +1,204 last step · partly estimated"
    )
    assert "│" in line


@given(
    st.integers(1, 240),
    st.one_of(st.none(), st.integers(-99_999, 99_999)),
    st.booleans(),
    st.booleans(),
)
def test_used_and_its_window_stay_whatever_the_width(
    width: int, grown: int | None, known: bool, wide: bool
) -> None:
    reading = QUARTER_FULL if known else UNKNOWN
    line = plain(gauge_line(reading, grown, width, UNICODE if wide else ASCII))
    assert "52,100" in line
    assert cells(line) <= max(width, 80)


def test_an_exact_number_has_no_source_and_an_unknown_window_says_how_to_set_it() -> None:
    assert source_of(EXACT) == ""
    assert source_of(QUARTER_FULL) == "partly estimated"
    assert "/set window" in plain(gauge_line(UNKNOWN, None, 100, UNICODE))


def test_past_the_compaction_point_is_said() -> None:
    full = replace(EXACT, used=Used(tokens=161_000, low=160_900, high=161_100))
    line = gauge_line(full, None, 140, UNICODE)
    assert "past the compaction threshold, 160,000" in plain(line)
    assert Span("161,000 ± 100", "bad") in line


RUNNING = OpenCall(call_id="t", name="shell", arguments="{}", part="p", state="started")


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (Loop(), "ready"),
        (Loop(turn="t"), "working"),
        (Loop(turn="t", call="c"), "writing"),
        (Loop(turn="t", open=(RUNNING,)), "running shell"),
        (Loop(turn="t", compaction="c"), "compacting"),
        (Loop(turn="t", paused="budget"), "paused (budget)"),
        (Loop(turn="t", paused="approval"), "needs your approval"),
        (
            Loop(turn="t", call="c", cancel="stop"),
            "cancelling  Esc again does not wait for tools",
        ),
    ],
)
def test_what_is_done_is_said_in_a_few_words(loop: Loop, words: str) -> None:
    assert plain(doing(loop, "text")) == words


def test_the_foot_takes_as_many_hints_as_fit() -> None:
    line = plain(
        foot_line((Span("ready"),), "a:model", "s-1", ("/help", "another hint"), 40)
    )
    assert line.endswith("a:model · s-1 · /help")
    assert cells(line) == 40
    assert plain(foot_line((Span("x" * 50),), "a:model", "s-1", (), 40)) == "x" * 50


def test_waiting_messages_say_when_they_go_in() -> None:
    lines = [
        plain(line)
        for line in waiting_lines(
            (("steer", "now\nplease"), ("follow_up", "later")), 80, 1
        )
    ]
    assert lines == [
        "next  now please  goes in before the next call",
        "then  later  being edited",
    ]
