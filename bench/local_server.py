"""How close the estimates are on a real local server, whose tokenizer nobody measured.

    uv run --with gguf python -m bench.local_server
    uv run --with gguf python -m bench.local_server --vocabularies llama3 --count auto

Starts a real ``llama-server`` (``bench/llama_cpp.py``) and talks to it through ``ullage.Agent``: every turn is a new
text, in turn English, code, Chinese, JSON, Russian and Arabic, of 60 to 1,500 characters. Each estimate is compared
with what the server then reports. The model has a name that tells no family, so that nothing is known of its
tokenizer. What is fetched (100 MB) stays in the folder of ``--keep``, or is removed at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Final, NamedTuple

import ullage
from bench.invented import Writer
from bench.languages import ARABIC, CHINESE, RUSSIAN, Grammar, sentences
from bench.llama_cpp import (
    VOCABULARIES,
    NotPossible,
    Server,
    fetch,
    make_model,
    running,
)

MODEL: Final = "llama.cpp:cellar"
SIZES: Final = (60, 200, 600, 1_500)
"""Characters of a text; of a Chinese one a quarter of them."""

ENDS: Final = 12
"""Calls at the start and at the end whose bias is shown: two of each kind of text."""


class Call(NamedTuple):
    """One call: its kind of text, what was estimated before it and what was reported."""

    kind: str
    estimated: int
    low: int
    high: int
    actual: int
    growth: int
    """By how much the reported input exceeds that of the call before."""

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


async def conversation(
    server: Server, estimator: str, turns: int, seed: int, count: str
) -> list[Call]:
    """A conversation of so many turns, each call beside its estimate; the first, which has no growth, is left out."""
    writers = texts(seed)
    kinds = [list(writers)[turn % len(writers)] for turn in range(turns)]
    with tempfile.TemporaryDirectory() as store:
        # What is learnt here is not the user's, and what earlier conversations have taught is not known here.
        os.environ["ULLAGE_DATA"] = store
        agent = ullage.Agent(
            MODEL,
            system="You are a cellarman. Be brief.",
            base_url=server.url,
            estimator=estimator,
            store=Path(store) / "sessions.db",
            config=False,
            environment={},
            count=count,
        )
        async with agent.session("cellar") as session:
            for kind in kinds:
                result = await session.ask(writers[kind]())
                if result.error is not None:
                    raise result.error
            steps = (await session.meter()).steps
    calls: list[Call] = []
    for kind, before, step in zip(kinds[1:], steps, steps[1:], strict=False):
        if step.actual is None or before.actual is None:
            raise NotPossible("The server reported no usage for a call.")
        growth = step.actual - before.actual
        calls.append(Call(kind, step.estimated, step.low, step.high, step.actual, growth))
    return calls


def bias(calls: Sequence[Call]) -> dict[str, int]:
    """Mean error in tokens by kind of text: below zero where the estimate is too low."""
    found: dict[str, int] = {}
    for kind in dict.fromkeys(call.kind for call in calls):
        found[kind] = round(mean(call.error for call in calls if call.kind == kind))
    return found


def row(calls: Sequence[Call]) -> str:
    """Calls, share inside the interval, errors as a share of the growth, the interval's width."""
    errors = sorted(100 * abs(call.error) / max(1, call.growth) for call in calls)
    inside = 100 * mean(call.is_inside for call in calls)
    width = median((call.high - call.low) / max(1, call.growth) for call in calls)
    return (
        f"{len(calls):>5} {inside:>7.1f} % {median(errors):>8.1f}"
        f" {errors[int(0.9 * len(errors))]:>7.1f} {100 * width:>8.0f}"
    )


def signed(found: Mapping[str, int]) -> str:
    """The biases in one line."""
    return ", ".join(f"{kind} {tokens:+}" for kind, tokens in found.items())


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Fetch, start and talk, for each vocabulary, and print the table. Raises ``NotPossible``."""
    parts = fetch(folder)
    print(
        f"{'':<20}{'calls':>5} {'inside':>9} {'median':>8} {'p90':>7} {'width':>8}"
        "   (errors and width in % of the growth)",
        flush=True,
    )
    for name in options.vocabularies:
        model = folder / f"{name}.gguf"
        if not model.exists():
            make_model(parts, VOCABULARIES[name], model)
        for estimator in options.estimators:
            calls: list[Call] = []
            ends: list[tuple[list[Call], list[Call]]] = []
            with running(parts, model) as server:
                for seed in range(options.seeds):
                    made = asyncio.run(
                        conversation(
                            server, estimator, options.turns, seed, options.count
                        )
                    )
                    calls += made
                    ends.append((made[:ENDS], made[-ENDS:]))
            print(f"{name + ', ' + estimator:<20}{row(calls)}")
            for title, at in (("first", 0), ("last", 1)):
                some = [call for end in ends for call in end[at]]
                print(f"  bias, {title} {ENDS}: {signed(bias(some))} tokens", flush=True)


def main() -> None:
    """Print the table."""
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
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1, help="conversations of each row")
    parser.add_argument(
        "--count",
        choices=("never", "auto", "always"),
        default="never",
        help="whether the server's count endpoint is asked",
    )
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
