import json

from tests.importers.folding import FIXTURES, Folded
from ullage.events import CompactionCommitted, LimitLearnt, SessionStarted
from ullage.importers import ImportedSession, read
from ullage_programs.qwen_code.log import QwenCodeReader

LOG = FIXTURES / "qwen_code" / "session.jsonl"


def session() -> ImportedSession:
    return read(LOG)


def test_a_chat_of_qwen_code_is_no_damaged_log_of_claude_code() -> None:
    found = session()
    assert (found.format, found.program) == ("qwen-code", "qwen-code 0.24.4")
    assert (found.session, found.cwd) == ("qwen-session-1", "/home/ann/shop")
    assert found.skipped_lines == 0


def test_a_title_of_the_user_is_the_title() -> None:
    assert session().title == "Prices"


def test_messages_are_what_the_program_sends_over_its_wire() -> None:
    lines = LOG.read_bytes().splitlines()[:9]
    reader = QwenCodeReader()
    folded = Folded([*reader.feed(lines), *reader.settle()])
    assert folded.said() == [
        "user: read the price list",
        "assistant: <ToolCallPart> <ToolCallPart>",
        "tool: [read_file] bread 3\nmilk 2",
        "tool: [read_file] no such file",
        "assistant: Bread is 3.",
    ]


def test_the_wire_is_that_of_the_reports_and_the_provider_that_of_the_model() -> None:
    started = session().events[0]
    assert isinstance(started, SessionStarted)
    assert (started.model, started.wire, started.provider) == (
        "deepseek-chat",
        "chat",
        "deepseek",
    )


def test_the_window_is_the_one_the_program_works_with() -> None:
    learnt = [event for event in session().events if isinstance(event, LimitLearnt)]
    assert [event.window for event in learnt] == [131_072]


def test_every_request_is_one_call_with_what_it_was_for() -> None:
    calls = Folded(session().events).calls
    seen = [(call.purpose, call.usage and call.usage.input) for call in calls]
    assert seen == [
        ("main", 9000),
        ("main", None),
        ("main", 9060),
        ("other", 5100),
        ("child", 700),
        ("summary", 9300),
        ("other", 9080),
        ("main", 9030),
    ]
    assert (calls[1].outcome, calls[1].error) == ("failed", "429 slow down")


def test_cached_tokens_are_a_part_of_the_input() -> None:
    usage = Folded(session().events).calls[2].usage
    assert usage is not None
    assert (usage.input, usage.cache_read) == (9060, 8960)


def test_a_compression_leaves_what_its_history_holds() -> None:
    events = session().events
    committed = next(event for event in events if isinstance(event, CompactionCommitted))
    assert committed.before == 9085
    assert Folded(events).said() == [
        "user: <state_snapshot>Bread is 3.</state_snapshot>",
        "user: and milk?",
        "assistant: Got it.",
        "assistant: 2.",
    ]


def compacted_by_itself() -> Folded:
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
    return Folded([*reader.feed(lines), *reader.settle()])


def system(subtype: str, payload: dict[str, object]) -> dict[str, object]:
    return {"type": "system", "subtype": subtype, "systemPayload": payload}


def reported(event: dict[str, object]) -> dict[str, object]:
    return system("ui_telemetry", {"uiEvent": event})


def test_requests_between_a_result_and_an_automatic_compaction_were_for_its_summary() -> (
    None
):
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
