"""A changed system prompt on a model that binds its reasoning: a message tells it, and all reasoning stays valid."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import generated, of_kind, script
from ullage import Agent, TurnContext
from ullage.errors import RequestRejected
from ullage.events import EpochChanged, Event, MessageAdded, SystemChanged
from ullage_agent.runtime.system_notes import PROMPT, REMOVED, REPLACED
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.prompt import ScriptContext

BOUND = "claude-fable-5-1"
THINKS = {"reasoning": "Let me look. " * 5, "text": "Half full."}
SUMMARISES = {
    "when": {"contains": "ummar"},
    "text": "Goal: the casks. Done: two of them. Next: the third.",
}


class Hours:
    """Instructions with another text each turn."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def __call__(self, turn: TurnContext) -> str:
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]

    __name__ = "hour"


def agent(server: Server, place: Path, *writers: Any, **more: Any) -> Agent[str, Any]:
    given: dict[str, Any] = {
        "system": "Keep the casks.",
        "window": 30_000,
        "environment": {"ANTHROPIC_API_KEY": "x"},
        "config": False,
        **more,
    }
    return Agent(
        f"anthropic:{given.pop('model', BOUND)}",
        instructions=list(writers),
        base_url=server.url("anthropic"),
        store=place / "s.db",
        **given,
    )


def prompt(exchange: Any) -> str:
    return " | ".join(block["text"] for block in exchange.body.get("system", []))


def notes(exchange: Any) -> list[str]:
    """The system messages of a request."""
    texts: list[str] = []
    for message in exchange.body["messages"]:
        if message["role"] == "system":
            texts += [block["text"] for block in message["content"]]
    return texts


def thoughts(exchange: Any) -> int:
    """Thinking blocks in a request."""
    blocks = (
        block
        for message in exchange.body["messages"]
        if message["role"] == "assistant"
        for block in message["content"]
    )
    return sum(block["type"] == "thinking" for block in blocks)


def are_accepted(server: Server) -> bool:
    return not any(exchange.rule for exchange in server.exchanges)


async def test_a_changed_instruction_is_appended(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "Two o'clock.", "Two o'clock.", "Three o'clock.")
    with running(script(THINKS)) as server:
        async with agent(server, tmp_path, hours).session("s") as session:
            for _ in range(4):
                await session.ask("How full?")
            events = await session.history()
        sent = generated(server)
    assert are_accepted(server)
    assert {prompt(each) for each in sent} == {"Keep the casks. | One o'clock."}
    two = REPLACED.format("hour()", "Two o'clock.")
    three = REPLACED.format("hour()", "Three o'clock.")
    assert [notes(each) for each in sent] == [[], [two], [two], [two, three]]
    assert [thoughts(each) for each in sent] == [0, 1, 2, 3]
    assert of_kind(events, EpochChanged) == [], "the provider's cache holds"
    assert _in_force(events)[-1] == "Three o'clock."


def _in_force(events: list[Event]) -> list[str]:
    return [block.text for block in of_kind(events, SystemChanged)[-1].system]


async def test_a_model_that_binds_nothing_gets_another_prompt(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "Two o'clock.")
    with running(script(THINKS)) as server:
        async with agent(server, tmp_path, hours, model="claude-opus-5").session(
            "s"
        ) as session:
            await session.ask("How full?")
            await session.ask("And now?")
        first, second = generated(server)
    assert prompt(second) == "Keep the casks. | Two o'clock." != prompt(first)
    assert notes(second) == []


async def test_without_reasoning_to_keep_the_prompt_changes(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "Two o'clock.")
    with running(script({"text": "Half full."})) as server:
        async with agent(server, tmp_path, hours).session("s") as session:
            await session.ask("How full?")
            await session.ask("And now?")
        _, second = generated(server)
    assert prompt(second).endswith("Two o'clock.") and notes(second) == []


async def test_a_prompt_that_is_set_between_turns_is_told_behind_the_next_question(
    tmp_path: Path,
) -> None:
    with running(script(THINKS)) as server:
        async with agent(server, tmp_path).session("s") as session:
            await session.ask("How full?")
            before = (await session.context()).used.tokens
            await session.set(system="Sell the casks.")
            assert (await session.context()).used.tokens > before
            await session.ask("And now?")
            await session.ask("And then?")
            events = await session.history()
        _, second, third = generated(server)
    assert are_accepted(server)
    told = REPLACED.format(PROMPT, "Sell the casks.")
    assert notes(second) == notes(third) == [told]
    roles = [message["role"] for message in second.body["messages"]]
    assert roles == ["user", "assistant", "user", "system"]
    assert thoughts(third) == 2
    assert len(of_kind(events, SystemChanged)) == 2


