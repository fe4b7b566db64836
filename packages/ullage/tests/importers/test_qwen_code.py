import json

from tests.importers.folding import FIXTURES, Folded
from ullage.events import CompactionCommitted, Event
from ullage.importers import ImportedSession, read
from ullage_programs.qwen_code.log import QwenCodeReader

LOG = FIXTURES / "qwen_code" / "session.jsonl"


def session() -> ImportedSession:
    return read(LOG)


def compacted_by_itself() -> Folded:
    return Folded(events_of_compaction())


def events_of_compaction() -> list[Event]:
    """A compaction between a result and the request that sends it, as the program does it on its own."""
    call = {"functionCall": {"id": "call_9", "name": "read_file", "args": {}}}
    result = {
        "functionResponse": {
            "id": "call_9",
            "name": "read_file",
            "response": {"output": "milk 2"},
        }
    }
    report = {"event.name": "qwen-code.api_response", "prompt_id": "s########3"}
    history = [
        {"role": "user", "parts": [{"text": "<summary>Bread is 3.</summary>"}]},
        {"role": "model", "parts": [call]},
    ]
    compression: dict[str, object] = {
        "compressedHistory": history,
        "info": {"triggerReason": "token_limit"},
    }
    asked = {"role": "model", "parts": [call]}
    given = {"role": "user", "parts": [result]}
    end = {"role": "model", "parts": [{"text": "2."}]}
    lines = LOG.read_bytes().splitlines()[:9]
    for more in (
        {"type": "assistant", "message": asked},
        {"type": "tool_result", "message": given},
        reported(report | {"input_token_count": 9200}),
        reported(report | {"input_token_count": 8000}),
        system("chat_compression", compression),
        reported(report | {"input_token_count": 7000}),
        {
            "type": "assistant",
            "message": end,
            "usageMetadata": {"promptTokenCount": 7000},
        },
    ):
        lines.append(json.dumps(more | {"uuid": f"x{len(lines)}"}).encode())
    reader = QwenCodeReader()
    return [*reader.feed(lines), *reader.settle()]


def system(subtype: str, payload: dict[str, object]) -> dict[str, object]:
    return {"type": "system", "subtype": subtype, "systemPayload": payload}


def reported(event: dict[str, object]) -> dict[str, object]:
    return system("ui_telemetry", {"uiEvent": event})


def test_requests_between_a_result_and_a_compaction_were_for_its_summary() -> None:
    calls = compacted_by_itself().calls[-3:]
    seen = [(call.purpose, call.usage and call.usage.input) for call in calls]
    assert seen == [("summary", 9200), ("summary", 8000), ("main", 7000)]


def test_a_result_that_waits_for_its_request_stays_behind_a_compaction() -> None:
    assert compacted_by_itself().said() == [
        "user: <summary>Bread is 3.</summary>",
        "assistant: <ToolCallPart>",
        "tool: [read_file] milk 2",
        "assistant: 2.",
    ]


def test_what_leaves_with_a_compaction_behind_a_result_may_come_back() -> None:
    by_itself = events_of_compaction()
    told = [
        [each.puts_back for each in events if isinstance(each, CompactionCommitted)]
        for events in (by_itself, session().events)
    ]
    assert told == [[True], [False]]


def test_many_requests_without_an_answer_are_each_spend() -> None:
    event = {"event.name": "qwen-code.api_response", "prompt_id": "s########3"}
    line = json.dumps(reported(event | {"input_token_count": 5})).encode()
    reader = QwenCodeReader()
    calls = Folded([*reader.feed([line] * 100), *reader.settle()]).calls
    assert [call.purpose for call in calls] == ["other"] * 100


def test_a_record_that_follows_an_older_one_leaves_what_came_between() -> None:
    lines = LOG.read_bytes().splitlines()[:9]
    later = json.loads(lines[0]) | {"uuid": "x", "parentUuid": "q1"}
    reader = QwenCodeReader()
    fed = [*lines, json.dumps(later).encode()]
    folded = Folded([*reader.feed(fed), *reader.settle()])
    assert folded.said() == ["user: read the price list", "user: read the price list"]


def test_unknown_records_are_counted_and_fields_of_other_types_are_passed_over() -> None:
    reader = QwenCodeReader()
    reader.feed(
        [
            b'{"uuid":"a","sessionId":7,"type":"hologram"}',
            b'{"uuid":"b","type":"user","message":{"parts":7}}',
            b'{"uuid":"c","type":"system","subtype":"ui_telemetry","systemPayload":[]}',
            b'{"uuid":"d","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":7}}',
        ]
    )
    assert dict(reader.skips.reasons) == {
        "unknown kind of record: hologram": 1,
        "message without content": 1,
    }
