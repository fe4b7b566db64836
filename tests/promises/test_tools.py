"""Tools that raise, hang, print without end or give bytes; hooks that refuse and fail; and people who are asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.promises import stage
from tests.tiers import first_of
from ullage.codec.stream import Answer
from ullage.events import ApprovalAsked, MessageAdded, ToolEnded, ToolStarted, TurnEnded
from ullage.messages import Request, ToolCallPart, ToolResultPart
from ullage.meter.reading import Reading
from ullage.turns.approving import REFUSED_BY_A_RULE
from ullage_agent.runtime.hooks import Hook, Refusal
from ullage_agent.tools.functions import tool
from ullage_agent.tools.tool import Output
from ullage_simulators import Scenario, running


def calling(*names: str, **arguments: Any) -> Scenario:
    calls = [{"name": name, "arguments": arguments} for name in names]
    return stage.script(
        {
            "when": {"contains": "all of it", "after": "user"},
            "reasoning": "All.",
            "text": "Yes.",
            "calls": calls,
        },
        {"text": "That is all."},
    )


def raises() -> str:
    """Raise."""
    raise ValueError("the drawer is locked")


@tool(timeout_s=0.1)
async def hangs() -> str:
    """Hang."""
    await asyncio.sleep(60)
    return "never"


may_wake = threading.Event()


@tool(timeout_s=0.1)
def sleeps() -> str:
    """Sleep in a thread."""
    may_wake.wait(600)
    return "late"


def prints() -> str:
    """Give a hundred million characters."""
    return "all the numbers of the catalogue, one after the other\n" * 1_850_000


def binary() -> bytes:
    """Give bytes."""
    return bytes(range(256)) * 40


def torn() -> str:
    """Give half a character and a NUL."""
    return "a\ud83d b\0"


def quits() -> str:
    """Ask the program to exit."""
    raise SystemExit(3)


WILD = (raises, hangs, sleeps, prints, binary, torn, quits)
OUTCOMES = {
    "raises": "failed",
    "hangs": "timed_out",
    "sleeps": "timed_out",
    "prints": "finished",
    "binary": "finished",
    "torn": "finished",
    "quits": "failed",
    "nobody": "not_started",
}


@pytest.mark.parametrize("speaker", first_of(stage.SIX, 2), ids=lambda one: one.name)
async def test_a_turn_goes_on_whatever_its_tools_do(
    speaker: stage.Speaker, tmp_path: Path
) -> None:
    with running(calling(*OUTCOMES)) as server:
        agent = stage.agent_for(tmp_path / "s.db", tools=WILD, server=server)
        async with agent.session("s", **speaker.settings()) as session:
            may_wake.clear()
            try:
                result = await session.ask("Please do all of it.")
            finally:
                may_wake.set()
            assert (result.text, result.reason) == ("That is all.", "finished")
            events, messages = await session.history(), await session.messages()
        calls = {
            part.call_id: part.name
            for message in messages
            for part in message.of_type(ToolCallPart)
        }
        assert {
            calls[event.call_id]: event.outcome
            for event in stage.of_kind(events, ToolEnded)
        } == OUTCOMES
        results = {calls[part.call_id]: part for part in stage.results_of(messages)}
        assert (
            "the drawer is locked" in results["raises"].text
            and results["raises"].is_error
        )
        assert (
            results["hangs"].is_error
            and results["quits"].is_error
            and "nobody" in results["nobody"].text
        )
        assert len(results["prints"].text) < 100_000
        (long,) = (event for event in stage.of_kind(events, ToolEnded) if event.handle)
        assert long.size_bytes is not None and long.size_bytes >= 99_000_000
        stage.assert_calls_closed(events)
        stage.assert_accepted(server)
        assert len(stage.generated(server)) == 2


async def test_results_go_out_in_the_order_of_the_calls_however_they_end(
    tmp_path: Path,
) -> None:
    async def wait(seconds: float) -> str:
        """Wait.

        Args:
            seconds: How long.
        """
        await asyncio.sleep(seconds)
        return f"waited {seconds}"

    calls = [
        {"name": "wait", "arguments": {"seconds": seconds}} for seconds in (1.0, 0.0, 0.5)
    ]
    scenario = stage.script(
        {"when": {"contains": "all of it", "after": "user"}, "calls": calls},
        {"text": "That is all."},
    )
    with running(scenario) as server:
        async with stage.agent_for(
            tmp_path / "s.db", tools=[wait], server=server
        ).session("s", **stage.CLAUDE.settings()) as session:
            await session.ask("Please do all of it.")
            events = await session.history()
        body = stage.said_to_model(stage.generated(server)[-1])
        assert (
            body.index("waited 1.0") < body.index("waited 0.0") < body.index("waited 0.5")
        )
        recorded = [
            part.text
            for part in stage.results_of(
                event.message for event in stage.of_kind(events, MessageAdded)
            )
        ]
        assert recorded == ["waited 0.0", "waited 0.5", "waited 1.0"]


@pytest.mark.parametrize("how", ["agent", "tool"])
async def test_tools_run_one_after_the_other_where_that_was_asked_for(
    how: str, tmp_path: Path
) -> None:
    now: list[int] = []
    most: list[int] = []

    @tool(sequential=how == "tool")
    async def alone() -> str:
        """Be alone."""
        now.append(1)
        most.append(len(now))
        await asyncio.sleep(0.02)
        now.pop()
        return "done"

    with running(calling("alone", "alone", "alone")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db",
            tools=[alone],
            sequential_tools=how == "agent",
            server=server,
        )
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.ask("Please do all of it.")
    assert most == [1, 1, 1]


# -- hooks --


class Steps(Hook):
    """Notes what it is asked, refuses one tool, and puts a word into results."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def before_call(self, request: Request, reading: Reading) -> None:
        self.seen.append("before call")

    async def after_call(self, answer: Answer, reading: Reading) -> None:
        self.seen.append("after call")

    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> Refusal | None:
        self.seen.append(f"before {name}")
        return Refusal("Nothing is sold here.") if name == "sell" else None

    async def after_tool(self, name: str, output: Output, call_id: str) -> Output:
        self.seen.append(f"after {name}")
        return output._replace(text=f"{output.text} (checked)")


