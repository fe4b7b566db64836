"""Guardrails of messages and answers: what they stop, change and have asked again, and what happens when they break."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.promises import stage
from ullage import Agent, ToolRetry, TurnContext
from ullage.errors import AnswerInvalid, GuardrailRefused
from ullage.hooks import HookFailed, Refusal
from ullage.messages import ImagePart, Message, TextPart
from ullage.testing import ScriptedModel
from ullage_simulators import running
from ullage_simulators.server import Server

MODEL = "anthropic:claude-haiku-4-5"


def agent_for(server: Server, store: Path, **more: Any) -> Agent[Any]:
    environment = {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url("anthropic"),
    }
    return Agent(
        MODEL, store=store / "s.db", config=False, environment=environment, **more
    )


def no_keys(text: str) -> Refusal | None:
    return Refusal("It holds a key.") if "sk-" in text else None


async def masked(text: str, turn: TurnContext[str]) -> str:
    return text.replace(turn.deps, "[user]")


async def test_a_message_is_refused_before_it_is_stored_or_paid_for(
    tmp_path: Path,
) -> None:
    with running(stage.script({"text": "Hello."})) as server:
        agent = agent_for(server, tmp_path, input_guardrails=[no_keys])
        async with agent.session("s") as session:
            with pytest.raises(
                GuardrailRefused, match="no_keys refused: It holds"
            ) as told:
                await session.ask("Use sk-123.")
            assert (told.value.guardrail, told.value.why) == (
                "no_keys",
                "It holds a key.",
            )
            with pytest.raises(GuardrailRefused):
                _ = [text async for text in session.stream("Use sk-123.")]
            assert "sk-123" not in str(await session.history())
            assert not stage.generated(server)
            assert (await session.ask("Hi.")).text == "Hello."
            # A message that was taken is a receipt, whatever its repetition would be now.
            first = await session.send("Again.", id="mine")
            assert (await session.send("sk-123", id="mine")).id == first.id


async def test_a_queued_message_is_looked_at_when_it_is_edited(tmp_path: Path) -> None:
    with running(stage.script({"text": "Hello."})) as server:
        agent = agent_for(server, tmp_path, input_guardrails=[no_keys])
        async with agent.session("s", resume=False) as session:
            store = (await session._look()).ledger.store
            part = TextPart(id="m.0", text="Hi.")
            waiting = Message(id="m", role="user", parts=(part,))
            await store.send("s", waiting, "steer")
            with pytest.raises(GuardrailRefused):
                await session.edit("m", "Use sk-123.")


async def test_a_message_is_replaced_before_it_is_stored(tmp_path: Path) -> None:
    picture = ImagePart(id="i", mime="image/png", width=4, height=4)
    with running(stage.script({"text": "Hello."})) as server:
        agent = agent_for(server, tmp_path, input_guardrails=[masked, str.upper])
        async with agent.session("s", deps="Ada") as session:
            message = await session._guarded(
                Message(
                    id="m",
                    role="user",
                    parts=(TextPart(id="m.0", text="I am Ada"), picture),
                )
            )
            assert message.text == "I AM [USER]" and picture in message.parts
            await session.ask("I am Ada")
            assert "Ada" not in str(await session.history())
            assert "I AM [USER]" in str(stage.generated(server)[0].body)


class Price(msgspec.Struct):
    euros: int


def below_ten(price: Price) -> Price | None:
    if price.euros > 10:
        raise ToolRetry("It has to be below 10")
    return Price(price.euros + 1) if price.euros else None


async def test_an_answer_is_asked_again_with_the_reason_and_may_be_changed(
    tmp_path: Path,
) -> None:
    script = stage.script(
        {"when": {"contains": "below 10"}, "text": '{"euros": 7}'},
        {"text": '{"euros": 70}'},
    )
    with running(script) as server:
        agent = agent_for(
            server, tmp_path, output_type=Price, output_guardrails=[below_ten]
        )
        result = await agent.ask("What does it cost?")
        assert result.output == Price(8)
        assert len(stage.generated(server)) == 2


async def test_an_answer_is_asked_again_as_often_as_allowed(tmp_path: Path) -> None:
    with running(stage.script({"text": "No."})) as server:

        def never(text: str) -> None:
            raise ToolRetry("Say yes")

        agent = agent_for(server, tmp_path, output_guardrails=[never], output_retries=1)
        with pytest.raises(
            AnswerInvalid, match="the guardrails, after 1 more tries: Say yes"
        ):
            await agent.ask("Well?")
        assert len(stage.generated(server)) == 2


async def test_an_answer_is_refused_and_its_text_is_not_in_the_result(
    tmp_path: Path,
) -> None:
    with running(stage.script({"text": "The key is sk-123."})) as server:
        agent = agent_for(server, tmp_path, output_guardrails=[no_keys])
        with pytest.raises(GuardrailRefused, match="no_keys refused"):
            await agent.ask("Well?")
        async with agent.session("s") as session:
            await session.send("Well?")
            result = await session.wait(check=False)
            assert (result.text, result.reason) == ("", "refused")
            assert "sk-" not in f"{result} {result!r} {result.error}"
            with pytest.raises(GuardrailRefused):
                _ = result.output


async def test_the_text_of_an_answer_is_replaced(tmp_path: Path) -> None:
    with running(stage.script({"text": "Hello Ada."})) as server:
        agent = agent_for(server, tmp_path, output_guardrails=[masked])
        result = await agent.ask("Well?", deps="Ada")
        assert (result.text, result.output) == ("Hello [user].", "Hello [user].")
        stream = agent.stream("Well?", deps="Ada")
        assert "".join([text async for text in stream]) == "Hello Ada."
        assert stream.result.text == "Hello [user]."


def _raises(text: str) -> None:
    raise ValueError("no rule")


async def _hangs(text: str) -> None:
    await asyncio.sleep(60)


def _blocks(text: str) -> None:
    threading.Event().wait(60)


def _asks_again(text: str) -> None:
    raise ToolRetry("Ask again")


@pytest.mark.parametrize(
    ("guardrail", "told"),
    [
        (_raises, "The guardrail _raises failed, so nothing was let through: ValueError: no rule"),
        (_hangs, "The guardrail _hangs failed, so nothing was let through: TimeoutError"),
        (_blocks, "The guardrail _blocks failed, so nothing was let through: TimeoutError"),
        (lambda text: 7, "The guardrail <lambda> returned int, and may return: None, str, Refusal"),
        (lambda: None, "The guardrail <lambda> failed"),
    ],
)  # fmt: skip
async def test_a_guardrail_that_breaks_lets_nothing_through(
    guardrail: Any, told: str, tmp_path: Path
) -> None:
    timeout = 60.0  # of those that end, however long a busy machine takes to run them
    if guardrail in (_hangs, _blocks):
        timeout = 0.05
    with running(stage.script({"text": "Secret."})) as server:
        agent = agent_for(server, tmp_path, input_guardrails=[guardrail], timeout=timeout)
        with pytest.raises(HookFailed) as problem:
            await agent.ask("Well?")
        assert told in str(problem.value) and not stage.generated(server)
        agent = agent_for(
            server, tmp_path, output_guardrails=[guardrail], timeout=timeout
        )
    # A model of the program's own, to whose calls the timeout does not apply.
    with agent.override(model=ScriptedModel(["Secret."])):
        async with agent.session("s") as session:
            await session.send("Well?")
            result = await session.wait(check=False)
        assert told in str(result.error) and result.text == ""


async def test_a_cancelled_turn_is_not_asked_again_and_its_text_is_not_given(
    tmp_path: Path,
) -> None:
    begun: list[bool] = []

    async def slow() -> str:
        """Takes its time."""
        begun.append(True)
        await asyncio.sleep(60)
        return ""

    script = stage.script({"text": "The key is sk-1.", "calls": [{"name": "slow"}]})
    for more in ({"output_guardrails": [_asks_again]}, {"output_type": Price}):
        begun.clear()
        with running(script) as server:
            agent = agent_for(server, tmp_path, tools=[slow], **more)
            async with agent.session() as session:
                await session.send("Well?")
                await stage.until(lambda: begun)
                await session.cancel()
                result = await session.wait(check=False)
            assert result.reason == "cancelled" and len(stage.generated(server)) == 1
            assert bool(result.text) == ("output_type" in more)
            with pytest.raises(AnswerInvalid, match="There is no"):
                _ = result.output
