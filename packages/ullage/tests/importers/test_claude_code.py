import json
from pathlib import Path

import msgspec
import pytest

from tests.importers.folding import FIXTURES, Folded
from ullage.events import (
    CallEnded,
    CompactionCommitted,
    Event,
    LimitLearnt,
    SizeStated,
)
from ullage.importers import read
from ullage.meter.meter import Meter
from ullage_programs.claude_code.log import ClaudeCodeReader, subagent_logs


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "claude_code" / f"{name}.jsonl").read_bytes().splitlines()


def test_an_answer_that_is_too_long_for_its_output_count_has_a_placeholder() -> None:
    cut = [line for line in lines("session") if b'output_tokens":151' not in line]
    reader = ClaudeCodeReader()
    first = Folded([*reader.feed(cut), *reader.settle()]).main[0].usage
    assert first is not None
    assert first.placeholder
    assert first.output is None
    assert first.input == 9004


def test_a_subagents_own_log_is_read_as_its_own_thread() -> None:
    reader = ClaudeCodeReader()
    session = Folded([*reader.feed(lines("sidechain")[2:5]), *reader.settle()])
    assert session.said() == ["user: look around", "assistant: partial found it"]
    assert len(session.main) == 1


def test_logs_of_subagents_beside_a_session_add_to_its_spend(tmp_path: Path) -> None:
    source = lines("sidechain")
    (tmp_path / "main.jsonl").write_bytes(b"\n".join(source[:2] + source[5:]))
    inside = tmp_path / "main" / "subagents"
    inside.mkdir(parents=True)
    (inside / "agent-ag1.jsonl").write_bytes(
        b"\n".join([*source[2:5], b'{"torn', b'{"usage": 1}'])
    )
    session = Folded(read(tmp_path / "main.jsonl").events)
    assert [
        call.usage.input
        for call in session.calls
        if call.purpose == "child" and call.usage
    ] == [50003]
    assert session.inputs() == [803, 863]


def test_whose_subagent_a_log_is_of_is_read_once(tmp_path: Path) -> None:
    main, log = tmp_path / "main.jsonl", tmp_path / "agent-1.jsonl"
    known: dict[Path, str] = {}
    log.write_bytes(b"")
    assert subagent_logs(main, "s-1", known) == []
    log.write_bytes(b'{"sessionId":"s-1"}\n')
    assert subagent_logs(main, "s-1", known) == [log]
    assert subagent_logs(main, "s-2", known) == []
    log.write_bytes(b"no longer JSON")
    assert subagent_logs(main, "s-1", known) == [log]
    assert subagent_logs(main, "s-1") == []


def test_a_compaction_whose_summary_is_missing_still_empties_the_view() -> None:
    reader = ClaudeCodeReader()
    session = Folded([*reader.feed(lines("compaction")[:7]), *reader.settle()])
    assert session.said() == ["user: kept request"]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("claude-sonnet-4-5 · 52k/200k tokens (26%)", 200_000),
        ("claude-sonnet-4-5 · 9.5k/1m tokens (1%)", 1_000_000),
    ],
)
def test_the_context_commands_output_names_the_window(text: str, window: int) -> None:
    reader = ClaudeCodeReader()
    reader.feed(lines("session"))
    content = f"<local-command-stdout> Context Usage\\n {text}</local-command-stdout>"
    line = f'{{"type":"user","uuid":"z1","parentUuid":"a5","message":{{"role":"user","content":"{content}"}}}}'
    learnt = [
        event for event in reader.feed([line.encode()]) if isinstance(event, LimitLearnt)
    ]
    assert [(event.window, event.source) for event in learnt] == [(window, "log")]


@pytest.mark.parametrize("trigger", ["auto", "manual", ""])
def test_a_compaction_is_automatic_where_the_log_says_so(trigger: str) -> None:
    reader = ClaudeCodeReader()
    reader.feed(lines("session"))
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "z1",
        "parentUuid": None,
        "logicalParentUuid": "a5",
        "compactMetadata": {"trigger": trigger, "preTokens": 167_094},
    }
    reader.feed([json.dumps(boundary).encode()])
    committed = [
        event for event in reader.settle() if isinstance(event, CompactionCommitted)
    ]
    assert [(event.before, event.is_automatic) for event in committed] == [
        (167_094, trigger == "auto")
    ]


def test_a_queued_message_is_read_when_it_is_delivered() -> None:
    reader = ClaudeCodeReader()
    reader.feed(lines("session"))
    line = (
        b'{"type":"attachment","uuid":"q1","parentUuid":"a5","attachment":'
        b'{"type":"queued_command","prompt":"and hurry","commandMode":"prompt"}}'
    )
    reader.feed([line])
    assert reader.rows.messages["q1"].origin == "said"


