import json
from pathlib import Path

import msgspec
import pytest

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
from ullage.messages import ImagePart, ReasoningPart, ToolCallPart, ToolResultPart
from ullage_programs.claude_code.log import ClaudeCodeReader, subagent_logs


def imported(name: str) -> ImportedSession:
    return read(FIXTURES / "claude_code" / f"{name}.jsonl")


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "claude_code" / f"{name}.jsonl").read_bytes().splitlines()


def test_the_session_says_who_wrote_it_where_and_about_what() -> None:
    session = imported("session")
    assert (session.format, session.cwd, session.title) == (
        "claude-code",
        "/home/ann/shop",
        "Fix the price test",
    )
    assert session.session == "5e0a1c2e-0000-4000-8000-000000000001"
    assert session.program == "claude-code 2.1.7"
    assert session.exit_code == 0
    started = session.events[0]
    assert isinstance(started, SessionStarted)
    assert (started.model, started.wire, started.provider) == (
        "claude-sonnet-4-5",
        "messages",
        "anthropic",
    )


def test_the_lines_of_one_call_are_one_call_with_the_last_usage() -> None:
    session = Folded(imported("session").events)
    assert session.inputs() == [9004, 9423]
    first = session.main[0]
    assert first.usage is not None
    assert (first.usage.output, first.usage.placeholder, first.stop) == (
        151,
        False,
        "tool_use",
    )
    answer = session.messages["msg_1"]
    assert isinstance(answer.parts[0], ReasoningPart)
    assert [part.name for part in answer.of_type(ToolCallPart)] == ["Read", "Read"]


def test_results_that_stand_between_the_lines_of_a_call_come_after_its_answer() -> None:
    session = Folded(imported("session").events)
    answer = session.view.index("msg_1")
    assert session.view[answer + 1 : answer + 3] == ["r1", "r2"]
    assert [part.name for part in session.messages["r2"].of_type(ToolResultPart)] == [
        "Read"
    ]


def test_an_answer_that_is_too_long_for_its_output_count_has_a_placeholder() -> None:
    session = Folded(imported("session").events)
    last = session.main[1].usage
    assert last is not None
    assert not last.placeholder
    cut = [line for line in lines("session") if b'output_tokens":151' not in line]
    reader = ClaudeCodeReader()
    first = Folded([*reader.feed(cut), *reader.settle()]).main[0].usage
    assert first is not None
    assert first.placeholder
    assert first.output is None
    assert first.input == 9004


def test_signatures_are_kept_with_their_thinking() -> None:
    part = next(
        Folded(imported("session").events).messages["msg_1"].of_type(ReasoningPart)
    )
    assert part.provider is not None
    assert msgspec.json.decode(part.provider.data) == {"signature": "c2lnbmF0dXJl"}
    assert (part.provider.wire, part.provider.model) == ("messages", "claude-sonnet-4-5")
    assert part.opaque_size == len("c2lnbmF0dXJl")


def test_an_image_in_a_result_is_known_by_its_pixels() -> None:
    result = next(
        Folded(imported("session").events).messages["r2"].of_type(ToolResultPart)
    )
    image = result.content[1]
    assert isinstance(image, ImagePart)
    assert (image.mime, image.width, image.height) == ("image/png", 320, 240)


def test_lists_of_skills_and_names_of_deferred_tools_are_no_messages_of_a_person() -> (
    None
):
    events = imported("session").events
    system = next(event for event in events if isinstance(event, SystemChanged)).system
    assert [(block.kind, block.text) for block in system] == [
        ("skills", "- review: reads a diff")
    ]
    tools = next(event for event in events if isinstance(event, ToolsChanged)).tools
    assert [(tool.name, tool.server, tool.deferred) for tool in tools] == [
        ("mcp__tracker__search", "tracker", True),
        ("WebFetch", "", True),
    ]
    added = Folded(events).messages["at2"]
    assert added.origin == "injected"


def test_a_line_that_follows_an_older_one_rewinds() -> None:
    reader = ClaudeCodeReader()
    session = Folded([*reader.feed(lines("rewind")[:6]), *reader.settle()])
    assert session.said() == [
        "user: first",
        "assistant: one",
        "user: second, better",
        "assistant: three",
    ]


