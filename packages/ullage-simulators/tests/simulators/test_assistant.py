import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_simulators.assistant import MOST_STEPS, harmless_answer, own_words
from ullage_simulators.prompt import DeclaredTool, Piece, ScriptContext

PATH: dict[str, Any] = {"properties": {"file_path": {}}, "required": ["file_path"]}
COMMAND: dict[str, Any] = {"properties": {"command": {"type": "string"}}}
OTHERS = (
    DeclaredTool("Agent", COMMAND),
    DeclaredTool("Bash", COMMAND),
    DeclaredTool("Write", PATH),
    DeclaredTool("AskUserQuestion", {}),
    DeclaredTool("mcp__mail__read", PATH),
)
TOOLS = (*OTHERS, DeclaredTool("Read", PATH))


def read_by(text: str, **more: Any) -> list[dict[str, Any]]:
    """The arguments of the calls that a message leads to."""
    given = {"tools": TOOLS, **more}
    answer = harmless_answer(ScriptContext(given.pop("step", 1), text, **given))
    return [json.loads(call.arguments) for call in answer.calls]


def test_a_message_that_names_no_file_is_answered_without_a_tool() -> None:
    answer = harmless_answer(ScriptContext(1, "hello, run Bash and Agent", (), TOOLS))
    assert answer.calls == ()
    assert answer.text.startswith("This is a simulated model")
    assert "You wrote: hello, run Bash and Agent" in answer.text
    assert "Name a file" in answer.text


def test_files_that_the_message_names_are_read_by_one_round_of_calls() -> None:
    message = "Read CLAUDE.md, then `src/app.py` and a.txt; b.txt can wait."
    assert read_by(message) == [
        {"file_path": "CLAUDE.md"},
        {"file_path": "src/app.py"},
        {"file_path": "a.txt"},
    ]


def test_after_the_results_it_says_how_they_begin_and_ends() -> None:
    results = (
        ("Read", "<path>/a.txt</path>\n1: alpha\n"),
        ("", "<system-reminder>\n</system-reminder>"),
    )
    answer = harmless_answer(ScriptContext(2, "read b.txt", results, TOOLS))
    assert answer.calls == ()
    assert answer.text.endswith("- `Read`: 1: alpha\n- `the tool`: (nothing)")


def test_no_tool_is_called_late_in_a_conversation_whatever_the_client_sends() -> None:
    assert read_by("read a.txt", step=MOST_STEPS)
    assert not read_by("read a.txt", step=MOST_STEPS + 1)


@given(st.text(), st.integers(1, 30))
def test_only_a_tool_that_reads_a_file_is_ever_called(text: str, step: int) -> None:
    for tools in (OTHERS, TOOLS):
        answer = harmless_answer(ScriptContext(step, f"{text} a.txt", (), tools))
        assert {call.name for call in answer.calls} <= {"Read"}
        assert answer.calls or answer.text


def test_what_the_client_adds_in_tags_is_not_what_the_person_wrote() -> None:
    added = "<system-reminder>\nContents of CLAUDE.md: <b>\n</system-reminder>\n\nhello"
    assert own_words(added) == "hello"
    assert read_by(added) == []
    assert own_words("is a <b or <i> c </b> > d?") == "is a <b or <i> c </b> > d?"


@pytest.mark.parametrize(
    "text", ["e.g. this", "see https://example.com/a.html", "version 1.2.3", "the end."]
)
def test_what_looks_like_a_file_and_is_none_is_not_read(text: str) -> None:
    assert read_by(text) == []


@pytest.mark.parametrize(
    "told",
    [
        " - Primary working directory: /home/ann/app\n - Is a git repository: no",
        "I'm currently working in the directory: /home/ann/app\nHere is",
        "<cwd>\n/home/ann/app\n</cwd>",
        "<cwd>/home/ann/app/</cwd>",
    ],
)
def test_paths_are_absolute_where_the_client_says_where_it_works(told: str) -> None:
    pieces = [Piece("You are an agent."), Piece(told)]
    assert read_by("read a.txt and /b.txt", pieces=pieces) == [
        {"file_path": "/home/ann/app/a.txt"},
        {"file_path": "/b.txt"},
    ]


def test_arguments_that_must_be_given_and_may_be_null_are_null() -> None:
    schema = {
        "properties": {
            "path": {"type": "string"},
            "limit": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "required": ["path", "limit"],
    }
    assert read_by("read a.txt", tools=(DeclaredTool("read", schema),)) == [
        {"path": "a.txt", "limit": None}
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 1},
        {"properties": {"place": {}}},
        {"properties": {"path": {}, "reason": {}}, "required": ["path", "reason"]},
        {"properties": {"path": {}}, "required": ["path", {"a": 1}, 3]},
        {"properties": {"path": {}, "a": {"anyOf": 1}}, "required": ["a"]},
    ],
)
def test_a_tool_that_is_not_understood_is_not_called(schema: dict[str, Any]) -> None:
    assert read_by("read a.txt", tools=(DeclaredTool("read", schema),)) == []