async def test_a_prompt_set_in_a_turn_is_told_behind_the_results(tmp_path: Path) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()

    async def look() -> str:
        """Looks."""
        began.set()
        await may_end.wait()
        return "Half."

    def assistant(ask: ScriptContext) -> ScriptedAnswer:
        if ask.results or ask.step > 1:
            return ScriptedAnswer(text="Half full.", reasoning="So it is half. " * 5)
        return ScriptedAnswer(calls=(Call("look"),), reasoning="Let me look. " * 5)

    with running(Scenario(assistant=assistant)) as server:
        async with agent(server, tmp_path, tools=[look]).session("s") as session:
            asking = asyncio.create_task(session.ask("How full?"))
            await began.wait()
            await session.set(system="Sell the casks.")
            may_end.set()
            await asking
            await session.ask("And now?")
        _, second, third = generated(server)
    assert are_accepted(server)
    roles = [message["role"] for message in second.body["messages"]]
    assert roles == ["user", "assistant", "user", "system"]
    assert notes(third) == [REPLACED.format(PROMPT, "Sell the casks.")]
    assert (thoughts(second), thoughts(third)) == (1, 2)


async def test_instructions_that_end_are_told_too(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "")
    with running(script(THINKS)) as server:
        async with agent(server, tmp_path, hours).session("s") as session:
            await session.ask("How full?")
            await session.ask("And now?")
        _, second = generated(server)
    assert notes(second) == [REMOVED.format("hour()")]


async def test_a_failed_turn_leaves_no_message_before_a_question(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "Two o'clock.", "Three o'clock.")
    fault = {"request": 2, "kind": "status", "status": 400}
    with running(script(THINKS, faults=[fault])) as server:
        async with agent(server, tmp_path, hours).session("s") as session:
            await session.ask("How full?")
            with pytest.raises(RequestRejected):
                await session.ask("And now?")
            await session.ask("And then?")
            await session.ask("And at last?")
        sent = [each for each in generated(server) if each.body is not None]
    assert are_accepted(server)
    last = sent[-1].body["messages"]
    roles = [message["role"] for message in last]
    assert roles == ["user", "assistant", "user", "assistant", "user", "system"]
    assert "Two o'clock." in str(last[2]) and "Three o'clock." in str(last[-1])
    assert notes(sent[1]) == [], "a question follows it now"
    assert thoughts(sent[-1]) == 2


async def test_after_a_summary_the_prompt_holds_what_was_told(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "Two o'clock.")
    with running(script(SUMMARISES, THINKS)) as server:
        async with agent(server, tmp_path, hours, strategy="llm", keep=0.05).session(
            "s"
        ) as session:
            for number in range(5):
                await session.ask(f"How full is {number}? " + "The cask is wood. " * 300)
            await session.compact()
            await session.wait()
            await session.ask("And now?")
            await session.ask("And then?")
        sent = generated(server)
    assert are_accepted(server)
    assert notes(sent[1]) == [REPLACED.format("hour()", "Two o'clock.")]
    for after in sent[-2:]:
        assert (prompt(after), notes(after)) == ("Keep the casks. | Two o'clock.", [])


async def test_another_process_tells_nothing_twice(tmp_path: Path) -> None:
    with running(script(THINKS)) as server:
        for texts in (("One o'clock.", "Two o'clock."), ("Two o'clock.",)):
            async with agent(server, tmp_path, Hours(*texts)).session("s") as session:
                await session.ask("How full?")
                await session.ask("And now?")
        sent = generated(server)
    assert [len(notes(each)) for each in sent] == [0, 1, 1, 1]
    assert [thoughts(each) for each in sent] == [0, 1, 2, 3]


async def test_a_rewind_behind_the_message_tells_it_again(tmp_path: Path) -> None:
    with running(script(THINKS)) as server:
        async with agent(server, tmp_path).session("s") as session:
            await session.ask("How full?")
            await session.set(system="Sell the casks.")
            await session.ask("And now?")
            messages = of_kind(await session.history(), MessageAdded)
            await session.rewind(messages[1].message.id)
            await session.ask("And then?")
        last = generated(server)[-1]
    assert are_accepted(server)
    assert notes(last) == [REPLACED.format(PROMPT, "Sell the casks.")]
    assert (prompt(last), thoughts(last)) == ("Keep the casks.", 1)


async def test_another_model_is_told_by_message_too(tmp_path: Path) -> None:
    hours = Hours("One o'clock.", "Two o'clock.", "Three o'clock.")
    with running(script(THINKS)) as server:
        async with agent(server, tmp_path, hours).session("s") as session:
            await session.ask("How full?")
            await session.ask("And now?")
            await session.set(model="anthropic:claude-sonnet-5")
            await session.ask("And then?")
        last = generated(server)[-1]
    assert are_accepted(server)
    assert prompt(last).endswith("One o'clock.") and notes(last) == []
    said = str(last.body["messages"])
    assert said.index("Two o'clock.") < said.index("Three o'clock.")


@pytest.mark.parametrize("kind", ["tools", "policy"])
async def test_where_reasoning_is_lost_prompts_change(kind: str, tmp_path: Path) -> None:
    def look() -> str:
        """Looks."""
        return "Half."

    with running(script(THINKS)) as server:
        async with agent(server, tmp_path).session("s") as session:
            await session.ask("How full?")
        more: dict[str, Any] = (
            {"tools": [look]} if kind == "tools" else {"reasoning": "none"}
        )
        async with agent(server, tmp_path, system="Sell.", **more).session(
            "s"
        ) as session:
            await session.ask("And now?")
        last = generated(server)[-1]
    assert are_accepted(server)
    assert (prompt(last), notes(last), thoughts(last)) == ("Sell.", [], 0)
