import json

import msgspec

from tests.importers.folding import FIXTURES, Folded
from ullage.events import (
    CompactionCommitted,
    LimitLearnt,
    ModelChanged,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.importers import ImportedSession, read
from ullage.messages import ReasoningPart, ToolCallPart
from ullage.meter.meter import Meter
from ullage_programs.codex.log import CodexReader


def imported(name: str) -> ImportedSession:
    return read(FIXTURES / "codex" / f"{name}.jsonl")


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "codex" / f"{name}.jsonl").read_bytes().splitlines()


def test_the_session_says_who_wrote_it_where_and_about_what() -> None:
    session = imported("session")
    assert (session.format, session.cwd, session.title) == (
        "codex",
        "/home/ann/shop",
        "Price test",
    )
    assert session.session == "019b0000-0000-7000-8000-00000000c0de"
    assert session.program == "codex 0.98.0"
    started = session.events[0]
    assert isinstance(started, SessionStarted)
    assert (started.model, started.wire, started.provider) == (
        "gpt-5.2-codex",
        "responses",
        "openai",
    )


def test_instructions_and_dynamic_tools_are_known() -> None:
    events = imported("session").events
    system = next(event for event in events if isinstance(event, SystemChanged)).system
    assert [block.text for block in system] == ["You are a coding agent."]
    tools = next(event for event in events if isinstance(event, ToolsChanged)).tools
    assert [tool.name for tool in tools] == ["tickets"]


def test_the_last_usage_is_the_context_and_the_sum_never_is() -> None:
    session = Folded(imported("session").events)
    assert session.inputs() == [9000, 9200, 9300]
    first = session.main[0].usage
    assert first is not None
    assert (first.output, first.reasoning, first.cache_read) == (120, 64, 4000)


def test_the_window_that_the_log_names_is_learnt() -> None:
    learnt = [
        event for event in imported("session").events if isinstance(event, LimitLearnt)
    ]
    assert {event.window for event in learnt} == {258400}
    assert {event.source for event in learnt} == {"log"}


def test_a_result_that_came_before_the_usage_of_its_call_follows_the_answer() -> None:
    session = Folded(imported("session").events)
    assert session.said()[3:] == [
        "assistant: <ReasoningPart> <ToolCallPart>",
        "tool: [shell] price.py\ntest_price.py",
        "assistant: <ToolCallPart>",
        'tool: [apply_patch] {"output":"ok"}',
        "assistant: Fixed.",
    ]


def test_what_the_program_wrote_in_the_users_name_is_injected() -> None:
    session = Folded(imported("session").events)
    origins = [session.messages[name].origin for name in session.view[:3]]
    assert origins == ["injected", "injected", "said"]


def test_encrypted_reasoning_is_kept_whole() -> None:
    session = Folded(imported("session").events)
    part = next(
        part
        for name in session.view
        for part in session.messages[name].of_type(ReasoningPart)
    )
    assert part.text == "**Looking**"
    assert part.opaque_size == len("gAAAAABencrypted")
    assert part.provider is not None
    assert (
        msgspec.json.decode(part.provider.data)["encrypted_content"] == "gAAAAABencrypted"
    )


def test_a_usage_that_stands_before_the_items_of_its_call_is_theirs() -> None:
    session = Folded(imported("usage_first").events)
    assert session.inputs() == [5000, 5100]
    first = next(
        name for name in session.view if session.messages[name].role == "assistant"
    )
    assert len(list(session.messages[first].of_type(ToolCallPart))) == 2
    assert session.said()[-3:] == [
        "tool: [shell] one",
        "tool: [shell] two",
        "assistant: done",
    ]


def test_a_compaction_by_replacement_keeps_what_it_repeats() -> None:
    events = imported("compaction").events
    committed = [event for event in events if isinstance(event, CompactionCommitted)]
    assert committed[0].summary is not None
    assert committed[0].summary.origin == "summary"
    reader = CodexReader()
    session = Folded([*reader.feed(lines("compaction")[:10]), *reader.settle()])
    assert [said.split(":")[0] for said in session.said()] == ["user", "user", "system"]
    assert session.said()[1] == "user: the request"


def test_the_compactions_own_call_is_spend_and_no_call_of_the_conversation() -> None:
    events = imported("compaction").events
    session = Folded(events)
    assert [
        (call.purpose, call.usage.input if call.usage else None) for call in session.calls
    ] == [
        ("main", 200000),
        ("summary", 201000),
        ("main", 1600),
    ]


