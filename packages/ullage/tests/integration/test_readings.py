"""The Meter beside a loop on each simulator, whose tokens for a text, framing and rules are drawn for each seed.

Text is charged in the models' own vocabularies.
"""

import os
import random
from statistics import mean, median
from typing import NamedTuple

import pytest

from tests.cases import case
from tests.integration.conversation import (
    BILLS,
    FIVE,
    MORE,
    Conversation,
    Dialect,
)
from ullage import Meter
from ullage.messages import SystemBlock
from ullage_simulators import Scenario, running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.scenario import ScriptLine, When

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SEEDS = range(1, 41) if THOROUGH else (1, 2, 3)
TURNS, STEPS = 4, 8
LEARNT = 2
"""Actuals after which the estimates are held to their promise."""
DIALECTS = FIVE + MORE
SWAPPED = DIALECTS if THOROUGH else FIVE
RELEARNT = 6
"""Calls after another model took the name, before the estimates are held to their promise again."""

LEAST_INSIDE = 0.92 if THOROUGH else 0.88
"""Of one dialect's calls: 40 seeds give 1,360, so that 92 % is far from 95; three give 102, where chance takes 7."""

INSIDE = (0.92, 0.999)
"""Of all dialects' calls. Above what is meant: a simulator's loop adds nothing unseen, text in the models' own
vocabularies is counted as it is charged, and the part of the interval for
what a program adds (``UNLOGGED``) never shrinks below the least of ``SCALE_RANGE``. Of a half-width
of 24 tokens it is all but 3, where half of the errors are a token."""

WIDEST = 0.015
"""Mean width of an interval, as a share of the input."""

WIDEST_OF = {"older-gemini": 0.025}
"""Instead of ``WIDEST``: whether Gemini 2.5 counts a turn's reasoning after the next user message is not known, so that
the interval of a turn's first call holds both (1,700 tokens here); the median of its intervals is 0.65 %."""


class Estimate(NamedTuple):
    """What the meter said before a call, and what the call was charged."""

    tokens: int
    low: int
    high: int
    actual: int

    @property
    def error(self) -> float:
        return abs(self.tokens - self.actual) / self.actual

    @property
    def is_inside(self) -> bool:
        return self.low <= self.actual <= self.high

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.actual


SYSTEM = (
    SystemBlock(
        text="You look after the files of a small museum, and answer visitors who ask about its rooms. "
        + " ".join(
            f"Rule {n}: read the label of case {n} before you speak of it, and name its lender."
            for n in range(60)
        )
    ),
)


def script(seed: int) -> Scenario:
    dice = random.Random(seed)
    lines = [
        ScriptLine(
            ScriptedAnswer(
                prose(dice, dice.randint(10, 120)),
                prose(dice, dice.randint(0, 30)),
                tuple(
                    Call("read", f'{{"path": "hall/case-{dice.randint(1, 999)}.txt"}}')
                    for _ in range(dice.randint(1, 3))
                ),
            ),
            When(contains=f"go on {step}"),
        )
        for step in range(STEPS)
    ]
    return Scenario(
        answers=(*lines, ScriptLine(ScriptedAnswer(prose(dice, 40), prose(dice, 120)))),
        drawn=BILLS,
    )


WORDS = (  # noqa: SIM905
    "vase amphora bronze label shelf lender roof damp light key catalogue number glass the a of from under which was "
    "restored in 1912 and never shown; its handle, broken twice, is kept apart"
).split(" ")


def prose(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(WORDS, k=words))


def listing(dice: random.Random, lines: int) -> str:
    return "\n".join(
        f"    {dice.choice(WORDS)}_{dice.randint(1, 99)} = Case(number={dice.randint(1, 9999)}, of={dice.random():.3f})"
        for _ in range(lines)
    )