def test_a_snapshot_of_the_prompt_gives_system_and_tools() -> None:
    reader = ClaudeCodeReader()
    snapshot = {
        "type": "attachment",
        "uuid": "p1",
        "parentUuid": None,
        "attachment": {
            "type": "prompt_snapshot",
            "systemPrompt": ["You are an agent.", {"type": "text", "text": "Be brief."}],
            "tools": [
                {
                    "name": "Read",
                    "description": "Reads",
                    "input_schema": {"type": "object"},
                }
            ],
        },
    }
    instructions = {
        "type": "attachment",
        "uuid": "p2",
        "parentUuid": "p1",
        "attachment": {
            "type": "instructions",
            "files": [{"path": "CLAUDE.md", "content": "Use tabs."}],
        },
    }
    reader.feed([msgspec.json.encode(snapshot), msgspec.json.encode(instructions)])
    assert [(block.kind, block.text) for block in reader.rows.system] == [
        ("prompt", "You are an agent."),
        ("prompt", "Be brief."),
        ("instructions", "Use tabs."),
    ]
    assert [(tool.name, bytes(tool.schema)) for tool in reader.rows.tools] == [
        ("Read", b'{"type":"object"}')
    ]


def test_a_logged_request_gives_the_system_prompt_by_its_headings_and_the_tools() -> None:
    system = "You look after a cellar.\n# Style\nBe brief.\n# Safety\nBreak nothing."
    tools = [{"name": "Read"}, {"name": "Monitor", "defer_loading": True}]
    shape = {"system": [{"type": "text", "text": system}], "tools": tools}
    reader = ClaudeCodeReader()
    reader.feed([msgspec.json.encode({"type": "api-request-shape", "shape": shape})])
    repeated = b'{"type":"api-request-blob","message":{"role":"user","content":"hi"}}'
    reader.feed([repeated, b'{"type":"api-request","tail":["a"]}'])
    blocks = reader.rows.system
    assert "".join(block.text for block in blocks) == system
    assert [block.name for block in blocks] == ["", "Style", "Safety"]
    assert [(tool.name, tool.deferred) for tool in reader.rows.tools] == [
        ("Read", False),
        ("Monitor", True),
    ]
    assert not reader.rows.view
    assert not reader.skips.reasons


@pytest.mark.parametrize(
    ("text", "origin"), [("<system-reminder>be brief", "injected"), ("stop that", "said")]
)
def test_what_stands_beside_a_result_is_its_own_message(text: str, origin: str) -> None:
    reader = ClaudeCodeReader()
    content = [
        {"type": "tool_result", "tool_use_id": "t2", "content": "late"},
        {"type": "text", "text": text},
    ]
    line = {
        "type": "user",
        "uuid": "z1",
        "parentUuid": "a5",
        "message": {"role": "user", "content": content},
    }
    events = [
        *reader.feed([*lines("session"), msgspec.json.encode(line)]),
        *reader.settle(),
    ]
    session = Folded(events)
    assert session.said()[-2:] == ["tool: [Read] late", f"user: {text}"]
    assert session.messages[session.view[-1]].origin == origin


def test_what_the_server_cleared_is_part_of_the_usage(tmp_path: Path) -> None:
    edit = (
        b'{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 5000,'
        b' "cleared_tool_uses": 4}'
    )
    log = tmp_path / "log.jsonl"
    source = b"\n".join(lines("session"))
    log.write_bytes(
        source.replace(
            b'"usage":',
            b'"context_management":{"applied_edits":[' + edit + b']},"usage":',
            2,
        )
    )
    first = Folded(read(log).events).main[0]
    assert first.usage is not None
    (cleared,) = first.usage.cleared
    assert (cleared.tokens, cleared.content, cleared.count) == (5000, "tool_results", 4)


def continued(*after: dict[str, object], before: tuple[bytes, ...] = ()) -> list[Event]:
    """A session, and then a compaction to 9,000 tokens by the program's count, and these lines."""
    boundary: dict[str, object] = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "z1",
        "parentUuid": None,
        "logicalParentUuid": "a5",
        "compactMetadata": {
            "trigger": "manual",
            "preTokens": 90_000,
            "postTokens": 9_000,
        },
    }
    summary = said("z2", "z1", "much was done") | {"isCompactSummary": True}
    reader = ClaudeCodeReader()
    events = reader.feed(before or lines("session"))
    source = [json.dumps(line).encode() for line in (boundary, summary, *after)]
    return [*events, *reader.feed(source), *reader.settle()]


def said(uuid: str, parent: str, text: str) -> dict[str, object]:
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message}


def attached(uuid: str, parent: str, **attachment: object) -> dict[str, object]:
    line = {"type": "attachment", "uuid": uuid, "parentUuid": parent}
    return {**line, "attachment": attachment}


def test_a_file_that_is_put_back_is_counted_once_though_the_programs_count_has_it() -> (
    None
):
    """``postTokens`` is of all that the compaction wrote; the lines of that follow it."""
    content = {"type": "text", "file": {"filePath": "/a", "content": "price of bread\n"}}
    file = attached("z3", "z2", type="file", filename="/a", content=content)
    sizes: list[int] = []
    for lines_after in ([], [file], [file, said("z4", "z3", "go on")]):
        meter = Meter()
        for event in continued(*lines_after):
            meter.apply(event)
        sizes.append(meter.reading().used.tokens)
    assert sizes[0] < sizes[1] < sizes[2] < sizes[0] + 200


