from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.chat.simulator import talking
from ullage.agent.loop import OpenCall
from ullage.cli.chat.questions import ago, approval_lines, message_choices, session_choices
from ullage.cli.text import plain

WRITES = OpenCall(
    call_id="t", name="write", arguments=json.dumps({"path": "a", "content": "x\n" * 40}), part="p", state="asked"
)


def words(*calls: OpenCall, **more: bool) -> str:
    can_always = more.pop("can_always", True)
    return "\n".join(plain(line) for line in approval_lines(calls, 78, 8, can_always=can_always, **more))


def test_a_question_shows_what_the_call_would_do_as_far_as_there_is_room() -> None:
    text = words(WRITES)
    assert text.startswith("Allow? write(path=a")
    assert "  + x" in text
    assert "34 more lines" in text
    assert "a always write in this session" in text
    assert len(text.splitlines()) <= 9


def test_several_questions_are_counted_and_always_is_offered_only_where_it_can_be_kept() -> None:
    assert "Allow (1 of 2)?" in words(WRITES, WRITES)
    assert "always" not in words(WRITES, can_always=False)


def test_what_is_in_the_input_comes_first() -> None:
    assert "what is in the input" in words(WRITES, is_typing=True)


def test_hostile_arguments_stay_on_their_lines() -> None:
    call = OpenCall(call_id="t", name="sh\x1b[2J", arguments='{"command": "a\\u001b[2J\\nb"}', part="p", state="asked")
    assert all(line.isprintable() for line in words(call).splitlines())


@pytest.mark.parametrize(
    ("seconds", "said"), [(3, "just now"), (75, "1 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")]
)
def test_times_are_said_roughly(seconds: float, said: str) -> None:
    assert ago(seconds) == said


async def test_sessions_and_messages_can_be_chosen_by_what_they_say(tmp_path: Path) -> None:
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
        assert ["*" in plain(choice.line) for choice in pinned] == [choice.target == own[0].target for choice in pinned]
        assert len(pinned) == 4
        assert len(await message_choices(talk.session, "explain", 76)) == 4
