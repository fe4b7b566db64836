"""Fifty tests of the agent in shop.py: no key, no network, no file."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from shop import Order, Reply, Shop, Wine, sommelier, support

import ullage
from ullage.errors import (
    AnswerInvalid,
    BadKey,
    CommandRefused,
    GuardrailRefused,
    RateLimited,
)
from ullage.messages import Stopped
from ullage.testing import FunctionModel, ScriptedModel, capture, reasoning, tool_call

DONE = Reply("It is done.")
PRICEY = ullage.Usage(input=100, output=5_000)


def shop() -> Shop:
    orders = {
        "A1": Order("Riesling", 30.0, "on its way"),
        "A2": Order("Silvaner", 18.0, "delivered"),
        "A3": Order("corks", 5.0, "being packed"),
    }
    return Shop("Ada", orders)


def last_text(model: ScriptedModel, request: int = -1) -> str:
    """What the model read last."""
    parts = model.requests[request].messages[-1].parts
    return "".join(getattr(part, "text", "") for part in parts)


def asked(
    model: ScriptedModel, text: str = "Hello.", deps: Shop | None = None
) -> ullage.Result[Reply]:
    with support.override(model=model, store=None):
        return support.run_sync(text, deps=deps or shop())


# -- tools --


@pytest.mark.parametrize(
    ("order", "status"),
    [("A1", "on its way"), ("A2", "delivered"), ("A3", "being packed")],
)
def test_the_status_of_an_order_is_told(order: str, status: str) -> None:
    model = ScriptedModel([tool_call("order_status", order=order), DONE])
    asked(model, f"Where is {order}?")
    assert f"is {status}." in last_text(model)


def test_an_unknown_order_is_answered_with_the_known_ones() -> None:
    model = ScriptedModel(
        [
            tool_call("order_status", order="B7"),
            tool_call("order_status", order="A1"),
            DONE,
        ]
    )
    assert asked(model).output == DONE
    assert "There is no order B7. The customer has A1, A2, A3." in last_text(model, 1)


def test_a_tool_is_not_asked_a_third_time() -> None:
    wrong = tool_call("order_status", order="B7")
    model = ScriptedModel([wrong, wrong, wrong, DONE])
    asked(model)
    assert "There is no order" not in last_text(model)


def test_wrong_arguments_are_told_to_the_model() -> None:
    model = ScriptedModel([tool_call("order_status", number=1), DONE])
    asked(model)
    assert "order" in last_text(model) and "is on its way" not in last_text(model)


def test_calls_of_one_answer_run_together() -> None:
    calls = [tool_call("order_status", order=order) for order in ("A1", "A2")]
    model = ScriptedModel([calls, DONE])
    asked(model)
    results = [
        message for message in model.requests[-1].messages if message.role == "tool"
    ]
    assert len(results) == 2


def test_an_unknown_tool_is_named() -> None:
    model = ScriptedModel([tool_call("order_state", order="A1"), DONE])
    asked(model)
    assert "order_status" in last_text(model)


# -- refunds --


@pytest.mark.parametrize("euros", [1.0, 5.0, 20.0])
def test_a_small_refund_is_made_at_once(euros: float) -> None:
    deps = shop()
    model = ScriptedModel([tool_call("refund", order="A2", euros=euros), DONE])
    asked(model, deps=deps)
    assert deps.refunds == [("A2", euros)]


async def answered(model: ScriptedModel, deps: Shop, allow: bool) -> ullage.Result[Reply]:
    async with (
        support.override(model=model, store=None),
        support.session(deps=deps) as session,
    ):
        await session.send("I want my money back.")
        waiting = await session.wait(check=False)
        assert waiting.reason == "approval" and not deps.refunds
        (question,) = await session.questions()
        await session.approve(question.call_id, allow, digest=question.digest)
        return await session.wait()


@pytest.mark.parametrize("euros", [20.5, 30.0, 1_000.0])
def test_a_large_refund_waits_for_a_person(euros: float) -> None:
    deps = shop()
    model = ScriptedModel([tool_call("refund", order="A1", euros=euros), DONE])
    asyncio.run(answered(model, deps, True))
    assert deps.refunds == [("A1", euros)]


def test_a_denied_refund_is_not_made_and_the_model_hears_of_it() -> None:
    deps = shop()
    model = ScriptedModel([tool_call("refund", order="A1", euros=30), DONE])
    asyncio.run(answered(model, deps, False))
    assert not deps.refunds and "paid back" not in last_text(model)


def test_the_question_shows_what_would_be_paid() -> None:
    async def look() -> str:
        model = ScriptedModel([tool_call("refund", order="A1", euros=30), DONE])
        with support.override(model=model, store=None):
            async with support.session(deps=shop()) as session:
                await session.send("I want my money back.")
                await session.wait(check=False)
                (question,) = await session.questions()
                shown = "".join(piece.text for line in question.lines for piece in line)
                await session.approve(question.call_id, False, digest=question.digest)
                await session.wait()
                return shown

    shown = asyncio.run(look())
    assert "A1" in shown and "30" in shown


def test_a_yes_to_other_arguments_does_not_count() -> None:
    async def ask() -> None:
        model = ScriptedModel([tool_call("refund", order="A1", euros=30)])
        with support.override(model=model, store=None):
            async with support.session(deps=shop()) as session:
                await session.send("I want my money back.")
                await session.wait(check=False)
                (question,) = await session.questions()
                await session.approve(question.call_id, True, digest="of other arguments")

    with pytest.raises(CommandRefused):
        asyncio.run(ask())


def test_another_call_runs_while_a_refund_waits() -> None:
    deps = shop()
    both = [
        tool_call("refund", order="A1", euros=30),
        tool_call("refund", order="A3", euros=5),
    ]

    async def both_asked() -> list[tuple[str, float]]:
        with support.override(model=ScriptedModel([both, DONE]), store=None):
            async with support.session(deps=deps) as session:
                await session.send("Pay both back.")
                await session.wait(check=False)
                before = list(deps.refunds)
                (question,) = await session.questions()
                await session.approve(question.call_id, True, digest=question.digest)
                await session.wait()
                return before

    assert asyncio.run(both_asked()) == [("A3", 5)]
    assert deps.refunds == [("A3", 5), ("A1", 30)]


# -- answers --


@pytest.mark.parametrize(
    "reply",
    [
        Reply("Hello."),
        Reply("A1 is late.", order="A1"),
        Reply("Wait.", needs_person=True),
    ],
)
def test_the_answer_is_a_reply(reply: Reply) -> None:
    assert asked(ScriptedModel([reply])).output == reply


def test_an_answer_in_another_form_is_asked_for_again() -> None:
    model = ScriptedModel(["I think so.", DONE])
    assert asked(model).output == DONE
    assert len(model.requests) == 2


def test_after_two_more_tries_a_wrong_form_is_an_error() -> None:
    with pytest.raises(AnswerInvalid):
        asked(ScriptedModel(["No.", "No.", "No."]))


def test_an_order_that_the_customer_has_not_is_asked_for_again() -> None:
    model = ScriptedModel([Reply("See.", order="B7"), Reply("See.", order="A1")])
    assert asked(model).output.order == "A1"
    assert "no order B7" in last_text(model)


def test_a_cut_answer_is_asked_for_again() -> None:
    model = ScriptedModel([['{"text": "Hel', Stopped("length")], DONE])
    assert asked(model).output == DONE


# -- what is said to the agent --


@pytest.mark.parametrize(
    "text", ["4111111111111111", "My card: 4111 1111 1111 1111.", "4111-1111-1111-1111"]
)
def test_no_card_number_reaches_the_model(text: str) -> None:
    model = ScriptedModel([])
    with pytest.raises(GuardrailRefused, match="card"):
        asked(model, text)
    assert not model.requests


@pytest.mark.parametrize("text", ["Call 0170 1234567.", "Order 411111111111111, please."])
def test_other_numbers_reach_it(text: str) -> None:
    model = ScriptedModel([DONE])
    asked(model, text)
    assert last_text(model) == text


@pytest.mark.parametrize("customer", ["Ada", "Grace"])
def test_the_model_is_told_whom_it_serves(customer: str) -> None:
    model = ScriptedModel([DONE])
    asked(model, deps=Shop(customer, {}))
    system = " ".join(block.text for block in model.requests[0].system)
    assert "You are brief and kind." in system and f"You serve {customer}." in system


def test_it_has_the_tools_of_a_shop() -> None:
    model = ScriptedModel([DONE])
    asked(model)
    names = {tool.name for tool in model.requests[0].tools}
    assert {"order_status", "refund", "terms", "recommend"} <= names


def test_each_tool_says_what_it_does() -> None:
    model = ScriptedModel([DONE])
    asked(model)
    assert all(tool.description for tool in model.requests[0].tools)


# -- the sommelier --


def with_sommelier(model: ScriptedModel, wine: ScriptedModel) -> ullage.Result[Reply]:
    with sommelier.override(model=wine):
        return asked(model)


@pytest.mark.parametrize(
    ("arguments", "task"),
    [
        ({"dish": "trout"}, "trout, at most 15 euros"),
        ({"dish": "veal", "euros": 40}, "veal, at most 40 euros"),
    ],
)
def test_the_sommelier_gets_dish_and_price(arguments: dict[str, Any], task: str) -> None:
    wine = ScriptedModel([Wine("Riesling", 12.0)])
    with_sommelier(ScriptedModel([tool_call("recommend", **arguments), DONE]), wine)
    assert task in last_text(wine)


def test_its_wine_comes_back_in_its_type() -> None:
    model = ScriptedModel([tool_call("recommend", dish="trout"), DONE])
    with_sommelier(model, ScriptedModel([Wine("Riesling", 12.0)]))
    assert json.loads(last_text(model)) == {"name": "Riesling", "euros": 12.0}


def test_it_does_not_see_the_conversation() -> None:
    wine = ScriptedModel([Wine("Riesling", 12.0)])
    with_sommelier(ScriptedModel([tool_call("recommend", dish="trout"), DONE]), wine)
    assert len(wine.requests[0].messages) == 1


def test_it_has_its_own_instructions_and_no_tool_of_the_shop() -> None:
    wine = ScriptedModel([Wine("Riesling", 12.0)])
    with_sommelier(ScriptedModel([tool_call("recommend", dish="trout"), DONE]), wine)
    assert wine.requests[0].system[0].text == "You choose one wine."
    assert "refund" not in [tool.name for tool in wine.requests[0].tools]


def test_what_it_used_is_counted_with_the_rest() -> None:
    model = ScriptedModel([tool_call("recommend", dish="trout"), DONE])
    result = with_sommelier(model, ScriptedModel([[Wine("Riesling", 12.0), PRICEY]]))
    assert (result.usage.output or 0) > 5_000


# -- when something fails --


def test_a_busy_provider_is_asked_again() -> None:
    model = ScriptedModel([RateLimited("Slow down.", retry_after_s=0.001), DONE])
    assert asked(model).output == DONE


def test_a_wrong_key_is_an_error() -> None:
    with pytest.raises(BadKey):
        asked(ScriptedModel([BadKey("no")]))


def test_more_than_five_tool_calls_pause_the_turn() -> None:
    calls = [tool_call("order_status", order=f"A{n % 3 + 1}") for n in range(6)]
    with support.override(model=ScriptedModel(calls), store=None):
        result = support.run_sync("All orders, twice.", deps=shop(), check=False)
    assert result.reason == "budget" and "5 of 5 tool calls" in result.note


def test_a_program_without_a_customer_is_told_so() -> None:
    with (
        support.override(model=ScriptedModel([]), store=None),
        pytest.raises(ullage.errors.SettingError, match="deps of type Shop"),
    ):
        support.run_sync("Hello.")


# -- conversations --


async def conversation(model: Any, *texts: str, session: str = "ada") -> list[Reply]:
    with support.override(model=model, store=None):
        async with support.session(session, deps=shop()) as opened:
            return [(await opened.ask(text)).output for text in texts]


def test_the_second_question_comes_with_the_first() -> None:
    model = ScriptedModel([Reply("Hello, Ada."), DONE])
    asyncio.run(conversation(model, "I am Ada.", "Who am I?"))
    assert "I am Ada." in model.requests[1].messages[0].text


def test_a_conversation_goes_on_after_a_restart_and_no_other_one_does() -> None:
    store = ullage.MemoryStore()

    def said(session: str) -> int:
        """Messages that the model gets for a question in the session, from a program that has just begun."""
        model = ScriptedModel([DONE])
        with support.override(model=model, store=store):
            support.run_sync("Hello.", session=session, deps=shop())
        return len(model.requests[0].messages)

    assert [said("ada"), said("ada"), said("grace")] == [1, 4, 1]


def test_its_reasoning_is_no_part_of_the_answer() -> None:
    result = asked(ScriptedModel([[reasoning("The customer is sad."), DONE]]))
    assert result.output == DONE and "sad" not in result.text


def test_what_happened_is_recorded() -> None:
    model = ScriptedModel([tool_call("order_status", order="A1"), DONE])
    with capture(support) as sent:
        asked(model)
    names = [type(event).__name__ for event in sent.events]
    assert names.count("ToolStarted") == 2 and names[-1] == "TurnEnded"


def test_a_long_conversation_is_compacted_and_keeps_its_rules() -> None:
    """The model has a small window; it is asked for a summary like a real one."""

    def model(request: ullage.messages.Request) -> object:
        if "Write down what is needed" in request.messages[-1].text:
            return "The customer asked about the terms."
        return DONE

    small = FunctionModel(model, window=8_000)
    talk = [f"Always call me Ada. {'Tell me more about it. ' * 300}"] * 8
    asyncio.run(conversation(small, *talk))
    newest = small.requests[-1].messages
    assert len(newest) < 20
    assert any(
        "The customer asked about the terms." in message.text for message in newest
    )
    assert any("Always call me Ada." in message.text for message in newest)


def test_the_terms_are_read_whole() -> None:
    model = ScriptedModel([tool_call("terms"), DONE], window=16_000)
    asked(model)
    assert "75. Corked bottles are replaced for 400 days." in last_text(model)
