"""Long tool loops: requests only grow, and the usage that is read is what the simulator charged.

HYPOTHESIS_PROFILE=thorough uv run pytest tests/integration      loops of 200 steps
"""

import os
import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.integration import epochs
from tests.integration.conversation import (
    ADAPTIVE_CLAUDE,
    ANTHROPIC,
    BOUND_CLAUDE,
    CHAT,
    DEEPSEEK,
    GEMINI,
    MISTRAL,
    MOONSHOT,
    OLDER_GEMINI,
    OPENROUTER,
    RESPONSES,
    ROUNDED_RESPONSES,
    VLLM,
    XAI,
    Conversation,
    Dialect,
)
from ullage.usage import Usage
from ullage_simulators import Scenario, Server, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.scenario import ScriptLine, When
from ullage_simulators.wire import Bill

STEPS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 60
CALLS = (
    Call("read", '{"path": "hall/one.txt"}'),
    Call("read", '{"path":"hall/two.txt"}'),
    Call("list", '{"path":"."}'),
)
LOOPS = [
    pytest.param(dialect, id=dialect.name)
    for dialect in (
        ANTHROPIC,
        ADAPTIVE_CLAUDE,
        BOUND_CLAUDE,
        RESPONSES,
        ROUNDED_RESPONSES,
        CHAT,
        GEMINI,
        OLDER_GEMINI,
        DEEPSEEK,
        XAI,
        OPENROUTER,
        MOONSHOT,
        MISTRAL,
        VLLM,
    )
]
WORDS = (  # noqa: SIM905
    "vase amphora bronze label shelf lender roof damp light key catalogue glass"
).split(" ")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    lines = (
        ScriptLine(
            ScriptedAnswer(
                "Which rooms are left? The hall, then the yard.", "Reading on.", CALLS
            ),
            When(contains="go on"),
        ),
        ScriptLine(
            ScriptedAnswer("Everything has been seen.", "All rooms are in order.")
        ),
    )
    with running(Scenario(answers=lines), seed=11) as server:
        yield server


def loop(conversation: Conversation, dialect: Dialect, steps: int) -> None:
    """One turn of so many steps, each with three calls at once, and a last answer without."""
    dice = random.Random(dialect.name)
    conversation.say("Check all rooms, go on until done.")
    for step in range(steps):
        conversation.ask(dialect)
        ending = "go on" if step < steps - 1 else "done"
        conversation.give(
            *(" ".join(dice.choices(WORDS, k=dice.randint(2, 20))) for _ in range(2)),
            ending,
        )
    conversation.ask(dialect)


def bills_of(server: Server, before: int) -> list[Bill]:
    return list(server.truth().bills[before:])


def charged(bill: Bill, dialect: Dialect) -> dict[str, int | None]:
    """What a bill says in our words, as far as the dialect can say it."""
    return {
        "input": bill.input,
        "cache_read": bill.cache_read,
        "cache_write": bill.cache_write,
        "output": bill.output,
        "reasoning": reasoning_said(bill, dialect),
    }


def reasoning_said(bill: Bill, dialect: Dialect) -> int | None:
    """Claude says it from 4.6 on, Mistral never, gpt-5 on Responses in whole 64s."""
    if dialect in (ANTHROPIC, MISTRAL):
        return None
    if dialect is ROUNDED_RESPONSES:
        return bill.reasoning // 64 * 64
    return bill.reasoning


def read(usage: Usage) -> dict[str, int | None]:
    return {
        "input": usage.input,
        "cache_read": usage.cache_read or 0,
        "cache_write": usage.cache_write or 0,
        "output": usage.output,
        "reasoning": usage.reasoning,
    }


@pytest.mark.parametrize("dialect", LOOPS)
def test_a_long_loop_with_parallel_calls_only_grows_and_is_charged_as_read(
    server: Server, dialect: Dialect
) -> None:
    before = len(server.truth().bills)
    with Conversation(server) as conversation:
        loop(conversation, dialect, STEPS)
    assert len(conversation.sent) == STEPS + 1
    for earlier, later in pairwise(conversation.sent):
        assert later.encoded.extends(earlier.encoded)
        assert not later.encoded.unsent
    bodies = [sent.body for sent in conversation.sent]
    for earlier_body, later_body in pairwise(bodies):
        assert epochs.compare(dialect.wire, earlier_body, later_body) is None
    assert not any(sent.repaired.repairs for sent in conversation.sent)
    bills = bills_of(server, before)
    assert [read(sent.answer.usage) for sent in conversation.sent] == [
        charged(bill, dialect) for bill in bills
    ]
    assert all(
        sent.answer.usage.final and not sent.answer.usage.flags
        for sent in conversation.sent
    )
    assert max(bill.cache_read for bill in bills) > 1_000


@pytest.mark.parametrize("dialect", LOOPS)
def test_answers_that_are_not_streamed_are_charged_as_read(
    server: Server, dialect: Dialect
) -> None:
    before = len(server.truth().bills)
    with Conversation(server, stream=False) as conversation:
        loop(conversation, dialect, 6)
        conversation.say("Once more, go on.")
        loop_on(conversation, dialect)
    bills = bills_of(server, before)
    assert [read(sent.answer.usage) for sent in conversation.sent] == [
        charged(bill, dialect) for bill in bills
    ]


def loop_on(conversation: Conversation, dialect: Dialect) -> None:
    conversation.ask(dialect)
    conversation.give("done")
    conversation.ask(dialect)
