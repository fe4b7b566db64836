"""Providers that break off, refuse, or are not there: nothing is doubled, nothing is lost, and the session goes on."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.promises import stage
from tests.tiers import first_of
from ullage.errors import BadKey, ProviderError
from ullage.events import ToolStarted, TurnEnded
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Scenario, running

SAID = "There is a vase in the hall, and another one in the yard that nobody has ever counted."
CALLS = [
    {"name": "look", "arguments": {"room": "hall"}},
    {"name": "look", "arguments": {"room": "yard"}},
]


def look(room: str) -> str:
    """Look into a room.

    Args:
        room: Which.
    """
    return f"The {room} is fine."


def troubled(*faults: dict[str, Any], **more: Any) -> Scenario:
    return stage.script(
        {
            "when": {"contains": "look", "after": "user"},
            "reasoning": "Both.",
            "text": "I look.",
            "calls": CALLS,
        },
        {"reasoning": "Fine.", "text": SAID},
        faults=list(faults),
        **more,
    )


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
CUTS = (1, 200, 420, 700, 950, 1_200, 1_500, 1_900)


@pytest.mark.parametrize(
    ("kind", "cuts"),
    first_of(
        [("cut", CUTS), ("reset", CUTS)]
        if THOROUGH
        else [("cut", CUTS[::2]), ("reset", CUTS[1::2])]
    ),
)
@pytest.mark.parametrize("speaker", first_of(stage.SIX, 2), ids=lambda one: one.name)
async def test_a_stream_that_breaks_at_any_byte_is_asked_for_again_and_stands_once(
    speaker: stage.Speaker, kind: str, cuts: tuple[int, ...], tmp_path: Path
) -> None:
    """Every other request is cut; the one behind it is whole."""
    faults = [
        {"kind": kind, "request": 2 * place + 1, "at": at}
        for place, at in enumerate(cuts)
    ]
    with running(troubled(*faults)) as server:
        sent = stage.Sent(server)
        agent = stage.agent_for(tmp_path / "s.db", sent, tools=[look], server=server)
        async with agent.session("s", **speaker.settings()) as session:
            turns = 0
            while stage.requests_of(server) < 2 * len(cuts):
                assert (await session.ask("Please look.")).text == SAID
                turns += 1
            events, messages = await session.history(), await session.messages()
        stage.assert_accepted(server)
        answers = [message for message in messages if message.role == "assistant"]
        assert [stage.text_of(message) for message in answers] == [
            "I look.",
            SAID,
        ] * turns
        assert not [message for message in answers if message.interrupted]
        assert len(stage.of_kind(events, ToolStarted)) == 2 * turns
        stage.assert_calls_closed(events)
        outcomes = [event.outcome for event in stage.ended(events)]
        assert outcomes.count("dropped") + len(stage.retried(events)) == len(cuts)
        assert all(
            message.interrupted == "dropped"
            for message in stage.answers_in(events)
            if message not in answers
        )
        if not stage.retried(events):
            stage.assert_epochs(stage.exchanged(sent, server, events))


async def test_a_stream_that_breaks_every_time_ends_the_turn_and_keeps_what_came_last(
    tmp_path: Path,
) -> None:
    with running(
        stage.script({"text": SAID * 4}, faults=[{"kind": "cut", "at": 900}])
    ) as server:
        agent = stage.agent_for(tmp_path / "s.db", tries=2, server=server)
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            result = await session.ask("Tell me.")
            assert result.reason == "dropped" and stage.requests_of(server) == 2
            (answer,) = (
                message
                for message in await session.messages()
                if message.role == "assistant"
            )
            assert answer.interrupted == "dropped" and SAID.startswith(
                stage.text_of(answer)[: len(SAID)]
            )


REFUSED: dict[str, dict[str, Any]] = {
    "bad key": {"kind": "status", "status": 401},
    "no right": {"kind": "status", "status": 403},
    "busy": {"kind": "status", "status": 429, "retry_after_s": 0.01},
    "overloaded": {"kind": "status", "status": 529, "retry_after_s": 0.01},
    "broken": {"kind": "status", "status": 500, "retry_after_s": 0.01},
    "sign-in page": {"kind": "content-type"},
}


@pytest.mark.parametrize("trouble", REFUSED)
@pytest.mark.parametrize(
    "speaker",
    [
        pytest.param(one, id=one.name)
        for one in (stage.CLAUDE, stage.RESPONSES, stage.CHAT, stage.GEMINI)
    ],
)
async def test_a_refused_call_waits_with_everything_kept_and_is_resumed(
    speaker: stage.Speaker, trouble: str, tmp_path: Path
) -> None:
    """The second call of the turn fails, when results of tools are there, and a message waits."""
    faults = [{**REFUSED[trouble], "request": number} for number in (2, 3)]
    with running(troubled(*faults)) as server:
        sent = stage.Sent(server)
        agent = stage.agent_for(
            tmp_path / "s.db", sent, tools=[look], tries=2, server=server
        )
        async with agent.session("s", **speaker.settings()) as session:
            await session.send("Please look.", id="first")
            await session.send("Afterwards.", id="later", kind="follow_up")
            result = await session.wait(check=False)
            tried_once = stage.requests_of(server) == 2
            assert (result.reason, result.is_paused) == ("failed", True)
            assert result.note and isinstance(result.error, ProviderError)
            with pytest.raises(ProviderError):
                result.or_raise()
            assert [one.id for one in await session.pending()] == ["later"]
        async with stage.agent_for(
            tmp_path / "s.db", sent, tools=[look], tries=2, server=server
        ).session("s") as session:
            assert (await session.wait(check=False)).reason == "failed"
            assert stage.requests_of(server) == (2 if tried_once else 3)
            await session.resume()
            result = await session.wait(check=False)
            if tried_once:
                assert result.reason == "failed"
                await session.resume()
                result = await session.wait()
            assert (result.text, result.reason) == (SAID, "finished")
            events, spend = await session.history(), (await session.context()).spend
        assert set(stage.assert_queue(events, ["first", "later"]).values()) == {
            "delivered"
        }
        assert len(stage.of_kind(events, ToolStarted)) == 2
        stage.assert_calls_closed(events)
        stage.assert_epochs(stage.exchanged(sent, server, events))
        rows = [event.usage for event in stage.ended(events) if event.outcome != "failed"]
        charged = [bill for bill in server.truth().bills if bill.number not in (2, 3)]
        assert [row.input for row in rows if row is not None] == [
            bill.input for bill in charged
        ]
        assert spend.by_purpose["main"].input == sum(bill.input for bill in charged)


async def test_a_key_that_is_missing_or_wrong_says_which_and_a_right_one_goes_on(
    tmp_path: Path,
) -> None:
    with running(troubled(server={"key": "right"})) as server:
        settings = stage.CLAUDE.settings()
        async with stage.agent_for(
            tmp_path / "s.db", tools=[look], server=server
        ).session("s", **settings) as session:
            with pytest.raises(BadKey):
                await session.ask("Please look.")
        right = {**stage.KEYS, "ANTHROPIC_API_KEY": "right"}
        async with stage.agent_for(
            tmp_path / "s.db", tools=[look], environment=right, server=server
        ).session("s") as session:
            await session.resume()
            assert (await session.wait()).text == SAID
            stage.assert_calls_closed(await session.history())


async def test_a_provider_that_is_not_there_is_waited_for_and_then_goes_on(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    nowhere = f"http://127.0.0.1:{port}/anthropic"
    agent = Agent(
        stage.CLAUDE.model,
        tools=[look],
        tries=1,
        base_url=nowhere,
        store=tmp_path / "s.db",
        environment=stage.KEYS,
        config=False,
    )
    async with agent.session("s") as session:
        await session.send("Please look.", id="first")
        result = await session.wait(check=False)
        assert (result.reason, result.is_paused) == ("failed", True) and str(
            port
        ) in result.note
        with running(troubled(), port=port) as server:
            await session.resume()
            assert (await session.wait()).text == SAID
            stage.assert_accepted(server)
        events = await session.history()
    stage.assert_queue(events, ["first"])
    assert [event.reason for event in stage.of_kind(events, TurnEnded)] == ["finished"]


@pytest.mark.parametrize(
    "speaker", [pytest.param(one, id=one.name) for one in (stage.CLAUDE, stage.DEEPSEEK)]
)
async def test_a_message_or_another_model_takes_a_failed_turn_along(
    speaker: stage.Speaker, tmp_path: Path
) -> None:
    broken = [{"kind": "status", "request": number, "status": 401} for number in (1, 2)]
    with running(troubled(*broken)) as server:
        async with stage.agent_for(
            tmp_path / "s.db", tools=[look], server=server
        ).session("s", **speaker.settings()) as session:
            await session.send("Please look.")
            assert (await session.wait(check=False)).reason == "failed"
            await session.send("Try again.")
            assert (await session.wait(check=False)).reason == "failed"
            await session.set(
                **(
                    stage.RESPONSES if speaker is stage.CLAUDE else stage.CLAUDE
                ).settings()
            )
            assert (await session.wait()).reason == "finished"
            stage.assert_calls_closed(await session.history())
        stage.assert_accepted(server, but=[1, 2])
        assert len(stage.generated(server)) >= 3