def test_a_marked_answer_is_the_summary_of_a_compaction() -> None:
    session = Folded(imported("marked_summary").events)
    calls = [(call.purpose, call.usage and call.usage.input) for call in session.calls]
    assert calls == [
        ("main", 8000),
        ("main", 8100),
        ("summary", 4000),
        ("main", 8050),
        ("summary", 8200),
    ]
    assert "assistant: The prices were patched." not in session.said()


def test_tools_that_are_not_logged_still_count_after_a_compaction() -> None:
    meter = Meter()
    for event in imported("marked_summary").events:
        meter.apply(event)
    after = meter.steps[2]
    assert after.error_percent is not None
    assert abs(after.error_percent) < 2


def test_a_summary_is_as_large_as_its_text_unless_that_is_sealed() -> None:
    committed = [
        event
        for event in imported("marked_summary").events
        if isinstance(event, CompactionCommitted)
    ]
    assert [event.summary_tokens for event in committed] == [None, 300]


def test_a_provider_of_the_users_own_naming_has_the_prices_of_the_models_maker() -> None:
    started = imported("marked_summary").events[0]
    assert isinstance(started, SessionStarted)
    assert started.provider == "openai"


def test_cache_writes_are_read() -> None:
    usages = [call.usage for call in Folded(imported("marked_summary").events).calls]
    assert [usage and usage.cache_write for usage in usages[:2]] == [7900, 90]


def test_a_call_of_a_custom_tool_and_its_result_belong_together() -> None:
    reader = CodexReader()
    session = Folded([*reader.feed(lines("marked_summary")[:8]), *reader.settle()])
    assert session.said() == [
        "user: patch the prices",
        "assistant: <ToolCallPart>",
        "tool: [apply_patch] Success. Updated prices.csv",
        "assistant: Patched.",
    ]


def test_a_compaction_by_summary_keeps_the_users_messages() -> None:
    session = Folded(imported("compaction").events)
    assert session.said()[0] == "user: Short summary of it all."
    assert session.said()[-1] == "user: and then?"
    assert not any(said.startswith("assistant") for said in session.said())


def test_the_programs_own_estimate_after_a_compaction_is_no_usage() -> None:
    assert 0 not in Folded(imported("compaction").events).inputs()


def test_turns_that_were_rolled_back_leave_the_view() -> None:
    reader = CodexReader()
    session = Folded([*reader.feed(lines("rollback")[:9]), *reader.settle()])
    assert session.said() == ["user: one", "assistant: 1"]


def test_an_interrupted_call_is_cancelled_and_a_change_of_model_is_seen() -> None:
    events = imported("rollback").events
    assert [event.model for event in events if isinstance(event, ModelChanged)] == [
        "gpt-5.1"
    ]
    assert [(call.outcome, call.error) for call in Folded(events).calls][-1] == (
        "cancelled",
        "interrupted",
    )


def test_lines_that_cant_be_used_are_counted_with_their_reasons() -> None:
    assert dict(imported("rollback").reasons) == {
        "unknown kind of line: hologram": 1,
        "no `type`": 1,
        "torn: no complete JSON value": 1,
    }


def test_a_log_of_usages_alone_is_read_as_calls() -> None:
    source = [line for line in lines("session") if b"response_item" not in line]
    reader = CodexReader()
    assert Folded([*reader.feed(source), *reader.settle()]).inputs() == [9000, 9200, 9300]


def test_a_record_of_the_usage_beside_its_event_is_not_a_second_call() -> None:
    record = (
        b'{"timestamp":"2026-02-03T11:02:00Z","type":"token_usage_record","payload":{"response_id":"resp_1","usage":'
        b'{"input_tokens":9000,"cached_input_tokens":4000,"output_tokens":120,"reasoning_output_tokens":64,'
        b'"total_tokens":9120}}}'
    )
    for position in (10, 11):  # before and after its token_count
        source = lines("session")
        source.insert(position, record)
        reader = CodexReader()
        assert Folded([*reader.feed(source), *reader.settle()]).inputs() == [
            9000,
            9200,
            9300,
        ]


def test_a_log_that_names_no_program_is_one_of_its_format() -> None:
    reader = CodexReader()
    prompt = {"type": "message", "role": "user", "content": []}
    line = {"type": "response_item", "payload": prompt}
    reader.feed([json.dumps(line).encode()])
    assert reader.imported(reader.settle()).program == "codex"
