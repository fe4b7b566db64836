import pytest

from ullage.display.styles import STYLES, ansi
from ullage.display.text import Span


@pytest.mark.parametrize("style", [*STYLES, "row12", ""])
def test_every_style_has_codes_for_a_terminal_and_ends_them(style: str) -> None:
    text = ansi((Span("lamp", style),))
    assert "lamp" in text
    assert text.count("\x1b[") in (0, 2)
    if "\x1b" in text:
        assert text.endswith("\x1b[0m")


def test_a_line_without_styles_is_as_it_is() -> None:
    assert ansi((Span("a "), Span("b"))) == "a b"