def test_a_branch_that_was_left_can_be_taken_up_again() -> None:
    reader = ClaudeCodeReader()
    session = Folded([*reader.feed(lines("rewind")[:8]), *reader.settle()])
    assert session.said() == [
        "user: first",
        "assistant: one",
        "user: second, regretted",
        "assistant: two",
        "user: back on the first branch",
        "assistant: four",
    ]
    assert len(session.main) == 4


def test_a_prompt_without_a_parent_restarts_a_linked_conversation() -> None:
    assert Folded(imported("rewind").events).said() == ["user: from the very start"]


def test_side_chains_are_spend_and_not_context() -> None:
    session = Folded(imported("sidechain").events)
    assert session.inputs() == [803, 863]
    children = [call for call in session.calls if call.purpose == "child"]
    assert [call.usage.output for call in children if call.usage] == [40]
    assert not any(
        "look around" in said for said in session.said() if said.startswith("user")
    )


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


def test_whose_subagent_a_log_is_of_is_read_once_and_again_while_it_is_empty(
    tmp_path: Path,
) -> None:
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


def test_a_compaction_leaves_its_summary_and_what_it_kept() -> None:
    events = imported("compaction").events
    committed = next(event for event in events if isinstance(event, CompactionCommitted))
    assert (committed.before, committed.after) == (150020, 2600)
    assert committed.summary is not None
    assert committed.summary.origin == "summary"
    session = Folded(events)
    assert session.view[:2] == ["c1", "u2"]
    assert session.inputs()[-1] == 2653


def test_results_cleared_by_the_program_are_pruned_and_those_logged_as_cleared_are_marked() -> (
    None
):
    session = Folded(imported("compaction").events)
    cleared = next(session.messages["r1"].of_type(ToolResultPart))
    assert cleared.id in session.pruned
    late = next(session.messages["r9"].of_type(ToolResultPart))
    assert late.cleared


def test_a_compaction_whose_summary_is_missing_still_empties_the_view() -> None:
    reader = ClaudeCodeReader()
    session = Folded([*reader.feed(lines("compaction")[:7]), *reader.settle()])
    assert session.said() == ["user: kept request"]


def test_an_error_of_the_api_is_a_failed_call_without_usage() -> None:
    failed = [
        call for call in Folded(imported("odd").events).calls if call.outcome == "failed"
    ]
    assert [(call.usage, call.error) for call in failed] == [
        (None, "API Error: 529 overloaded")
    ]


def test_a_change_of_model_is_seen() -> None:
    changed = [
        event.model for event in imported("odd").events if isinstance(event, ModelChanged)
    ]
    assert changed == ["claude-haiku-4-5"]


def test_lines_that_cant_be_used_are_counted_with_their_reasons_and_the_rest_is_read() -> (
    None
):
    odd = imported("odd")
    assert dict(odd.reasons) == {
        "no JSON object": 2,
        "torn: no complete JSON value": 1,
        "unknown kind of line: hologram": 1,
        "user line without a message": 1,
        "assistant line without content": 1,
        "repeated line": 1,
        "NUL bytes instead of a line": 1,
    }
    assert odd.skipped_lines == 8
    assert (8, "torn: no complete JSON value") in odd.skipped
    assert Folded(odd.events).said()[-1] == "user: last"


def test_a_lone_surrogate_becomes_valid_text_and_its_bytes_are_kept() -> None:
    message = Folded(imported("odd").events).messages["ux"]
    part = message.parts[0]
    assert part.text == "half an emoji \ufffd"  # type: ignore[union-attr]
    assert part.raw == b"half an emoji \xed\xa0\xbd"  # type: ignore[union-attr]


def test_the_stream_output_is_read_too_and_its_cumulative_result_is_no_context() -> None:
    events = imported("stream").events
    session = Folded(events)
    assert session.inputs() == [603]
    assert [call.purpose for call in session.calls] == ["main", "child"]
    tools = next(event for event in events if isinstance(event, ToolsChanged)).tools
    assert [tool.server for tool in tools] == ["", "tracker"]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("claude-sonnet-4-5 · 52k/200k tokens (26%)", 200_000),
        ("claude-sonnet-4-5 · 9.5k/1m tokens (1%)", 1_000_000),
    ],
)
def test_the_output_of_the_context_command_names_the_window(
    text: str, window: int
) -> None:
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
def test_what_stands_beside_a_result_is_a_message_of_its_own(
    text: str, origin: str
) -> None:
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


def test_what_the_server_cleared_of_a_request_is_part_of_its_usage(
    tmp_path: Path,
) -> None:
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
