"""A cancel at each piece of an answer: what was shown is what is stored, and the next request says what happened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.promises.stage import (
    CHAT,
    CLAUDE,
    DEEPSEEK,
    GEMINI,
    OLD_CLAUDE,
    RESPONSES,
    Shown,
    Speaker,
    agent_for,
    answers_in,
    assert_accepted,
    assert_calls_closed,
    ended,
    generated,
    of_kind,
    said_to_model,
    script,
    shown_texts,
    stored_texts,
)
from ullage.events import CallEnded, CallStarted, Event, TurnEnded
from ullage.messages import Message, ToolCallPart
from ullage.turns.closing import CUT_BY_USER, NOT_STARTED
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.outcome import CancelAnswer
from ullage_simulators import Server, running
from ullage_simulators.scenario import Scenario

EVERY = 1
SAMPLED = 8
DELAY_S = 0.1
LANES = 3
"""So many cancels at a time, each with a server of its own: an answer is waited for more than worked on."""

THOUGHT = "Both rooms have to be seen: the hall at once, the yard once the rain is over. Ümläut, 漢字, 🙂."
SAID = "I look into the hall and the yard at the same time, and tell you what is there. 漢字 🙂."


def streamed() -> Scenario:
    """An answer with all that an answer can hold, slowly; and one that says goodbye."""
    calls = [
        {"name": "look", "arguments": {"room": room, "how": "slowly, from left to right"}}
        for room in ("a", "b")
    ]
    return script(
        {
            "when": {"contains": "look around"},
            "reasoning": THOUGHT,
            "text": SAID,
            "calls": calls,
        },
        {"text": "Goodbye."},
        server={"delay_s": DELAY_S, "chunk": 12},
    )


def look(room: str, how: str) -> str:
    """Look into a room.

    Args:
        room: Which.
        how: In which way.
    """
    return f"{room} is empty"


class Cut(NamedTuple):
    """What came of one cancelled answer. ``shown`` are the pieces a display was given, joined by part."""

    answer: CancelAnswer
    shown: dict[str, str]
    message: Message | None
    ended: CallEnded
    events: list[Event]
    notes: tuple[str, ...]
    """What the reading said after the cancel."""


async def pieces_of(agent: Agent, speaker: Speaker, server: Server) -> int:
    """How many pieces the answer has where nobody cancels."""
    async with (
        agent.session("whole", **speaker.settings()) as session,
        Shown(session) as shown,
    ):
        await session.ask("Please look around.")
        await shown.until(lambda now: of_kind(now.events, TurnEnded))
    return len(shown.of_call(shown.pieces[0].call))


async def cut_at(agent: Agent, speaker: Speaker, server: Server, index: int) -> Cut:
    """The session's first answer cancelled when ``index`` pieces of it have been shown, and another word after it."""
    async with (
        agent.session(f"cut-{index}", **speaker.settings()) as session,
        Shown(session) as shown,
    ):
        await session.send("Please look around.")
        await shown.until(lambda now: of_kind(now.events, CallStarted))
        call = of_kind(shown.events, CallStarted)[0].call
        await shown.until(
            lambda now: len(now.of_call(call)) >= index or of_kind(now.events, CallEnded)
        )
        answer = await session.cancel()
        await shown.until(lambda now: of_kind(now.events, TurnEnded))
        texts, notes = shown_texts(shown.of_call(call)), session._reading.notes
        result = await session.ask("And now?")
        assert (result.text, result.reason) == ("Goodbye.", "finished")
        events = await session.history()
    message = next((one for one in answers_in(events) if one.call == call), None)
    return Cut(answer, texts, message, ended(events)[0], events, notes)


def judge_cut(cut: Cut, server: Server) -> None:
    """What holds of an answer that was cut in its middle."""
    assert cut.answer == CancelAnswer(True, "partial_assistant")
    assert cut.message is not None and cut.message.interrupted == "cancelled"
    stored = stored_texts(cut.message)
    assert {
        part: text for part, text in stored.items() if text or part in cut.shown
    } == cut.shown
    assert cut.ended.outcome == "cancelled"
    judge_usage(cut.ended)
    assert not any("can't be true" in note for note in cut.notes)
    assert_calls_closed(cut.events)
    body = said_to_model(generated(server)[-1])
    assert (
        NOT_STARTED if list(cut.message.of_type(ToolCallPart)) else CUT_BY_USER
    ) in body


