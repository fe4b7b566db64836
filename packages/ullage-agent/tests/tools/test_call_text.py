import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ullage.display.spelling import is_hidden, spelled
from ullage_agent.tools.call_text import call_lines
from ullage_agent.tools.running import parse_arguments

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def shown(name: str, arguments: str) -> str:
    lines = call_lines(name, arguments)
    return "\n".join("".join(piece.text for piece in line) for line in lines)


def escapes(name: str, arguments: str) -> set[str]:
    return {
        piece.text
        for line in call_lines(name, arguments)
        for piece in line
        if piece.kind == "escape"
    }


def test_a_command_of_many_lines_keeps_its_lines_behind_a_gutter() -> None:
    command = "\n".join(f"echo {number}" for number in range(200)) + "\n"
    lines = shown("shell", json.dumps({"command": command, "timeout_s": 5})).split("\n")
    assert lines[:3] == ["shell", "command:", "  | echo 0"]
    assert lines[201:] == ["  | echo 199", "  | ", "timeout_s: 5"]


def test_no_line_of_a_text_can_pass_for_another_argument() -> None:
    lines = shown("write", json.dumps({"path": "a", "content": "x\npath: b"})).split("\n")
    assert lines == ["write", "path: a", "content:", "  + x", "  + path: b"]
    assert shown("tool", json.dumps({"a: 1\nb": 2})) == 'tool\n"a: 1\\nb": 2'


def test_an_edit_shows_what_goes_and_what_comes() -> None:
    text = shown("edit", json.dumps({"path": "a", "old": "one\ntwo", "new": "three"}))
    assert text.split("\n") == [
        "edit",
        "path: a",
        "old:",
        "  - one",
        "  - two",
        "new:",
        "  + three",
    ]


@pytest.mark.parametrize(
    ("hidden", "escape"),
    [
        ("\x1b", "\\x1b"), ("\x07", "\\x07"), ("\r", "\\r"), ("\x7f", "\\x7f"), ("\x9b", "\\x9b"),
        ("\u00a0", "\\xa0"), ("\u00ad", "\\xad"), ("\u200b", "\\u200b"), ("\u202e", "\\u202e"), ("\u2066", "\\u2066"),
        ("\u2028", "\\u2028"), ("\ufeff", "\\ufeff"), ("\u3164", "\\u3164"), ("\u115f", "\\u115f"),
        ("\ufe0f", "\\ufe0f"), ("\u2800", "\\u2800"), ("\U000e0041", "\\U000e0041"), ("\U000e0101", "\\U000e0101"),
        ("\ue000", "\\ue000"), ("\u0378", "\\u0378"), ("\u3000", "\\u3000"),
    ],
)  # fmt: skip
def test_a_hidden_character_is_spelled_and_marked(hidden: str, escape: str) -> None:
    arguments = json.dumps({"command": f"a{hidden}b", hidden: 1})
    assert f"command: a{escape}b" in shown("shell", arguments)
    assert escapes("shell", arguments) >= {escape}
    found = shown("shell", arguments).replace("\\\\", "\\")
    assert f"can't be seen, spelled here as {escape}" in found
    assert spelled(f"a{hidden}") == f"a{escape}"


def test_text_that_looks_like_an_escape_is_told_from_one() -> None:
    arguments = json.dumps({"command": r"echo -e '\x1b'"})
    assert not escapes("shell", arguments)
    assert "can't be seen" not in shown("shell", arguments)


def test_indenting_tabs_stay_and_others_and_end_spaces_are_spelled() -> None:
    text = shown("write", json.dumps({"path": "a", "content": "\tx\ty  \n"}))
    assert text.split("\n")[3:5] == ["  +     x\\ty\\x20\\x20", "  + "]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ('{"a": "5"}', 'a: "5"'),
        ('{"a": 5}', "a: 5"),
        ('{"a": "true"}', 'a: "true"'),
        ('{"a": true}', "a: true"),
        ('{"a": ""}', 'a: ""'),
        ('{"a": " b "}', 'a: " b "'),
        ('{"a": null}', "a: null"),
        ('{"a": []}', "a: []"),
        ('{"a": 1e999}', "a: Infinity"),
        ('{"a": "\\u0000b"}', "a: \ufffdb"),
        ('{"a": 12345678901234567890123}', "a: 12345678901234567890123"),
    ],
)
def test_values_of_different_kinds_look_different(arguments: str, line: str) -> None:
    assert shown("tool", arguments).split("\n")[1] == line


def test_of_a_key_that_is_there_twice_the_value_is_shown_that_runs() -> None:
    arguments = '{"command": "ls", "command": "rm -rf ."}'
    assert parse_arguments(arguments) == {"command": "rm -rf ."}
    assert shown("shell", arguments) == "shell\ncommand: rm -rf ."


@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "ls"',
        "[1, 2]",
        "ls -la",
        '"ls"',
        "5" * 5_000,
        '{"a": ' + "[" * 100_000,
    ],
)
def test_arguments_that_are_no_object_are_shown_as_they_came(arguments: str) -> None:
    lines = call_lines("shell", arguments)
    assert "no JSON object" in lines[1][0].text
    assert "".join(piece.text for piece in lines[2][2:]) == arguments


def test_no_arguments_are_no_lines() -> None:
    assert shown("list", "") == shown("list", "{}") == "list"


def test_lists_and_objects_are_shown_as_json_over_several_lines() -> None:
    text = shown("tool", '{"a": {"b": ["c", 1]}}')
    assert text.split("\n")[1:] == [
        "a:",
        "  | {",
        '  |   "b": [',
        '  |     "c",',
        "  |     1",
        "  |   ]",
        "  | }",
    ]


@given(ANY_TEXT, ANY_TEXT)
@example("shell", "a\u2028b")
def test_nothing_shown_moves_a_cursor_or_is_invisible(name: str, command: str) -> None:
    for line in call_lines(name, json.dumps({"command": command, name: command})):
        for piece in line:
            assert not any(map(is_hidden, piece.text))


@given(ANY_TEXT)
def test_the_whole_of_a_text_is_shown(command: str) -> None:
    """Undoing the escapes of the pieces that are marked as such gives the command back, line by line."""
    text = "x\n" + command.replace("\0", "")
    lines = call_lines("tool", json.dumps({"command": text}))
    block = [line for line in lines if line and line[0].kind == "gutter"]
    written = [
        "".join(
            _unescaped(piece.text) if piece.kind == "escape" else piece.text
            for piece in line[2:]
        )
        for line in block
    ]
    found = [line.lstrip(" ") for line in written]
    assert found == [line.lstrip("\t ") for line in text.split("\n")]


def _unescaped(text: str) -> str:
    return text.encode("ascii").decode("unicode_escape")
