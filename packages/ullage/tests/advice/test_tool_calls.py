"""What a tool call was for, whatever its arguments are."""

import pytest

from ullage.advice.tool_calls import CallFacts, path_of, read_arguments, server_of
from ullage.messages import ToolCallPart, ToolResultPart


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__github__get_issue", "github"),
        ("mcp__my_server__do__it", "my_server"),
        ("mcp__", ""),
        ("mcp__github", ""),
        ("Read", ""),
    ],
)
def test_the_server_is_in_the_name_of_the_tool(tool: str, server: str) -> None:
    assert server_of(tool) == server


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ('{"file_path":"/a.py"}', "/a.py"),
        ('{"path":"b.py","filePath":"/c.py"}', "/c.py"),
        ('{"path":7}', ""),
        ('{"path":"', ""),
        ("[1]", ""),
        ("[" * 100_000, ""),
        ("", ""),
    ],
)
def test_the_path_is_the_argument_that_names_a_file(arguments: str, path: str) -> None:
    assert path_of(read_arguments(arguments)) == path


def test_a_result_without_its_call_has_the_name_of_its_tool() -> None:
    facts = CallFacts()
    result = ToolResultPart(id="r", call_id="1")
    assert facts.of(result, "mcp__github__get_issue").server == "github"
    facts.note(ToolCallPart(id="c", call_id="1", name="Read", arguments='{"path":"a"}'))
    assert facts.of(result, "").label == "Read a"
