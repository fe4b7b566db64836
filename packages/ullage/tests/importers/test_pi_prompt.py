from tests.importers.folding import FIXTURES, text_of
from ullage.events import MessageReplaced
from ullage.importers import read
from ullage.importers.fields import JsonObject
from ullage.meter.meter import Meter
from ullage_programs.pi.log import PiReader
from ullage_programs.pi.log_prompt import PiPrompt

LOG = FIXTURES / "pi" / "prompt.jsonl"


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
