"""How close the estimates are on a real local server, whose tokenizer nobody measured.

    uv run --with gguf python -m bench.local_server
    uv run --with gguf python -m bench.local_server --wires chat messages responses --count always

Starts a real ``llama-server`` (``bench/llama_cpp.py``) and talks to it through ``ullage.Agent``: every turn is a new
text, in turn English, code, Chinese, JSON, Russian and Arabic, of 60 to 1,500 characters. Each estimate is compared
with what the server then reports. The model has a name that tells no family, so that nothing is known of its
tokenizer. What is fetched (100 MB) stays in the folder of ``--keep``, or is removed at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Final, NamedTuple

import ullage
from bench.invented import Writer
from bench.languages import ARABIC, CHINESE, RUSSIAN, Grammar, sentences
from bench.llama_cpp import VOCABULARIES, NotPossible, Server, fetch, make_model, running

MODEL: Final = "llama.cpp:cellar"
SIZES: Final = (60, 200, 600, 1_500)
"""Characters of a text; of a Chinese one a quarter of them."""


class Call(NamedTuple):
    """One call: what was estimated before it and what was reported."""

    estimated: int
    low: int
    high: int
    actual: int
    growth: int
    """By how much the reported input exceeds that of the call before."""

    @property
    def missed(self) -> float:
        """The error in per cent of the whole input."""
        return 100 * abs(self.error) / self.actual

    @property
    def error(self) -> int:
        return self.estimated - self.actual

    @property
    def is_inside(self) -> bool:
        return self.low <= self.actual <= self.high


def texts(seed: int) -> Mapping[str, Callable[[], str]]:
    """What writes a new text of each kind."""
    dice, writer = Random(seed), Writer(seed)

    def in_language(grammar: Grammar, share: int = 1) -> Callable[[], str]:
        return lambda: sentences(grammar, dice, dice.choice(SIZES) // share)

    return {
        "English": lambda: writer.prose(dice.choice(SIZES)),
        "code": lambda: writer.code(dice.choice(SIZES)),
        "Chinese": in_language(CHINESE, 4),
        "JSON": lambda: writer.json(dice.choice(SIZES)),
        "Russian": in_language(RUSSIAN),
        "Arabic": in_language(ARABIC),
    }


class Conversation(NamedTuple):
    """The calls of one session, the first apart: all of it is new, so its growth is its input."""

    first: Call
    later: list[Call]


async def conversation(
    server: Server, wire: str, estimator: str, seed: int, options: argparse.Namespace
) -> Conversation:
    """A conversation of ``options.turns`` turns, each call beside its estimate."""
    writers = texts(seed)
    kinds = [list(writers)[turn % len(writers)] for turn in range(options.turns)]
    with tempfile.TemporaryDirectory() as store:
        agent = ullage.Agent(
            MODEL,
            system="You are a cellarman. Be brief.",
            base_url=server.url,
            wire=wire,
            estimator=estimator,
            store=Path(store) / "sessions.db",
            config=False,
            # What is learnt here is not the user's, and what earlier conversations have taught is not known here.
            environment={"ULLAGE_DATA": store},
            count=options.count,
        )
        async with agent.session("cellar") as session:
            for kind in kinds:
                result = await session.ask(writers[kind]())
                if result.error is not None:
                    raise result.error
            steps = (await session._meter()).steps
    calls: list[Call] = []
    before = 0
    for step in steps:
        if step.actual is None:
            raise NotPossible("The server reported no usage for a call.")
        growth = step.actual - before
        before = step.actual
        calls.append(Call(step.estimated, step.low, step.high, step.actual, growth))
    return Conversation(calls[0], calls[1:])


def row(conversations: Sequence[Conversation]) -> str:
    """Later calls, share inside the interval, errors as a share of the growth, the interval's width; then the first
    calls' largest error and the later ones' median error as a share of the input."""
    calls = [call for each in conversations for call in each.later]
    first = max(each.first.missed for each in conversations)
    input_error = median(call.missed for call in calls)
    errors = sorted(100 * abs(call.error) / max(1, call.growth) for call in calls)
    inside = 100 * mean(call.is_inside for call in calls)
    width = median((call.high - call.low) / max(1, call.growth) for call in calls)
    return (
        f"{len(calls):>5} {inside:>7.1f} % {median(errors):>8.1f}"
        f" {errors[int(0.9 * len(errors))]:>7.1f} {100 * width:>8.0f}"
        f" {first:>8.2f} {input_error:>8.2f}"
    )


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Fetch, start and talk, for each vocabulary, and print the table. Raises ``NotPossible``."""
    parts = fetch(folder)
    print(
        f"{'':<28}{'calls':>5} {'inside':>9} {'median':>8} {'p90':>7} {'width':>8}"
        f" {'first':>8} {'all':>8}"
        "   (median, p90, width: % of the growth; first, all: % of the input)",
        flush=True,
    )
    for name in options.vocabularies:
        model = folder / f"{name}.gguf"
        if not model.exists():
            make_model(parts, VOCABULARIES[name], model)
        for wire, estimator in product(options.wires, options.estimators):
            made: list[Conversation] = []
            with running(parts, model) as server:
                for seed in range(options.seeds):
                    talk = conversation(server, wire, estimator, seed, options)
                    made.append(asyncio.run(talk))
            print(f"{f'{name}, {wire}, {estimator}':<28}{row(made)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench.local_server", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--vocabularies", nargs="+", choices=VOCABULARIES, default=list(VOCABULARIES)
    )
    parser.add_argument(
        "--estimators",
        nargs="+",
        choices=("bpe", "pretoken"),
        default=["bpe", "pretoken"],
    )
    parser.add_argument(
        "--wires", nargs="+", choices=("chat", "messages", "responses"), default=["chat"]
    )
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1, help="conversations of each row")
    parser.add_argument("--count", choices=("never", "auto", "always"), default="never")
    parser.add_argument("--keep", type=Path, help="where the fetched files stay")
    options = parser.parse_args()
    try:
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            measure(options.keep.resolve(), options)
        else:
            with tempfile.TemporaryDirectory() as folder:
                measure(Path(folder), options)
    except NotPossible as missing:
        sys.exit(f"Not measured. {missing}")


if __name__ == "__main__":
    main()
