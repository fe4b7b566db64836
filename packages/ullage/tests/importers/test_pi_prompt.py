import json

from tests.importers.folding import FIXTURES, Folded, text_of
from ullage.events import Event, MessageReplaced, SystemChanged, ToolsChanged
from ullage.importers import read
from ullage.importers.fields import JsonObject
from ullage.meter.meter import Meter
from ullage_programs.pi.log import PiReader
from ullage_programs.pi.log_prompt import PiPrompt

LOG = FIXTURES / "pi" / "prompt.jsonl"


def prompts(events: tuple[Event, ...]) -> list[str]:
    return [
        "".join(block.text for block in event.system)
        for event in events
        if isinstance(event, SystemChanged)
    ]


def tool_names(events: tuple[Event, ...]) -> list[list[str]]:
    return [
        [tool.name for tool in event.tools]
        for event in events
        if isinstance(event, ToolsChanged)
    ]


def up_to(entry: str) -> Folded:
    """The session up to the line with this id."""
    lines = LOG.read_bytes().splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    reader = PiReader()
    return Folded([*reader.feed(lines[: ids.index(entry) + 1]), *reader.settle()])


def test_the_prompt_is_its_sections_as_they_are_sent() -> None:
    first = prompts(read(LOG).events)[0]
    assert first == "You are a shop assistant.\n\nBe short.\n\n/home/ann/shop"


def test_a_later_system_message_changes_sections_and_tools_by_name() -> None:
    events = read(LOG).events
    assert prompts(events)[1] == (
        "You are a shop assistant.\n\n/home/ann/shop\n\nYou know bread."
    )
    assert tool_names(events)[:2] == [["read", "write"], ["read", "bake"]]


def test_a_compaction_brings_the_whole_prompt_anew() -> None:
    events = read(LOG).events
    assert prompts(events)[2] == "You sell bread."
    assert tool_names(events)[2] == ["bake"]


def test_an_earlier_branch_has_the_prompt_of_its_time() -> None:
    events = read(LOG).events
    assert prompts(events)[3] == prompts(events)[0]
    assert tool_names(events)[3] == tool_names(events)[0]


def test_a_message_that_replaces_begins_the_prompt_anew() -> None:
    prompt = PiPrompt().changed({"content": "one", "sections": {"a": "b"}})
    again = prompt.changed({"content": "two", "replace": True})
    assert [block.text for block in again.blocks()] == ["two"]


def test_nothing_but_text_makes_a_section_or_a_tool() -> None:
    odd: JsonObject = {
        "content": [{"type": "text", "text": "one"}, 7, {"text": 8}],
        "sections": {"a": 7, "b": [], "c": "see"},
        "toolsAdded": [7, {"name": 8}],
        "toolsRemoved": {"name": "x"},
    }
    prompt = PiPrompt().changed(odd)
    assert [block.text for block in prompt.blocks()] == ["one\n", "\n\nsee"]


def test_the_first_call_of_a_log_with_its_prompt_is_no_lower_bound() -> None:
    meter = Meter()
    for event in read(LOG).events:
        meter.apply(event)
    assert not any("lower bound" in note for note in meter.reading().notes)
    names = [row.name for row in meter.reading().rows]
    assert names[:2] == ["System prompt", "Tools (2)"]
    assert "Not in the log" not in names


def test_edits_hold_for_the_requests_behind_them() -> None:
    session = up_to("m4")
    assert session.said() == [
        "user: ",
        "assistant: <ToolCallPart>",
        "tool: [read] bread 3",
        "assistant: Bread is 3.",
    ]


def test_going_back_before_an_edit_shows_the_message_as_it_was() -> None:
    said = Folded(read(LOG).events).said()
    assert said[0] == "user: read the price list"
    assert said[2] == "tool: [read] bread 3, milk 2, eggs 4"


def test_an_edit_of_a_message_that_the_log_lacks_is_counted_as_skipped() -> None:
    reader = PiReader()
    reader.feed([b'{"type":"context_edit","id":"e","targetId":"gone"}'])
    assert reader.skips.reasons["an edit of a message that is not in the log"] == 1


def test_an_edit_of_a_message_that_left_the_context_does_not_bring_it_back() -> None:
    lines = LOG.read_bytes().splitlines()
    late = b'{"type":"context_edit","id":"x","parentId":"m5","targetId":"m1","replacement":"late"}'
    reader = PiReader()
    events = [*reader.feed([*lines[:12], late]), *reader.settle()]
    replaced = [each.message for each in events if isinstance(each, MessageReplaced)]
    assert "late" not in [text_of(message) for message in replaced]


def test_calls_beside_the_conversation_are_spend() -> None:
    calls = Folded(read(LOG).events).calls
    beside = [
        (call.purpose, call.usage.input)
        for call in calls
        if call.usage and call.purpose != "main"
    ]
    assert beside == [("other", 240), ("summary", 90), ("summary", 70)]
