import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.importers.folding import FIXTURES, Folded
from ullage.events import CompactionCommitted, Event, SizeStated
from ullage.importers import ImportedSession, find_sessions, read
from ullage.meter.meter import Meter
from ullage_programs.copilot_cli.log import CopilotCliReader

LOG = FIXTURES / "copilot_cli" / "events.jsonl"


def session() -> ImportedSession:
    return read(LOG)


def up_to(line: int) -> list[str]:
    reader = CopilotCliReader()
    lines = LOG.read_bytes().splitlines()[:line]
    return Folded([*reader.feed(lines), *reader.settle()]).said()


def test_a_call_whose_answer_was_not_logged_is_spend() -> None:
    reader = CopilotCliReader()
    lines = LOG.read_bytes().splitlines()[:5]
    calls = Folded([*reader.feed(lines), *reader.settle()]).calls
    assert [call.purpose for call in calls] == ["other"]


def compacted_beside(outcome: dict[str, object]) -> list[Event]:
    """A tool runs while a summary is written, and the user asks for more."""
    events: list[dict[str, object]] = [
        {"type": "session.compaction_start", "data": {"currentTokens": 32_042}},
        {"type": "user.message", "data": {"messageId": "u9", "content": "and milk"}},
        {
            "type": "assistant.message",
            "data": {
                "messageId": "a9",
                "toolRequests": [{"toolCallId": "t9", "name": "view", "arguments": {}}],
            },
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "t9", "success": True, "result": {"content": "milk"}},
        },
        {"type": "session.compaction_complete", "data": outcome},
    ]
    lines = LOG.read_bytes().splitlines()[:14]
    lines += [json.dumps(event).encode() for event in events]
    reader = CopilotCliReader()
    return [*reader.feed(lines), *reader.settle()]


APPLIED: dict[str, object] = {
    "success": True,
    "trigger": "threshold",
    "summaryContent": "Bread is 3.",
    "preCompactionTokens": 42_066,
}


def test_messages_that_came_while_a_summary_was_written_stay_behind_it() -> None:
    said = Folded(compacted_beside(APPLIED)).said()
    assert said[1:] == [
        "user: and milk",
        "assistant: <ToolCallPart>",
        "tool: [view] milk",
    ]
    assert "read the price list" in said[0]
    assert "and milk" not in said[0]


def test_the_size_at_which_the_program_began_to_compact_is_seen() -> None:
    events = compacted_beside(APPLIED)
    found = [event for event in events if isinstance(event, CompactionCommitted)]
    assert [(event.before, event.is_automatic) for event in found] == [(32_042, True)]


def test_a_compaction_that_was_cancelled_keeps_all_messages() -> None:
    cancelled = {"success": False, "outcome": "cancelled"}
    said = Folded(compacted_beside(cancelled)).said()
    assert said == [
        *up_to(14),
        "user: and milk",
        "assistant: <ToolCallPart>",
        "tool: [view] milk",
    ]


def test_a_compaction_that_failed_changes_nothing() -> None:
    reader = CopilotCliReader()
    failed = b'{"type":"session.compaction_complete","data":{"success":false,"summaryContent":"x"}}'
    lines = [*LOG.read_bytes().splitlines()[:14], failed]
    said = Folded([*reader.feed(lines), *reader.settle()]).said()
    assert said == up_to(14)


def test_events_of_other_types_and_fields_are_counted_or_passed_over() -> None:
    reader = CopilotCliReader()
    reader.feed(
        [
            b'{"type":"hologram","data":{}}',
            b'{"data":7}',
            b'{"type":"user.message","data":{"content":7}}',
            b'{"type":"session.usage_record","data":{"usage":[]}}',
            b'{"type":"session.snapshot_rewind","data":{"upToEventId":7}}',
        ]
    )
    assert dict(reader.skips.reasons) == {
        "unknown kind of event: hologram": 1,
        "no `type`": 1,
        "message without content": 1,
    }