def look() -> str:
    """Look."""
    return "a vase"


async def test_hooks_stand_before_and_after_each_call_and_tool_and_may_refuse_one(
    tmp_path: Path,
) -> None:
    sold: list[bool] = []

    def sell() -> str:
        """Sell."""
        sold.append(True)
        return "sold"

    with running(calling("look", "sell")) as server:
        steps, recorder = Steps(), stage.Recorder()
        agent = stage.agent_for(
            tmp_path / "s.db", steps, recorder, tools=[look, sell], server=server
        )
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.ask("Please do all of it.")
            events, messages = await session.history(), await session.messages()
        assert not sold
        assert steps.seen == [
            *("before call", "after call", "before look", "before sell", "after look"),
            *("before call", "after call"),
        ]
        assert {part.name: part.text for part in stage.results_of(messages)} == {
            "look": "a vase (checked)",
            "sell": f"{REFUSED_BY_A_RULE} Nothing is sold here.",
        }
        assert sorted(event.outcome for event in stage.of_kind(events, ToolEnded)) == [
            "denied",
            "finished",
        ]
        assert [answer.message.id for answer in recorder.answers] == [
            one.id for one in stage.answers_in(events)
        ]


class Failing(Hook):
    """Fails at one place, once."""

    def __init__(self, place: str) -> None:
        self.place = place

    def reach(self, place: str) -> None:
        if place == self.place:
            self.place = ""
            raise RuntimeError("the hook is broken")

    async def before_call(self, request: Request, reading: Reading) -> None:
        self.reach("before call")

    async def after_call(self, answer: Answer, reading: Reading) -> None:
        self.reach("after call")

    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> Refusal | None:
        self.reach("before tool")
        return None

    async def after_tool(self, name: str, output: Output, call_id: str) -> Output:
        self.reach("after tool")
        return output


