import json

from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.call_lines import drawn_call
from ullage.display.text import cells, plain
from ullage.tools.call_text import as_text, call_lines


def drawn(command: str, width: int, encoding: str = "utf-8") -> list[str]:
    lines = drawn_call(call_lines("shell", json.dumps({"command": command})), width, encoding)
    return ["".join(span.text for span in line) for line in lines]


def test_a_long_line_goes_on_behind_an_indent_so_that_it_can_pass_for_no_argument() -> None:
    assert drawn("x" * 20 + " path: b", 20) == ["shell", "command: xxxxxxxxxxx", "  xxxxxxxxx path: b"]
    assert drawn("a\n" + "y" * 20, 12) == ["shell", "command:", "  | a", "  | yyyyyyyy", "    yyyyyyyy", "    yyyy"]


def test_an_escape_is_not_broken() -> None:
    assert drawn("abc\u202e", 16)[1:3] == ["command: abc", "  \\u202e"]


def test_what_a_terminal_cannot_show_is_spelled() -> None:
    assert drawn("echo größer", 60, "ascii")[1] == "command: echo gr\\xf6\\xdfer"


@given(st.text(), st.integers(20, 90))
def test_nothing_is_cut_and_nothing_is_wider_than_the_screen(command: str, width: int) -> None:
    lines = call_lines("shell", json.dumps({"command": command}))
    shown = drawn_call(lines, width)
    assert all(cells(plain(line)) <= width for line in shown)
    kept = "".join(span.text for line in shown for span in line).replace(" ", "")
    assert kept == as_text(lines).replace("\n", "").replace(" ", "")
