import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.display.text import cells, plain
from ullage_agent.cli.asking import Reply, ask_person, drawn_call, reply_of
from ullage_agent.runtime.approvals import Question
from ullage_agent.tools.call_text import call_lines


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("y\n", Reply(True)),
        ("YES", Reply(True)),
        ("", Reply(False)),
        ("\n", Reply(False)),
        ("n", Reply(False)),
        ("n not in this directory\n", Reply(False, "not in this directory")),
        ("no, use rg", Reply(False, "use rg")),
        ("a", Reply(True, always="session")),
        ("p", Reply(True, always="project")),
        ("y rm", None),
        ("yep", None),
        ("use rg instead", None),
        ("a b", None),
    ],
)
def test_a_line_is_an_answer_or_asked_for_again(typed: str, reply: Reply | None) -> None:
    assert reply_of(typed, can_always=True) == reply


@pytest.mark.parametrize("typed", ["a", "always", "p"])
def test_always_is_no_answer_where_nothing_is_offered(typed: str) -> None:
    assert reply_of(typed, can_always=False) is None


async def test_without_terminal_none_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    question = Question(call_id="t", name="shell", digest="d", lines=(), offer=None)
    assert await ask_person(question) == Reply(False, by_nobody=True)
    assert "no person can be asked: shell" in capsys.readouterr().err


def drawn(command: str, width: int, encoding: str = "utf-8") -> list[str]:
    lines = drawn_call(
        call_lines("shell", json.dumps({"command": command})), width, encoding
    )
    return ["".join(span.text for span in line) for line in lines]


def test_a_long_line_goes_on_indented_and_passes_for_no_argument() -> None:
    assert drawn("x" * 20 + " path: b", 20) == [
        "shell",
        "command: xxxxxxxxxxx",
        "  xxxxxxxxx path: b",
    ]
    assert drawn("a\n" + "y" * 20, 12) == [
        "shell",
        "command:",
        "  | a",
        "  | yyyyyyyy",
        "    yyyyyyyy",
        "    yyyy",
    ]


def test_an_escape_is_not_broken() -> None:
    assert drawn("abc\u202e", 16)[1:3] == ["command: abc", "  \\u202e"]


def test_what_a_terminal_cannot_show_is_spelled() -> None:
    assert drawn("echo größer", 60, "ascii")[1] == "command: echo gr\\xf6\\xdfer"


@given(st.text(), st.integers(20, 90))
def test_nothing_is_cut_or_wider_than_the_screen(command: str, width: int) -> None:
    lines = call_lines("shell", json.dumps({"command": command}))
    shown = drawn_call(lines, width)
    assert all(cells(plain(line)) <= width for line in shown)
    kept = "".join(span.text for line in shown for span in line).replace(" ", "")
    assert kept == "".join(piece.text for line in lines for piece in line).replace(
        " ", ""
    )
