"""Rows of tool results name the file or command that they came from."""

import json

import pytest

from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.meter.call_names import call_label, part_labels
from ullage.meter.policy import LONGEST_SUBJECT

HUGE = 9 * 10**4_299
"""The longest number that JSON is read with: twice as much can't be written."""


@pytest.mark.parametrize(
    ("tool", "arguments", "label"),
    [
        ("Read", {"file_path": "/home/anna/cellar/src/app.py"}, "Read src/app.py"),
        ("read", {"path": "src/app.py"}, "read src/app.py"),
        ("Bash", {"command": "npm test", "description": "Tests"}, "Bash npm test"),
        ("Bash", {"command": "cd /tmp\nls"}, "Bash cd /tmp"),
        ("shell", {"command": ["bash", "-lc", "npm test"]}, "shell npm test"),
        ("shell", {"command": ["git", "status"]}, "shell git status"),
        ("Grep", {"pattern": "def main", "path": ""}, "Grep def main"),
        ("WebFetch", {"url": "https://example.org"}, "WebFetch https://example.org"),
        ("Read", {"file_path": "/etc"}, "Read etc"),
        ("Read", {"file_path": r"C:\Users\ann\cellar\src\app.py"}, "Read src/app.py"),
        (
            "Read",
            {"file_path": r"d:/Ann Lee/src/app.py", "limit": 5},
            "Read src/app.py:1-5",
        ),
        ("Read", {"file_path": "/srv/Ann Lee/src/app.py"}, "Read src/app.py"),
        ("Grep", {"pattern": r"\bdef\b"}, r"Grep \bdef\b"),
        ("Bash", {"command": "/usr/bin/ls -l"}, "Bash /usr/bin/ls -l"),
        ("Read", {"file_path": 7, "path": None}, "Read"),
        ("TodoWrite", {"todos": []}, "TodoWrite"),
        ("Read", {"file_path": "a.py", "offset": 10, "limit": 71}, "Read a.py:10-80"),
        ("read", {"filePath": "a.py", "limit": 50, "offset": None}, "read a.py:1-50"),
        ("read", {"path": "a.py", "limit": 50}, "read a.py:1-50"),
        (
            "read_file",
            {"path": "a.py", "start_line": 3, "end_line": 9},
            "read_file a.py:3-9",
        ),
        ("view", {"path": "a.py", "view_range": [3, -1]}, "view a.py:3-"),
        ("view", {"path": "a.py", "view_range": ["3", {}]}, "view a.py"),
        ("Read", {"file_path": "a.py", "limit": "all"}, "Read a.py"),
        ("Grep", {"path": "src", "offset": 5, "head_limit": 9}, "Grep src"),
        ("Read", {"path": "a.py", "offset": HUGE, "limit": HUGE}, "Read a.py"),
        ("view", {"path": "a.py", "view_range": [HUGE, -1]}, "view a.py"),
        ("Read", {"path": "a.py", "offset": 5, "limit": -5}, "Read a.py"),
    ],
)
def test_a_call_is_labelled_by_its_most_telling_argument(
    tool: str, arguments: dict[str, object], label: str
) -> None:
    assert call_label(tool, json.dumps(arguments)) == label


@pytest.mark.parametrize(
    "arguments", ["", "{", "[1]", '"text"', "[" * 5_000, '{"path": "' + "x" * 200_000]
)
def test_arguments_that_are_no_object_leave_the_tools_name(arguments: str) -> None:
    assert call_label("Read", arguments) == "Read"


def test_a_long_command_is_cut() -> None:
    label = call_label("Bash", json.dumps({"command": "x" * 500}))
    assert label == "Bash " + "x" * (LONGEST_SUBJECT - 1) + "…"


def test_a_result_is_labelled_by_the_call_that_it_answers() -> None:
    call = ToolCallPart(id="c", call_id="1", name="Read", arguments='{"path": "a.py"}')
    result = ToolResultPart(id="r", call_id="1")
    stray = ToolResultPart(id="s", call_id="2")
    text = TextPart(id="t", text="Hello.")
    message = Message(id="m1", role="assistant", parts=(text, call))
    messages = [message, Message(id="m2", role="tool", parts=(result, stray))]
    expected = {"c": "Read a.py", "r": "Read a.py"}
    assert part_labels(messages, {"c", "r", "s", "t"}) == expected
