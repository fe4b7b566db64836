from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.chat.simulator import talking
from ullage.display.text import plain
from ullage_agent.chat.choices import ago, message_choices, session_choices


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "just now"), (75, "1 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")],
)
def test_times_are_said_roughly(seconds: float, said: str) -> None:
    assert ago(seconds) == said


async def test_sessions_and_messages_are_chosen_by_what_they_say(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.session.ask("first [bold]thing")
        await talk.session.ask("second")
        (row,) = await session_choices(talk.store)
        assert row.target == "test"
        assert "first [bold]thing" in plain(row.line)
        own = await message_choices(talk.session, "rewind", 76)
        assert ["second" in plain(choice.line) for choice in own] == [True, False]
        await talk.session.pin(own[0].target)
        pinned = await message_choices(talk.session, "pin", 76)
        found = ["*" in plain(choice.line) for choice in pinned]
        assert found == [choice.target == own[0].target for choice in pinned]
        assert len(pinned) == 4
        assert len(await message_choices(talk.session, "explain", 76)) == 4