def text(dice: random.Random) -> str:
    """What a tool gives: prose, code or a mixture, from a line to some thousand tokens."""
    size = int(2 ** dice.uniform(2, 9))
    return prose(dice, size) if dice.random() < 0.5 else listing(dice, max(1, size // 12))


def estimates(dialect: Dialect, seed: int) -> list[Estimate]:
    """Some turns of a tool loop, with the meter beside them."""
    dice = random.Random(f"{seed} {dialect.name}")
    with (
        running(script(seed), seed=seed) as server,
        Conversation(server, system=SYSTEM) as conversation,
    ):
        meter = Meter(dialect.model, wire=dialect.wire, provider=dialect.provider)
        return turns(conversation, dialect, meter, dice)


def turns(
    conversation: Conversation, dialect: Dialect, meter: Meter, dice: random.Random
) -> list[Estimate]:
    """What the meter said before each call of some turns, and what the conversation's server charged for it."""
    made: list[Estimate] = []
    for _ in range(TURNS):
        conversation.say(f"{prose(dice, dice.randint(5, 60))} go on 0")
        for step in range(1, STEPS + 1):
            made.append(ask(conversation, dialect, meter))
            ending = f"go on {step}" if step < STEPS else "that is all"
            conversation.give(*(text(dice) for _ in range(2)), f"{text(dice)} {ending}")
            last = conversation.messages[-1]
            if (
                len(last.parts) < 3
            ):  # the word that leads the script stands in the last result
                conversation.messages.pop()
                conversation.give(f"{text(dice)} {ending}")
        made.append(ask(conversation, dialect, meter))
    bills = conversation.server.truth().bills
    return [
        one._replace(actual=bill.input) for one, bill in zip(made, bills, strict=True)
    ]


def after_swap(dialect: Dialect, *, same_session: bool) -> list[Estimate]:
    """The calls after another model, which counts in another way, answers under the name that the meter has learnt."""
    dice = random.Random(dialect.name)
    with (
        running(script(1), seed=1) as known,
        running(script(2), seed=2) as other,
        Conversation(known, system=SYSTEM) as conversation,
        Conversation(other, system=SYSTEM) as next_conversation,
    ):
        meter = Meter(dialect.model, wire=dialect.wire, provider=dialect.provider)
        turns(conversation, dialect, meter, dice)
        if same_session:
            conversation.server = other
            return turns(conversation, dialect, meter, dice)
        meter = Meter(
            dialect.model,
            wire=dialect.wire,
            provider=dialect.provider,
            calibration=meter.calibration,
        )
        return turns(next_conversation, dialect, meter, dice)


def ask(conversation: Conversation, dialect: Dialect, meter: Meter) -> Estimate:
    reading = meter.before(conversation.request_to(dialect))
    answer = conversation.ask(dialect)
    meter.after(reading.call, answer.usage, answer.message)
    return Estimate(reading.used.tokens, reading.used.low, reading.used.high, 0)


def test_the_estimate_before_each_call_is_close_and_its_interval_holds_as_often_as_it_says() -> (
    None
):
    """After two actuals half of the estimates are within one percent; the mean interval is 1.5 %."""
    everywhere: list[Estimate] = []
    for dialect in DIALECTS:
        with case(dialect.name):
            by_seed = [estimates(dialect, seed)[LEARNT:] for seed in SEEDS]
            assert all(median(one.error for one in calls) <= 0.01 for calls in by_seed)
            held = [one for calls in by_seed for one in calls]
            assert sum(one.is_inside for one in held) >= LEAST_INSIDE * len(held)
            widest = WIDEST_OF.get(dialect.name, WIDEST)
            assert mean(one.width for one in held) <= widest
            everywhere += held
    least, most = INSIDE
    assert least <= sum(one.is_inside for one in everywhere) / len(everywhere) <= most


@pytest.mark.parametrize("same_session", [True, False])
def test_another_model_under_the_same_name_is_learnt_within_a_few_calls(
    same_session: bool,
) -> None:
    swapped = [after_swap(dialect, same_session=same_session) for dialect in SWAPPED]
    held = [one for calls in swapped for one in calls[RELEARNT:]]
    assert median(one.error for one in held) <= 0.01
    assert sum(one.is_inside for one in held) >= LEAST_INSIDE * len(held)