@pytest.mark.parametrize(
    "place", ["before call", "after call", "before tool", "after tool"]
)
async def test_a_hook_that_fails_ends_the_turn_as_failed_and_nothing_is_lost(
    place: str, tmp_path: Path
) -> None:
    with running(calling("look", "look")) as server:
        agent = stage.agent_for(
            tmp_path / "s.db", Failing(place), tools=[look], server=server
        )
        async with agent.session("s", **stage.CLAUDE.settings()) as session:
            await session.send("Please do all of it.", id="first")
            await session.send("And then?", id="later", kind="follow_up")
            result = await session.wait()
            events = await session.history()
        assert [event.reason for event in stage.of_kind(events, TurnEnded)] == [
            "failed",
            "finished",
        ]
        assert "the hook is broken" in stage.of_kind(events, TurnEnded)[0].note
        assert result.text == "That is all."
        assert set(stage.assert_queue(events, ["first", "later"]).values()) == {
            "delivered"
        }
        stage.assert_calls_closed(events)
        stage.assert_accepted(server)


# -- approvals --


def museum(sold: list[str]) -> Any:
    @tool(needs_approval=lambda arguments: arguments.get("what") != "postcard")
    def sell(what: str) -> str:
        """Sell something.

        Args:
            what: What.
        """
        sold.append(what)
        return f"{what} is sold"

    return sell


def sale() -> Scenario:
    calls = [
        {"name": "sell", "arguments": {"what": what}}
        for what in ("vase", "postcard", "roof")
    ]
    return stage.script(
        {"when": {"contains": "Sell", "after": "user"}, "calls": calls},
        {"text": "That is all."},
    )


@pytest.mark.parametrize("speaker", first_of(stage.SIX, 2), ids=lambda one: one.name)
async def test_people_are_asked_across_restarts_and_their_word_counts_once(
    speaker: stage.Speaker, tmp_path: Path
) -> None:
    sold: list[str] = []
    store = tmp_path / "s.db"
    with running(sale()) as server:
        async with stage.agent_for(store, tools=[museum(sold)], server=server).session(
            "s", **speaker.settings()
        ) as session:
            await session.send("Sell it all.", id="first")
            assert (await session.wait()).reason == "approval"
            await session.send("Meanwhile.", id="meanwhile")
            assert (await session.wait()).reason == "approval"
            vase, roof = (
                event.call_id
                for event in stage.of_kind(await session.history(), ApprovalAsked)
            )
        assert sold == ["postcard"]
        async with stage.agent_for(store, tools=[museum(sold)], server=server).session(
            "s"
        ) as session:
            assert (await session.wait()).reason == "approval"
            await session.approve(vase)
            await session.approve(vase)
            assert (await session.wait()).reason == "approval"
        async with stage.agent_for(store, tools=[museum(sold)], server=server).session(
            "s"
        ) as session:
            await session.approve(roof, False, "It rains.")
            assert (await session.wait()).text == "That is all."
            events, messages = await session.history(), await session.messages()
        assert sold == ["postcard", "vase"]
        assert set(stage.assert_queue(events, ["first", "meanwhile"]).values()) == {
            "delivered"
        }
        denied = [part for part in stage.results_of(messages) if part.is_error]
        assert [type(part) for part in denied] == [
            ToolResultPart
        ] and "It rains." in denied[0].text
        assert (
            len(stage.of_kind(events, ToolStarted)) == 2 and len(stage.ended(events)) == 2
        )
        stage.assert_calls_closed(events)
        stage.assert_accepted(server)