def test_a_session_is_found_and_named_after_its_directory(tmp_path: Path) -> None:
    log = tmp_path / ".copilot" / "session-state" / "one-two-three" / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(LOG.read_bytes())
    found = find_sessions({}, tmp_path).newest
    assert found is not None
    assert (found.format, found.id) == ("copilot-cli", "one-two-three")


def left(metrics: Mapping[str, object], *, began: int = 1) -> bytes:
    data = {
        "sessionStartTime": began,
        "currentModel": "gpt-5.2",
        "currentTokens": 12_000,
        "modelMetrics": metrics,
    }
    return json.dumps({"type": "session.shutdown", "data": data}).encode()


def totals(used: int, output: int) -> dict[str, object]:
    return {"usage": {"inputTokens": used, "outputTokens": output}}


def without_usages(*lines: bytes) -> list[Event]:
    """A session of a version that logs no usage of its calls, and then these lines."""
    events = [
        {
            "type": "session.start",
            "data": {"sessionId": "s", "copilotVersion": "1.0.64"},
        },
        {"type": "user.message", "data": {"messageId": "u", "content": "hello"}},
        {
            "type": "assistant.message",
            "data": {"messageId": "a", "content": "hello", "outputTokens": 40},
        },
    ]
    reader = CopilotCliReader()
    source = [json.dumps(event).encode() for event in events]
    return [*reader.feed([*source, *lines]), *reader.settle()]


def test_without_a_bill_the_window_holds_what_copilot_says_when_it_ends() -> None:
    meter = Meter()
    for event in without_usages(left({"gpt-5.2": totals(11_500, 40)})):
        meter.apply(event)
    reading = meter.reading()
    assert reading.model == "gpt-5.2"
    assert (reading.used.low, reading.used.tokens, reading.used.high) == pytest.approx(
        (10_800, 12_000, 13_200), abs=20
    )
    assert reading.basis.label == "as Copilot CLI says"
    assert "Not in the log" in [row.name for row in reading.rows]


def test_what_copilot_says_is_left_out_where_calls_were_reported() -> None:
    usage = {"model": "gpt-5.2", "interactionType": "conversation-agent"}
    record = {
        "type": "session.usage_record",
        "data": {"usage": {**usage, "inputTokens": 11_500, "outputTokens": 40}},
    }
    events = without_usages(json.dumps(record).encode(), left({}))
    assert not [event for event in events if isinstance(event, SizeStated)]


def test_the_tokens_of_each_model_are_spend_without_those_that_calls_reported() -> None:
    spent = Folded(
        without_usages(
            left({"gpt-5.2": totals(11_500, 40), "gpt-5-mini": totals(300, 9)})
        )
    ).calls
    sums = [(call.purpose, call.model, call.usage) for call in spent]
    assert [(purpose, model) for purpose, model, _ in sums] == [
        ("main", ""),
        ("other", "gpt-5.2"),
        ("other", "gpt-5-mini"),
    ]
    counts = [(usage.input, usage.output) for _, _, usage in sums if usage is not None]
    assert counts == [(None, 40), (11_500, 0), (300, 9)]


def test_totals_that_go_on_are_compared_with_the_last_and_new_ones_are_not() -> None:
    first, more = {"m": totals(1_000, 40)}, {"m": totals(1_500, 40)}
    for began, inputs in ((1, [1_000, 500]), (2, [1_000, 1_500])):
        spent = Folded(without_usages(left(first), left(more, began=began))).calls
        counted = [call.usage.input for call in spent if call.usage is not None]
        assert counted[1:] == inputs


def test_the_totals_hold_the_calls_that_the_log_has() -> None:
    lines = LOG.read_bytes().splitlines()
    reader = CopilotCliReader()
    before = Folded([*reader.feed(lines), *reader.settle()]).calls
    metrics: dict[str, object] = {}
    for model in {call.model for call in before}:
        usages = [each.usage for each in before if each.model == model and each.usage]
        metrics[model] = totals(
            sum(usage.input or 0 for usage in usages),
            sum(usage.output or 0 for usage in usages),
        )
    reader = CopilotCliReader()
    after = Folded([*reader.feed([*lines, left(metrics)]), *reader.settle()]).calls
    assert len(after) == len(before)
