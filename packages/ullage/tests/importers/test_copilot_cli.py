import json
from pathlib import Path

from tests.importers.folding import FIXTURES, Folded
from ullage.events import CompactionCommitted, Event
from ullage.importers import ImportedSession, find_sessions, read
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
