"""A long conversation with a tool, for agents of any framework over a simulator with a small window."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ullage_simulators.scenario import read
from ullage_simulators.server import Exchange, Server, running

MODEL = "nobody-knows-this"
OTHER_MODEL = "nor-this-one"
WINDOW = 9_000
SYSTEM = "Look after the valves of the plant, and answer briefly."
SUMMARY_REQUEST = "Write down what is needed to go on"
"""Words of every request for a summary."""

SUMMARY = (
    "## Goal\nLook after the valves.\n## State\n"
    + "Valve 3 is open, the others are shut. " * 20
)


def said(turn: int) -> str:
    """What the user says in this turn; about 300 tokens."""
    return (
        f"Turn {turn}. " + f"Please look at valve {turn} and tell me its pressure. " * 25
    )


def result(number: int) -> str:
    """What the tool gives; about 700 tokens."""
    return f"Valve {number}: " + "pressure 4.2 bar, temperature 21 C, no leak. " * 50


@contextmanager
def simulator(
    window: int = WINDOW, seed: int = 4, first: Sequence[dict[str, Any]] = ()
) -> Iterator[Server]:
    """A simulator whose models call ``look`` once in each turn and then answer; ``first`` are answers before these."""
    answers: list[dict[str, Any]] = [
        {"when": {"contains": SUMMARY_REQUEST}, "text": SUMMARY},
        *first,
        {
            "when": {"after": "user"},
            "text": "Let me look.",
            "calls": [{"name": "look", "arguments": '{"number": 3}'}],
        },
        {"when": {"after": "tool"}, "text": "It is fine: 4.2 bar."},
    ]
    models = []
    for name in (MODEL, OTHER_MODEL):
        models.append({"name": name, "like": "gpt-4.1", "window": window})
    with running(read({"models": models, "answers": answers}), seed=seed) as server:
        yield server


def refused(server: Server) -> list[Exchange]:
    """The requests that were refused."""
    return [each for each in server.exchanges if each.bill is None]


def billed(server: Server) -> int:
    """Input and output of all calls, as the simulator counts them."""
    bills = server.truth().bills
    return sum(bill.input + bill.output for bill in bills)


def summaries(server: Server) -> int:
    """How many requests asked for a summary."""
    return sum(SUMMARY_REQUEST in str(each.body) for each in server.exchanges)