def test_listings_leave_with_a_compaction_until_a_line_brings_them_back() -> None:
    reader = ClaudeCodeReader()
    listings = [
        attached("l1", "a5", type="skill_listing", content="bake", isInitial=True),
        attached("l2", "l1", type="mcp_instructions_delta", addedBlocks=["ask"]),
        attached("l3", "l2", type="instructions", files=[{"path": "C", "content": "c"}]),
    ]
    reader.feed(lines("session"))
    reader.feed([json.dumps(line).encode() for line in listings])
    assert [block.kind for block in reader.rows.system] == [
        *("skills", "instructions", "instructions")
    ]
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "z1"}
    summary = said("z2", "z1", "much was done") | {"isCompactSummary": True}
    reader.feed([json.dumps(line).encode() for line in (boundary, summary)])
    assert [block.name for block in reader.rows.system] == ["C"]
    again = attached("l4", "z2", type="mcp_instructions_delta", addedBlocks=["ask"])
    reader.feed([json.dumps(again).encode()])
    assert [block.text for block in reader.rows.system] == ["c", "ask"]


def test_the_zeroed_usage_of_an_answer_that_was_kept_is_none_of_a_call_now() -> None:
    own = {"input_tokens": 2, "cache_read_input_tokens": 90_000, "output_tokens": 40}
    usage = {"input_tokens": 0, "output_tokens": 0, "iterations": [own]}
    message = {
        "id": "msg_kept",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "kept"}],
        "usage": usage,
    }
    kept: dict[str, object] = {"type": "assistant", "uuid": "z3", "parentUuid": "z2"}
    kept["message"] = message
    meter = Meter()
    events = continued(kept, said("z4", "z3", "go on"))
    for event in events:
        meter.apply(event)
    assert meter.reading().used.tokens < 60_000
    assert meter.messages[-2].parts[0].text == "kept"  # type: ignore[union-attr]
    calls = [each.call for each in events if isinstance(each, CallEnded)]
    assert "msg_kept" not in calls


@pytest.mark.parametrize("parent", ["earlier", ""])
def test_its_count_before_a_compaction_is_the_size_of_a_log_without_a_bill(
    parent: str,
) -> None:
    assert not any(isinstance(each, SizeStated) for each in continued())
    begun = json.dumps(said("z0", parent, "go on")).encode()
    meter = Meter()
    for event in continued(before=(begun,)):
        if isinstance(event, CompactionCommitted):
            used = meter.reading().used
            assert (used.low, used.tokens, used.high) == pytest.approx(
                (88_000, 90_000, 92_000), abs=50
            )
            assert meter.reading().basis.label == "as Claude Code says"
        meter.apply(event)
    used = meter.reading().used
    assert used.low < 20_000, "what first calls of the program are known to hold"
    assert 55_000 < used.high < 80_000, "and not half of what it counted before"


@pytest.mark.parametrize(
    ("kind", "models", "windows"),
    [
        ("cost-state", {"claude-opus-4-6[1m]": {}}, [("claude-opus-4-6", 1_000_000)]),
        ("cost-state", {"claude-opus-4-6": {}}, []),
        (
            "result",
            {
                "claude-sonnet-5": {"contextWindow": 1_000_000},
                "x": {"contextWindow": "a"},
            },
            [("claude-sonnet-5", 1_000_000)],
        ),
        (
            "result",
            {"a[1m]": {"contextWindow": 1_000_000}, "a": {"contextWindow": 200_000}},
            [("a", 200_000), ("a", 1_000_000)],
        ),
    ],
)
def test_totals_name_the_windows_of_their_models(
    kind: str, models: dict[str, object], windows: list[tuple[str, int]]
) -> None:
    reader = ClaudeCodeReader()
    reader.feed(lines("session"))
    line = {"type": kind, "sessionId": "s", "modelUsage": models}
    events = reader.feed([json.dumps(line).encode()])
    learnt = [event for event in events if isinstance(event, LimitLearnt)]
    assert [(event.model, event.window) for event in learnt] == windows


def test_a_refusal_in_the_log_says_the_size_and_the_window() -> None:
    error = "API Error: 400 prompt is too long: 215692 tokens > 200000 maximum"
    refusal = {
        "type": "assistant",
        "uuid": "z1",
        "parentUuid": "a5",
        "isApiErrorMessage": True,
        "message": {
            "id": "m9",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": error}],
        },
    }
    reader, meter = ClaudeCodeReader(), Meter()
    source = [*lines("session"), json.dumps(refusal).encode()]
    for event in [*reader.feed(source), *reader.settle()]:
        meter.apply(event)
    reading = meter.reading()
    assert reading.used.tokens == pytest.approx(215_692, abs=20)
    assert (reading.window.tokens, reading.window.source) == (200_000, "error")
