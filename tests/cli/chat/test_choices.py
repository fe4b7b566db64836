from __future__ import annotations

from ullage.cli.chat.choices import Choice
from ullage.display.text import Span


def test_a_line_without_a_target_can_not_be_chosen() -> None:
    assert Choice((Span("a heading"),)).target == ""
