from __future__ import annotations

from ullage.cli.chat.entries import AnswerEntry, Called, MessageEntry, Notice, Thought
from ullage.cli.chat.markdown_export import as_markdown
from ullage.display.text import Span


def test_a_conversation_is_a_text_that_people_can_read() -> None:
    text = as_markdown(
        "Session s",
        [
            MessageEntry(text="Look.", message="m"),
            Thought(text="Hm.", part="p"),
            AnswerEntry(text="I look.", part="q", interrupted="cancelled"),
            Called(name="read", arguments='{"path": "a"}', call_id="c", result="one"),
            Called(name="read", arguments="{}", call_id="d"),
            MessageEntry(text="## Goal", message="s", origin="summary"),
            Notice(line=(Span("compacted"),)),
        ],
    )
    assert text.startswith("# Session s\n\n## You\n\nLook.")
    assert "## Model\n\nI look.\n\n*interrupted: cancelled*" in text
    assert '### Call of read\n\n```\n{"path": "a"}\n```\n\n```\none\n```' in text
    assert "## Summary\n\n## Goal" in text
    assert text.endswith("*compacted*\n")


def test_a_result_with_fences_of_its_own_stands_in_a_longer_one() -> None:
    text = as_markdown("s", [Called(name="read", arguments="", call_id="c", result="```py\nx\n```")])
    assert "````\n```py\nx\n```\n````" in text