def judge_usage(cancelled: CallEnded) -> None:
    """The usage of a call that was cut is an estimate, says so, and is not nothing."""
    usage = cancelled.usage
    assert usage is not None and usage.input and usage.output
    assert not usage.final and usage.placeholder
    assert any("estimated" in flag for flag in usage.flags)


@pytest.mark.parametrize(
    ("speaker", "every"),
    [
        pytest.param(CLAUDE, EVERY, id="claude, each"),
        *(
            pytest.param(one, SAMPLED, id=one.name)
            for one in (CLAUDE, OLD_CLAUDE, RESPONSES, CHAT, GEMINI, DEEPSEEK)
        ),
    ],
)
async def test_what_was_shown_is_stored_at_whichever_piece_it_is_cancelled(
    speaker: Speaker, every: int, tmp_path: Path
) -> None:
    with running(streamed()) as server:
        agent = agent_for(tmp_path / "whole.db", tools=[look], server=server)
        pieces = await pieces_of(agent, speaker, server)
    indexes = range(1, pieces + 1, every)
    lanes = (
        cuts_at(tmp_path / f"{lane}.db", speaker, indexes[lane::LANES])
        for lane in range(LANES)
    )
    cuts = sum(await asyncio.gather(*lanes))
    assert cuts >= 0.6 * pieces / every


async def cuts_at(store: Path, speaker: Speaker, indexes: Sequence[int]) -> int:
    """Cancels at each of these pieces; gives how many answers that cut."""
    cuts = 0
    with running(streamed()) as server:
        agent = agent_for(store, tools=[look], server=server)
        for index in indexes:
            cut = await cut_at(agent, speaker, server, index)
            if cut.ended.outcome == "cancelled":
                judge_cut(cut, server)
                cuts += 1
            else:  # its last bytes were there before the cancel
                assert cut.message is not None and stored_texts(cut.message) == cut.shown
                assert_calls_closed(cut.events)
        assert_accepted(server)
    return cuts


async def test_an_answer_cancelled_before_its_first_piece_leaves_no_message_and_an_estimate(
    tmp_path: Path,
) -> None:
    scenario = script(
        {"text": "Goodbye."},
        faults=[{"kind": "hang", "request": 1, "at": 0, "seconds": 30}],
    )
    with running(scenario) as server:
        agent = agent_for(tmp_path / "s.db", server=server)
        async with (
            agent.session("none", **CLAUDE.settings()) as session,
            Shown(session) as shown,
        ):
            await session.send("Please look around.")
            await shown.until(lambda _: generated(server))
            answer = await session.cancel()
            assert answer == CancelAnswer(True, None)
            assert (await session.ask("And now?")).text == "Goodbye."
            events = await session.history()
        assert len(answers_in(events)) == 1
        usage = ended(events)[0].usage
        assert (
            usage is not None
            and usage.input
            and not usage.final
            and usage.flags == ("estimated",)
        )


@pytest.mark.parametrize(
    "speaker",
    [pytest.param(one, id=one.name) for one in (CLAUDE, RESPONSES, CHAT, GEMINI)],
)
async def test_an_answer_that_is_not_streamed_can_be_cancelled_too(
    speaker: Speaker, tmp_path: Path
) -> None:
    slow = {"kind": "hang", "request": 1, "at": 40, "seconds": 30}
    with running(script({"text": "Goodbye."}, faults=[slow])) as server:
        agent = agent_for(tmp_path / "s.db", stream=False, server=server)
        async with (
            agent.session("whole", **speaker.settings()) as session,
            Shown(session) as shown,
        ):
            await session.send("Please look around.")
            await shown.until(lambda _: generated(server))
            assert (await session.cancel()).persisted is None
            assert (await session.ask("And now?")).text == "Goodbye."
        assert_accepted(server)
