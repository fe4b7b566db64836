"""Values of any depth wherever foreign JSON enters: an error of our own or a value, and never a RecursionError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.codec import foreign
from ullage.codec.repair_parts import sound_arguments
from ullage.encoding import decode_event
from ullage.errors import UllageError
from ullage.meter.meter import Meter
from ullage.tokens.schemas import read_schema
from ullage_agent.tools.outputs import as_output
from ullage_agent.tools.running import parse_arguments
from ullage_agent.tools.tool import ToolError

OPENINGS = {"[": "]", '{"a":': "}", '[0,{"b":': "}]"}


def text(levels: int, opening: str) -> str:
    return '{"x":' + opening * levels + "0" + OPENINGS[opening] * levels + "}"


def value(levels: int) -> Any:
    made: Any = 0
    for _ in range(levels):
        made = [made]
    return {"x": made}


ENTRANCES: dict[str, Callable[[str], object]] = {
    "a provider's JSON": lambda given: foreign.parse(given.encode()),
    "its fields": lambda given: foreign.fields_of(given.encode()),
    "its items": lambda given: foreign.items_of(given.encode()),
    "arguments": parse_arguments,
    "arguments sent back": sound_arguments,
    "a row of the ledger": lambda given: decode_event(
        '{"type":"params_changed","params":' + given + "}"
    ),
    "a schema": read_schema,
}


@pytest.mark.parametrize("entrance", ENTRANCES.values(), ids=ENTRANCES.keys())
@given(
    st.one_of(st.integers(0, 1_200), st.sampled_from([5_000, 200_000, 1_000_000])),
    st.sampled_from([*OPENINGS]),
)
@settings(max_examples=25, deadline=None)
def test_text_of_any_depth_gives_an_error_of_ours_or_a_value(
    entrance: Callable[[str], object], levels: int, opening: str
) -> None:
    try:
        entrance(text(levels, opening))
    except (UllageError, ToolError):
        return


@given(st.one_of(st.integers(0, 1_200), st.sampled_from([5_000, 200_000])))
@settings(max_examples=25, deadline=None)
def test_values_of_any_depth_give_an_error_of_ours_or_a_value(levels: int) -> None:
    deep = value(levels)
    foreign.as_plain(deep)
    foreign.to_raw(deep)
    meter = Meter("claude-sonnet-4-5")
    content = [{"type": "tool_use", "id": "a", "name": "b", "input": deep}]
    body = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": content}],
        "metadata": deep,
    }
    for _ in range(2):
        reading = meter.before(body)
        meter.after(reading.call, {"input_tokens": 5, "more": deep}, content)
    try:
        as_output(deep)
    except ToolError as refused:
        assert "nested deeper than 100 levels" in str(refused)
