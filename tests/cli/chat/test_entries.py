from __future__ import annotations

from ullage.cli.chat.entries import Answer, Called


def test_entries_are_values() -> None:
    assert Answer(text="a", part="p") == Answer(text="a", part="p")
    assert Called(name="a", arguments="", call_id="c").outcome is None
