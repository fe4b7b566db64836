"""Usage that can't be true, or in which nothing is found: from a loop, its own provider or a stored event."""

import json
import math
import re
from typing import Any

import pytest

from ullage import Meter
from ullage.encoding import decode_event
from ullage.events import CallEnded, Event
from ullage.picture.model import picture_of
from ullage.picture.svg import svg
from ullage.usage import Usage

CLEARING = {"edits": [{"type": "clear_tool_uses_20250919"}]}
BODY = {
    "model": "claude-haiku-4-5",
    "max_tokens": 10,
    "context_management": CLEARING,
    "messages": [{"role": "user", "content": "Which cask leaks?" * 100}],
}


def told(usage: object) -> tuple[Meter, list[Event]]:
    events: list[Event] = []
    meter = Meter("claude-haiku-4-5", on_event=events.append)
    meter.after(meter.before(BODY).call, usage)
    return meter, events


@pytest.mark.parametrize(
    ("count", "problem"),
    [
        (-9_000, "negative"),
        (10**30, "too_large"),
        (math.nan, "not_finite"),
        (-math.inf, "not_finite"),
        (True, "not_a_number"),
        (5.5, "not_whole"),
        ("5", "not_a_number"),
    ],
)
def test_a_count_that_can_t_be_true_is_none_however_it_comes(
    count: Any, problem: str
) -> None:
    flags = (f"input:{problem}", f"output:{problem}")
    of_a_provider = {"input_tokens": count, "output_tokens": count}
    for usage in (Usage(input=count, output=count), of_a_provider):
        meter, events = told(usage)
        (kept,) = [each.usage for each in events if isinstance(each, CallEnded)]
        assert kept is not None
        assert (kept.input, kept.output, kept.flags) == (None, None, flags)
        reading = meter.reading()
        assert reading.used.low > 0
        assert "The provider's usage for the last call can't be used" in reading.notes[0]
        assert len(reading.notes) == 1
        assert not meter.reading().spend.by_purpose["main"].output
        drawn = svg(picture_of(events))
        assert not re.search('(height|width)="-', drawn)


def test_a_stored_event_brings_no_impossible_count_in() -> None:
    row = {"type": "call_ended", "id": "1", "seq": 1, "call": "a", "outcome": "finished"}
    for count in (-9_000, 10**15):
        row["usage"] = {"input": count, "output": count, "context_input": count}
        event = decode_event(json.dumps(row))
        assert isinstance(event, CallEnded)
        assert event.usage is not None
        assert event.usage.context is event.usage.answer is None
        assert len(event.usage.flags) == 3


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ({"prompt_token": 5}, "under no known name: prompt_token."),
        (
            {"input_token": 5, "output_tokens": 2},
            "known name: input_token, output_tokens.",
        ),
        ({"output_tokens": 2}, "known name: output_tokens."),
        ({}, "known name: it is empty."),
        (b"nothing", "is no object that can be read."),
    ],
)
def test_a_usage_without_a_known_input_is_told_by_its_names(
    usage: object, said: str
) -> None:
    meter, events = told(usage)
    (note,) = meter.reading().notes
    assert said in note
    again = Meter()
    for event in events:
        again.apply(event)
    assert again.reading().notes == (note,)
    meter.after(meter.before(BODY).call, {"input_tokens": 600, "output_tokens": 1})
    assert not meter.reading().notes
