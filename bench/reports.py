"""What becomes of honest and of broken usage reports: random sessions through ``ullage.Meter``, of known true sizes.

    uv run python -m bench.reports [--sessions 1000] [--kind thread]

*lost*: honest reports that a reading does not rest on although the report before was not used either. *outside*: the
interval after a reported call does not hold the truth (1 % and 20 tokens aside, for the answer). *off*: the reading is
more than 20 % off. *compacted*: a compaction is due although the window is far from its threshold.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from math import exp, log
from random import Random
from typing import Any, Final, NamedTuple

from bench.results import Table
from ullage import Meter

WINDOW: Final = 200_000
FAR: Final = 0.6
"""Of the window: a compaction below it is for nothing, as the threshold is at 0.8."""

HONEST: Final = (
    "plain",
    "stored from the first call",
    "stored from the middle",
    "thread",
    "gateway",
    "subagent",
    "server tools",
    "interrupted",
    "usage missing",
)
BROKEN: Final = (
    "cumulative",
    "only fresh",
    "doubled",
    "per choice",
    "divided by parallel calls",
    "zero",
    "repeated",
    "absurd: too large",
    "absurd: the first report",
    "absurd: too small",
)
COLUMNS: Final = ("calls", "lost", "outside", "off", "compacted")
MODELS: Final = {"chat": "gpt-4.1", "responses": "gpt-5", "messages": "claude-haiku-4-5"}
"""Every second session has an unknown model, whose intervals are wide."""

WORDS: Final = "the gauge of a cask reads full and the cooper writes it down".split()  # noqa: SIM905


class Ended(NamedTuple):
    """What a meter made of one call."""

    true: int
    """Tokens of the request and its answer."""
    reported: int | None
    is_honest: bool
    is_used: bool
    is_outside: bool
    is_off: bool
    compacts: bool


class Talk:
    """A history at a provider, and the bodies that a client sends of it."""

    def __init__(self, kind: str, dice: Random) -> None:
        self.kind, self.dice = kind, dice
        self.wire = "responses" if kind.startswith("stored") else "chat"
        if kind == "thread":
            self.wire = "messages"
        self.model = dice.choice((MODELS[self.wire], "some-model"))
        self.ratio = dice.uniform(0.95, 1.1)
        self.true = dice.choice((0.0, 0.0, 300.0, 2_000.0))
        """Tokens at the provider; at first what it, or a gateway, adds to each request unseen."""
        if kind == "gateway":
            self.true = self.between(5_000, 80_000)
        self.items: list[dict[str, Any]] = []
        self.calls = 0
        self.held_from = {"stored from the first call": 1, "thread": 1}.get(kind, 99)
        if kind == "stored from the middle":
            self.held_from = dice.choice((0, 2, 3))
            if self.held_from == 0:
                self.true += self.between(2_000, 80_000)
        self.choices = dice.randint(2, 4) if kind == "per choice" else 1
        self.is_declared = kind == "server tools" and dice.random() < 0.5
        self.extra = 0.0
        """Tokens that the provider's own tools have brought into the turn."""

    def between(self, low: float, high: float) -> float:
        return exp(self.dice.uniform(log(low), log(high)))

    def say(self, role: str, count: float) -> int:
        """Adds a message; gives the tokens that an answer of this length is billed with."""
        size = int(count)
        self.items.append(
            {"role": role, "content": " ".join(self.dice.choices(WORDS, k=size))}
        )
        tokens = round(self.ratio * size) + 5
        self.true += tokens
        return tokens

    def body(self) -> dict[str, Any]:
        """The next request: all messages, or those that the provider does not hold."""
        new = self.items
        if self.calls >= self.held_from:
            new = self.items[-1:]
        body: dict[str, Any] = {"model": self.model}
        if self.kind == "thread":
            thread = {"type": "create"}
            if self.calls:
                before = f"msg_{self.calls - 1}"
                thread = {"type": "continue", "previous_message_id": before}
            return {**body, "max_tokens": 99, "thread": thread, "messages": list(new)}
        if not self.kind.startswith("stored"):
            body = {**body, "messages": list(new), "n": self.choices}
            return {**body, "web_search_options": {}} if self.is_declared else body
        if self.calls >= self.held_from:
            body["previous_response_id"] = f"resp_{self.calls - 1}"
        return {**body, "input": list(new), "store": True}

    def usage(self, reported: int, answer: int) -> dict[str, int]:
        if self.wire == "chat":
            return {"prompt_tokens": reported, "completion_tokens": answer}
        return {"input_tokens": reported, "output_tokens": answer}


