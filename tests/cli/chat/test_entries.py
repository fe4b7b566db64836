from __future__ import annotations

from ullage.cli.chat.entries import AnswerEntry, Called


def test_entries_are_values() -> None:
    assert AnswerEntry(text="a", part="p") == AnswerEntry(text="a", part="p")
    assert Called(name="a", arguments="", call_id="c").outcome is None
