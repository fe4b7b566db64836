"""The tools of the meter's next request: those that are declared, less those that only a search can load."""

import msgspec
import pytest

from tests.meter.test_bound_reasoning import MODEL, begun, metered, turn
from ullage import Meter
from ullage.codec.tool_references import reference_to
from ullage.events import (
    Event,
    MessageAdded,
    ModelChanged,
    ReasoningRefused,
    SessionStarted,
    ToolsChanged,
)
from ullage.messages import Message, TextPart, Tool, ToolResultPart

NOW = Tool(name="now")
LATER = Tool(name="later", deferred=True)
SEARCH = Tool(name="search", kind="tool_search_tool_regex_20251119")


def meter_of(*tools: Tool) -> Meter:
    meter = Meter()
    meter.apply(SessionStarted(model="m", wire="messages", provider="anthropic"))
    meter.apply(ToolsChanged(tools=tools))
    return meter


def test_a_deferred_tool_is_left_out() -> None:
    assert meter_of(NOW, LATER).request().tools == (NOW,)


def test_a_deferred_tool_is_sent_where_the_provider_itself_can_load_it() -> None:
    assert meter_of(NOW, LATER, SEARCH).request().tools == (NOW, LATER, SEARCH)


def test_a_tool_is_sent_once_it_is_no_longer_deferred() -> None:
    meter = meter_of(NOW, LATER)
    assert meter.request().tools is meter.request().tools
    found = Tool(name="later")
    meter.apply(ToolsChanged(tools=(NOW, found)))
    assert meter.request().tools == (NOW, found)


WORDS = "The cask's number as the cooper spells it; never a guess. " * 20
CASK = Tool(name="cask", description=WORDS, deferred=True)
BARREL = Tool(name="barrel", description=WORDS, deferred=True)
TOOLS = (Tool(name="tool_search"), CASK, BARREL)


def test_a_deferred_tool_is_sent_to_a_model_that_binds_reasoning() -> None:
    meter = meter_of(NOW, LATER)
    meter.apply(ModelChanged(model=MODEL))
    assert meter.request().tools == (NOW, LATER)
    meter.apply(ModelChanged(model="claude-opus-5"))
    assert meter.request().tools == (NOW,)
    meter.apply(ReasoningRefused(call="c", model="claude-opus-5"))
    assert meter.request().tools == (NOW, LATER)


def search_result(*names: str) -> MessageAdded:
    """A result that refers to these tools."""
    references = [
        reference_to(name, id=name, wire="messages", provider="anthropic", model=MODEL)
        for name in names
    ]
    text = TextPart(id="rt", text="One tool. " * 30)
    part = ToolResultPart(
        id="r", call_id="a1-0", name="tool_search", content=(*references, text)
    )
    return MessageAdded(message=Message(id="found", role="tool", parts=(part,)))


def bound_session(*events: Event) -> Meter:
    return metered([*begun(), ToolsChanged(tools=TOOLS), *turn(1), *events])


def test_a_reference_costs_the_declaration_that_it_brings_into_the_window() -> None:
    before = bound_session().reading().used.tokens
    declared = bound_session()._fold.forecaster.tool(CASK)
    assert declared > 200
    one = bound_session(search_result("cask")).reading().used.tokens - before
    two = bound_session(search_result("cask", "barrel")).reading().used.tokens - before
    assert two - one == pytest.approx(declared, rel=0.2)
    assert declared <= one <= declared + 50
    gone = bound_session(search_result("gone")).reading().used.tokens - before
    assert gone < declared, "its text is sent where nothing is declared by this name"


def test_a_deferred_tool_is_part_of_the_prefix_from_its_first_reference_on() -> None:
    session = [search_result("cask"), *turn(2)]
    meter = bound_session(*session)
    assert meter.policy.unbound == frozenset()
    changed = msgspec.structs.replace(CASK, description="Other.")
    meter.apply(ToolsChanged(tools=(TOOLS[0], changed, BARREL)))
    assert meter.policy.unbound == {"a2"}
    meter.apply(ToolsChanged(tools=(TOOLS[0], CASK)))
    assert meter.policy.unbound == frozenset(), "none refers to the other one"
    meter.apply(ToolsChanged(tools=(TOOLS[0], BARREL)))
    assert meter.policy.unbound == {"a2"}


def test_a_body_whose_results_refer_to_tools_is_counted_with_them() -> None:
    search = {"type": "tool_use", "id": "t1", "name": "tool_search", "input": {}}
    reference = {"type": "tool_reference", "tool_name": "cask"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [reference]}
    tool = {"name": "cask", "description": WORDS, "input_schema": {"type": "object"}}
    read: list[int] = []
    for tools in ([], [{**tool, "defer_loading": True}]):
        meter = Meter()
        body = {
            "model": MODEL,
            "max_tokens": 100,
            "tools": [{"name": "tool_search", "input_schema": {"type": "object"}}, *tools],
            "messages": [
                {"role": "user", "content": "How full?"},
                {"role": "assistant", "content": [search]},
                {"role": "user", "content": [result]},
            ],
        }  # fmt: skip
        read.append(meter.before(body).used.tokens)
    assert read[1] - read[0] > 200