class Reports:
    """What an endpoint reports of one session's calls in the place of the truth."""

    def __init__(self, kind: str, calls: int, dice: Random) -> None:
        self.kind, self.dice = kind, dice
        self.place = dice.randint(1, calls - 2)
        if kind == "absurd: the first report":
            self.place = 0
        self.is_always = dice.random() < 0.5
        self.sum = 0
        self.last = 0
        self.repeated: int | None = None

    def of(self, number: int, true: int, choices: int) -> int | None:
        is_now = number == self.place or (self.is_always and number >= self.place)
        match self.kind:
            case "cumulative":
                self.sum += true
                return self.sum
            case "only fresh":
                last, self.last = self.last, true
                return true - last
            case "doubled" if is_now:
                return 2 * true
            case "per choice":
                return choices * true
            case "divided by parallel calls" if self.dice.random() < 0.3:
                return true // self.dice.randint(2, 6)
            case "zero" if self.dice.random() < 0.3:
                return 0
            case "repeated" if number >= self.place:
                self.repeated = self.repeated or true
                return self.repeated
            case "absurd: too large" | "absurd: the first report" if number == self.place:
                return true * self.dice.randint(30, 500)
            case "absurd: too small" if is_now:
                return self.dice.randint(1, 9)
            case "usage missing" if self.dice.random() < 0.25:
                return None
        return true


def session(kind: str, dice: Random) -> Iterator[Ended]:
    talk = Talk(kind, dice)
    meter = Meter(talk.model, wire=talk.wire, window=WINDOW)
    calls = dice.randint(6, 10)
    reports = Reports(kind, calls, dice)
    searches = {"server tools": (1, 3), "interrupted": (3, 3)}.get(kind)
    begins = dice.randint(1, calls - 4)
    ends = begins + (dice.choice(searches) if searches else 0)
    beside = Talk("plain", dice) if kind == "subagent" else None
    is_known_beside = dice.random() < 0.5
    for number in range(calls):
        if beside is not None and dice.random() < 0.4:
            purpose = "child" if is_known_beside else "main"
            ended = _call(meter, beside, beside_reports(dice), number, purpose)
            if purpose == "main":
                yield ended
        if begins <= number < ends:
            talk.extra += talk.between(5_000, 60_000) if talk.extra == 0 else 0
        else:
            talk.extra = 0.0
        is_broken_off = kind == "interrupted" and number == ends - 1
        yield _call(meter, talk, reports, number, "main", is_broken_off=is_broken_off)


def beside_reports(dice: Random) -> Reports:
    return Reports("plain", 3, dice)


def _call(
    meter: Meter,
    talk: Talk,
    reports: Reports,
    number: int,
    purpose: Any,
    *,
    is_broken_off: bool = False,
) -> Ended:
    first = talk.between(30, 3_000)
    talk.say("user", talk.between(15, 1_500) if talk.calls else first)
    call = meter.before(talk.body(), purpose=purpose).call
    true = round(talk.true + talk.extra)
    reported = reports.of(number, true, talk.choices)
    answer = talk.say("assistant", talk.between(10, 600))
    usage: Mapping[str, int] | None = None
    if reported is not None and not (is_broken_off and talk.dice.random() < 0.5):
        usage = talk.usage(reported, answer)
    reading = meter.after(
        call,
        usage,
        {"role": "assistant", "content": talk.items[-1]["content"]}
        if talk.wire != "responses"
        else [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": talk.items[-1]["content"]}],
            }
        ],
        outcome="cancelled" if is_broken_off else "finished",
    )
    talk.calls += 1
    used, full, slack = reading.used, true + answer, 0.01 * true + 20
    return Ended(
        true=full,
        reported=None if usage is None else reported,
        is_honest=usage is not None and reported == true,
        is_used=reading.basis.last_input == true,
        is_outside=not used.low - slack <= full <= used.high + slack,
        is_off=abs(used.tokens - full) > 0.2 * full,
        compacts=reading.should_compact() and full < FAR * WINDOW,
    )


def count(kind: str, sessions: int) -> Counter[str]:
    """The figures of so many sessions."""
    found: Counter[str] = Counter()
    for seed in range(sessions):
        was_lost = False
        for call in session(kind, Random(f"{kind} {seed}")):
            found["calls"] += 1
            found["off"] += call.is_off
            found["compacted"] += call.compacts
            if call.reported is None:
                continue
            found["outside"] += call.is_outside
            is_lost = call.is_honest and not call.is_used
            found["lost"] += is_lost and was_lost
            was_lost = is_lost
    return found


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.reports", description=__doc__)
    options.add_argument("--sessions", type=int, default=1_000)
    options.add_argument("--kind", choices=HONEST + BROKEN)
    chosen = options.parse_args()
    for title, kinds in (("Honest reports", HONEST), ("Broken reports", BROKEN)):
        rows: list[tuple[str, ...]] = []
        for kind in kinds:
            if chosen.kind in {None, kind}:
                found = count(kind, chosen.sessions)
                rows.append((kind, *(f"{found[each]:,}" for each in COLUMNS)))
        print(Table(title, ("kind", *COLUMNS), tuple(rows)).markdown(), flush=True)


if __name__ == "__main__":
    main()
