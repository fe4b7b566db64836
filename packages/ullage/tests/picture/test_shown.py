"""The picture of a session in a notebook, and of what a meter knows without the events."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from tests.places import CLIENT_LOGS
from ullage.advice.history import history_now, history_of
from ullage.errors import InputError
from ullage.events import Event
from ullage.measure import Meter, picture_of_log
from ullage.picture.shown import picture_of_meter

TOOLS = [
    {"name": name, "description": "Looks. " * 60, "input_schema": {"type": "object"}}
    for name in ("bash", "read")
]


def looped(*, calls: int = 12, window: int = 60_000) -> tuple[Meter, list[Event]]:
    """A meter beside a loop whose tool results are long, and the events that it made."""
    events: list[Event] = []
    meter = Meter(
        "claude-haiku-4-5", window=window, estimator="pretoken", on_event=events.append
    )
    history: list[dict[str, Any]] = [{"role": "user", "content": "Test <b>it</b>."}]
    for number in range(calls):
        body = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": history}
        body |= {"system": "Be brief. " * 50, "tools": TOOLS}
        before = meter.before(body)
        call = {"command": f"pytest {number}"}
        answer = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": call}
        usage = {"input_tokens": before.used.tokens + 7, "output_tokens": 60}
        meter.after(before.call, usage, [answer])
        result = {"type": "tool_result", "tool_use_id": f"t{number}"}
        result["content"] = "passed a test\n" * (1_500 if number % 5 == 0 else 30)
        history.append({"role": "assistant", "content": [answer]})
        history.append({"role": "user", "content": [result]})
    meter.before({**body, "messages": history})
    return meter, events


def test_a_meter_knows_the_items_that_the_history_of_its_events_has() -> None:
    meter, events = looped()
    now, whole = history_now(meter), history_of(events)
    assert now.items == tuple(item for item in whole.items if item.last_call is None)
    assert now.next_call == whole.next_call
    assert [row.used for row in now.calls] == [row.used for row in whole.main_calls]


def test_a_meter_draws_its_window_with_what_would_make_room() -> None:
    meter, _ = looped()
    drawn = picture_of_meter(meter).svg()
    assert f"{meter.reading().used.tokens:,}" in drawn
    assert "3 commands with an output" in drawn
    assert "Next compaction" in drawn


def test_a_meter_without_a_call_is_drawn() -> None:
    assert "<svg" in picture_of_meter(Meter("claude-haiku-4-5")).svg()
    assert "<svg" in picture_of_meter(Meter()).svg()


def test_a_notebook_gets_an_image_and_no_style_of_the_picture() -> None:
    meter, _ = looped(calls=1)
    shown = meter._repr_html_()
    styles = re.findall(r"<style>(.*?)</style>", shown)
    for rule in re.findall(r"([^{}]+){", "".join(styles)):
        assert rule.endswith(" .ullage-picture")
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', shown)
    assert base64.b64decode(data).decode() == picture_of_meter(meter).svg()
    assert "<b>" not in shown and "<b>" not in base64.b64decode(data).decode()


def test_a_log_is_drawn_by_its_name() -> None:
    picture = picture_of_log(CLIENT_LOGS / "claude_code" / "session.jsonl")
    assert "claude-code" in picture.svg()
    assert "<table" in picture.html()
    assert "tokens" in repr(picture)


def test_a_file_that_is_no_log_is_refused() -> None:
    with pytest.raises(InputError):
        picture_of_log(__file__)
