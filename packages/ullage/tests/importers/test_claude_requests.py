"""Requests that Claude Code logs are read word for word."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.importers.folding import Folded
from tests.importers.request_log import (
    REMINDER,
    SYSTEM,
    Line,
    RequestLog,
    declared,
    digest,
    opened,
    text_block,
)
from ullage.errors import UnreadableInput
from ullage.events import (
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Rewound,
    SystemChanged,
    ToolsChanged,
    Uncompacted,
)
from ullage.importers.growing import GrowingLog
from ullage.messages import TextPart
from ullage_programs.claude_code.log import ClaudeCodeReader

CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "rack.txt"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "12 bottles"}
SUMMARY = "This session is being continued. There are 12 bottles."


def read_log(log: RequestLog) -> tuple[ClaudeCodeReader, list[Event]]:
    reader = ClaudeCodeReader()
    events = [*reader.feed(log.bytes()), *reader.settle()]
    return reader, events


def with_result() -> RequestLog:
    """A call of a tool, and the request that sends its result: the lines hold it, so that it has no blob."""
    log = opened()
    answer = log.answer([CALL])
    log.user([RESULT])
    log.ask(answer, digest({"role": "user", "content": [RESULT]}))
    return log


def test_a_call_is_estimated_with_system_prompt_tools_and_reminders_of_its_request() -> (
    None
):
    log = opened()
    log.answer(text_block("12"))
    reader, events = read_log(log)
    called = next(at for at, each in enumerate(events) if isinstance(each, CallStarted))
    before = events[:called]
    system = next(each for each in before if isinstance(each, SystemChanged)).system
    assert "".join(block.text for block in system) == SYSTEM
    assert [block.name for block in system] == ["", "Style", "Safety"]
    tools = next(each for each in before if isinstance(each, ToolsChanged)).tools
    assert [(tool.name, tool.deferred) for tool in tools] == [
        ("Read", False),
        ("Monitor", True),
    ]
    assert Folded(events).said() == [
        f"user: {REMINDER}",
        "user: Count the bottles.",
        "assistant: 12",
    ]
    assert not any(isinstance(each, Rewound) for each in events)
    assert not reader.skips.reasons


def test_a_reminder_has_the_name_that_the_program_gives_it() -> None:
    log = opened()
    log.answer(text_block("12"))
    folded = Folded(read_log(log)[1])
    part = folded.messages[folded.view[0]].parts[0]
    assert isinstance(part, TextPart)
    assert part.name == "weather"


def test_reminders_in_one_text_without_tags_are_told_apart() -> None:
    log = RequestLog()
    log.user("Hello.")
    log.attachment("weather", REMINDER)
    other = "<system-reminder>\nIt is noon.\n</system-reminder>"
    log.attachment("date", other)
    log.shape()
    inner = "The cellar is at 12 degrees.\n\nIt is noon."
    note = log.blob({"role": "system", "content": inner})
    log.ask(log.blob({"role": "user", "content": "Hello."}), note)
    log.answer(text_block("Good day."))
    folded = Folded(read_log(log)[1])
    named = [
        (part.name, part.text)
        for part in folded.messages[folded.view[1]].of_type(TextPart)
    ]
    assert ("weather", "The cellar is at 12 degrees.") in named
    assert ("date", "It is noon.") in named


def test_a_message_without_a_blob_is_made_of_the_lines_before_the_request() -> None:
    log = with_result()
    log.answer(text_block("There are 12."))
    reader, events = read_log(log)
    assert Folded(events).said()[-2:] == [
        "tool: [Read] 12 bottles",
        "assistant: There are 12.",
    ]
    assert not reader.skips.reasons


def test_lines_that_no_request_has_sent_yet_are_part_of_the_reading() -> None:
    log = with_result()
    log.answer(text_block("There are 12."))
    log.user("And in the attic?")
    log.attachment("weather", REMINDER)
    assert Folded(read_log(log)[1]).said()[-2:] == [
        "user: And in the attic?",
        f"user: {REMINDER}",
    ]


def test_a_request_without_an_answer_changes_nothing() -> None:
    log = with_result()
    log.answer(text_block("There are 12."))
    said = Folded(read_log(log)[1]).said()
    log.ask(log.blob({"role": "user", "content": "Write a title for this."}), keep=0)
    assert Folded(read_log(log)[1]).said() == said


def test_a_resumed_session_lists_all_messages_again_and_nothing_is_rewound() -> None:
    log = with_result()
    answer = log.answer(text_block("There are 12."))
    log.user("And now?")
    listed = [*log.sent, answer, digest({"role": "user", "content": "And now?"})]
    log.ask(*listed, keep=0)
    log.answer(text_block("Still 12."))
    events = read_log(log)[1]
    assert Folded(events).said()[-2:] == ["user: And now?", "assistant: Still 12."]
    assert not any(isinstance(each, Rewound) for each in events)


def test_a_rewound_prompt_leaves_the_view_with_what_followed_it() -> None:
    log = with_result()
    log.answer(text_block("There are 12."))
    log.ask(log.blob({"role": "user", "content": "Count the barrels."}), keep=0)
    log.answer(text_block("None."))
    assert Folded(read_log(log)[1]).said() == [
        "user: Count the barrels.",
        "assistant: None.",
    ]


def test_answers_that_lose_their_reasoning_at_a_change_of_model_are_replaced_in_place() -> (
    None
):
    log = opened()
    thinking = {"type": "thinking", "thinking": "Twelve.", "signature": "c2ln"}
    log.answer([thinking, *text_block("12")])
    log.user("Sure?")
    bare = log.blob({"role": "assistant", "content": text_block("12")})
    log.ask(log.sent[0], bare, log.blob({"role": "user", "content": "Sure?"}), keep=0)
    log.answer(text_block("Yes."), model="claude-sonnet-4-6")
    events = read_log(log)[1]
    assert [type(each) for each in events if isinstance(each, MessageReplaced)]
    assert not any(isinstance(each, Rewound) for each in events)
    assert any(isinstance(each, ModelChanged) for each in events)
    assert Folded(events).said()[-3:] == [
        "assistant: 12",
        "user: Sure?",
        "assistant: Yes.",
    ]


def test_a_deferred_tool_counts_once_a_search_has_loaded_it() -> None:
    log = opened()
    search = {"type": "tool_use", "id": "t2", "name": "ToolSearch", "input": {}}
    answer = log.answer([search])
    found = [{"type": "tool_reference", "tool_name": "Monitor"}]
    result = {"type": "tool_result", "tool_use_id": "t2", "content": found}
    log.user([result])
    log.ask(answer, digest({"role": "user", "content": [result]}))
    log.answer(text_block("Found."))
    changes = [each for each in read_log(log)[1] if isinstance(each, ToolsChanged)]
    assert [tool.deferred for tool in changes[-1].tools] == [False, False]


def compacted(summary: list[dict[str, object]] | str) -> RequestLog:
    """A compaction, whose next request begins with ``summary`` and repeats a reminder."""
    log = with_result()
    log.answer(text_block("There are 12."))
    metadata = {"trigger": "manual", "preTokens": 700}
    log.line("system", subtype="compact_boundary", compactMetadata=metadata)
    log.user(SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    log.attachment("weather", REMINDER)
    log.user("Go on.")
    content = [*text_block(REMINDER), *text_block("Go on.")]
    first = log.blob({"role": "user", "content": summary})
    log.ask(first, log.blob({"role": "user", "content": content}), keep=0)
    log.answer(text_block("Gladly."))
    return log


def test_after_a_compaction_a_reminder_is_counted_once() -> None:
    events = read_log(compacted(SUMMARY))[1]
    assert Folded(events).said() == [
        f"user: {SUMMARY}",
        f"user: {REMINDER}",
        "user: Go on.",
        "assistant: Gladly.",
    ]
    assert [each.before for each in events if isinstance(each, CompactionCommitted)] == [
        700
    ]


def test_reminders_beside_a_summary_do_not_undo_the_compaction() -> None:
    log = compacted([*text_block(REMINDER), *text_block(SUMMARY)])
    events = read_log(log)[1]
    assert Folded(events).said()[0] == f"user: {REMINDER} {SUMMARY}"
    assert not any(isinstance(each, Uncompacted) for each in events)


def test_a_missing_message_is_counted_and_the_lines_are_read_instead() -> None:
    log = with_result()
    answer = log.answer(text_block("There are 12."))
    log.user("And now?")
    log.ask(answer, "0" * 64, "1" * 64)
    log.answer(text_block("Still 12."))
    reader, events = read_log(log)
    assert Folded(events).said()[-2:] == ["user: And now?", "assistant: Still 12."]
    assert dict(reader.skips.reasons) == {
        "api-request whose messages are not all in the log": 1
    }


def test_a_session_that_an_older_version_began_goes_over_to_its_requests() -> None:
    log = RequestLog()
    log.user("Hello.")
    log.answer(text_block("Good day."))
    old = len(log.lines)
    log.lines[old - 1].pop("requestRef")
    log.user("Count the bottles.")
    log.shape(declared("Read"))
    answer = digest({"role": "assistant", "content": text_block("Good day.")})
    log.ask(
        log.blob({"role": "user", "content": "Hello."}),
        log.blob({"role": "assistant", "content": text_block("Good day.")}),
        log.blob({"role": "user", "content": "Count the bottles."}),
    )
    assert answer in log.sent
    log.answer(text_block("12"))
    assert Folded(read_log(log)[1]).said() == [
        "user: Hello.",
        "assistant: Good day.",
        "user: Count the bottles.",
        "assistant: 12",
    ]


def test_wrong_types_in_any_field_of_a_request_are_skipped_and_counted() -> None:
    wrong: list[object] = [None, 7, "x", [], {}, [[1]], {"a": [None]}, -1, 1e300, True]
    kinds = {"api-request", "api-request-shape", "api-request-blob"}
    dice = random.Random(3)
    for _ in range(400):
        log = compacted(SUMMARY)
        line = dice.choice([each for each in log.lines if each["type"] in kinds])
        field = dice.choice([name for name in line if name != "type"])
        line[field] = dice.choice(wrong)
        Folded(read_log(log)[1])


def test_a_lost_line_costs_no_answer() -> None:
    whole = compacted(SUMMARY)
    for place in range(len(whole.lines)):
        log = compacted(SUMMARY)
        lost = log.lines.pop(place)
        calls = Folded(read_log(log)[1]).main
        expected = 3 - (lost["type"] == "assistant")
        assert len(calls) == expected


def test_a_growing_log_reads_as_the_whole_one_at_each_line(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.touch()
    log = compacted(SUMMARY)
    growing = GrowingLog(path)
    certain: list[Event] = []
    for count, line in enumerate(log.lines, start=1):
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        grown = growing.look()
        assert grown is not None
        certain = [*([] if grown.is_whole else certain), *grown.certain]
        whole = ClaudeCodeReader()
        lines = [json.dumps(each).encode() for each in log.lines[:count]]
        together = [*whole.feed(lines), *whole.settle()]
        assert [*certain, *grown.held] == together


def refused(lines: list[Line]) -> None:
    reader = ClaudeCodeReader()
    with pytest.raises(UnreadableInput, match="too often"):
        reader.feed(json.dumps(line).encode() for line in lines)


def one_blob(content: object) -> tuple[RequestLog, str]:
    log = RequestLog()
    log.user("Count the bottles.")
    log.shape()
    return log, log.blob({"role": "user", "content": content})


def test_a_message_that_a_request_repeats_without_end_ends_the_reading() -> None:
    log, name = one_blob(text_block("a") * 300)
    log.ask(*[name] * 10_000)
    log.answer(text_block("12"))
    refused(log.lines)


@pytest.mark.sweep  # takes seconds
def test_requests_that_keep_very_many_messages_end_the_reading() -> None:
    log, name = one_blob("a")
    log.ask(*[name] * 100_000)
    for _ in range(2_001):
        entry = {"type": "api-request", "base": log.request, "keep": 100_000}
        log.request = f"request-{len(log.lines)}"
        log.lines.append({**entry, "id": log.request})
    refused(log.lines)


def test_copies_of_copies_have_names_that_do_not_grow() -> None:
    log, first = one_blob("a")
    second = log.blob({"role": "user", "content": "b"})
    for _ in range(50):
        log.ask(second, first, keep=0)
        log.answer(text_block("12"))
        log.ask(first, second, keep=0)
        log.answer(text_block("12"))
    _, events = read_log(log)
    names = [each.message.id for each in events if isinstance(each, MessageAdded)]
    assert len(names) > 200
    assert max(len(name) for name in names) < 20


def test_very_many_reminders_in_very_long_texts_end_the_reading() -> None:
    log, name = one_blob(
        [{"type": "text", "text": f"<system-reminder>{'a' * 1_000_000}"}] * 9
    )
    for number in range(1_000):
        log.attachment("weather", f"The cellar is at {number} degrees.")
    log.ask(name)
    log.answer(text_block("12"))
    refused(log.lines)


def test_a_log_that_begins_with_a_compaction_is_read_from_its_first_request() -> None:
    log = RequestLog()
    log.line("system", subtype="compact_boundary", compactMetadata={"preTokens": 700})
    log.user(SUMMARY, isCompactSummary=True)
    log.shape()
    log.ask(log.blob({"role": "user", "content": SUMMARY}))
    log.answer(text_block("12"))
    reader, events = read_log(log)
    assert Folded(events).said() == [f"user: {SUMMARY}", "assistant: 12"]
    assert not reader.skips.reasons


def test_a_log_that_begins_with_a_compaction_knows_the_summary_without_a_blob() -> None:
    log = RequestLog()
    log.line("system", subtype="compact_boundary", compactMetadata={"preTokens": 700})
    log.user(SUMMARY, isCompactSummary=True)
    log.shape()
    log.ask(digest({"role": "user", "content": SUMMARY}))
    log.answer(text_block("12"))
    _, events = read_log(log)
    assert Folded(events).said() == [f"user: {SUMMARY}", "assistant: 12"]
