"""How far the next call's prediction is off, by cross-validation over recorded conversations.

    uv run python -m bench.accuracy examples/recordings/sessions.jsonl.gz [--folds 8] [--by project]

For every fold what was fitted is fitted again without its conversations: each family's constants per message and per
result, from API recordings (a situation that is hardly seen outside the fold gets the generic constant). The
vocabularies, the reasoning rules, the media table and the form of the model stay as they are. ``--by project`` leaves
out all conversations of one project at a time instead. Of the recorded conversations those in ``examples/recordings``
are part of this repository.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from bench import formulas
from bench.evaluate import EvaluatedPrediction, Replay, pair_groups, rows_of, table
from bench.recorded import Pair, pair_of
from ullage.messages import ToolResultPart
from ullage.meter.forecast import FittedEstimator
from ullage.tokens.constants import GENERIC, Framing
from ullage.tokens.families import Family, family_for
from ullage.tokens.text import TextCounter, counter_for


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--folds", type=int, default=8)
    arguments.add_argument(
        "--by", choices=("conversation", "project"), default="conversation"
    )
    options = arguments.parse_args()
    rows = list(rows_of(options.file))
    pairs = [pair_of(row) for row in rows]
    folds = split(pairs, options.folds, by_project=options.by == "project")
    for estimator in ("bpe", "pretoken"):
        print(f"== {estimator}, {len(set(folds))} folds by {options.by}\n")
        print("\n".join(table(cross_validated(rows, pairs, folds, estimator))))
        print()


def split(pairs: Sequence[Pair], folds: int, *, by_project: bool) -> list[int]:
    """The fold of every pair; a conversation is never parted."""
    names = [
        each.conversation[1].split("/")[0] if by_project else "/".join(each.conversation)
        for each in pairs
    ]
    order = sorted(set(names))
    random.Random(0).shuffle(order)
    place = {
        name: number if by_project else number % folds
        for number, name in enumerate(order)
    }
    return [place[name] for name in names]


def cross_validated(
    rows: Sequence[Any], pairs: Sequence[Pair], folds: Sequence[int], estimator: str
) -> list[EvaluatedPrediction]:
    outcomes: dict[int, EvaluatedPrediction] = {}
    for fold in sorted(set(folds)):
        others = [pair for pair, own in zip(pairs, folds, strict=True) if own != fold]
        counter = counter_for(estimator)
        replay = Replay(FittedEstimator(counter, fitted_families(others, counter)))
        for place, (pair, own) in enumerate(zip(pairs, folds, strict=True)):
            if own == fold:
                outcomes[place] = EvaluatedPrediction(
                    replay.pair(pair),
                    pair_groups(pair),
                    formulas.predictions(rows[place]),
                )
    return [outcomes[place] for place in range(len(pairs))]


# -- the constants of families --


def fitted_families(
    pairs: Iterable[Pair], counter: TextCounter
) -> Callable[[str, str, str], Family]:
    """The families, with the constants that these pairs show; generic ones for what none of them shows."""
    replay = Replay(FittedEstimator(counter, family_for), learns=False)
    residuals: dict[tuple[str, str], list[float]] = defaultdict(list)
    for pair in pairs:
        made = replay.pair(pair)
        if (
            pair.is_clean
            and not pair.has_media
            and pair.truth
            and pair.kind == "cassette"
        ):
            family = family_of(pair)
            residuals[family.name, situation(pair)].append(pair.truth - made.predicted)

    @lru_cache(maxsize=512)
    def find(wire: str, provider: str, model: str) -> Family:
        family = family_for(wire, provider, model)
        framing = shifted(family.framing, family.name, residuals)
        kept = (
            shifted(family.kept_framing, family.name, residuals)
            if family.kept_framing
            else None
        )
        return replace(family, framing=framing, kept_framing=kept)

    return find


def family_of(pair: Pair) -> Family:
    """The built-in family of the model that a pair asks."""
    return family_for(pair.first.wire, pair.first.provider, pair.first.model)


def situation(pair: Pair) -> str:
    """Which constant a pair speaks of."""
    results = sum(
        isinstance(part, ToolResultPart) for message in pair.new for part in message.parts
    )
    return "user" if not results else "result" if results == 1 else "pair"


def shifted(
    framing: Framing, family: str, residuals: dict[tuple[str, str], list[float]]
) -> Framing:
    """The framing moved by the median residual of each situation; a single pair of calls is no median."""
    moved = {}
    for name in ("user", "result", "pair"):
        seen = residuals.get((family, name), [])
        moved[name] = (
            getattr(framing, name) + median(seen)
            if len(seen) > 1
            else getattr(GENERIC, name)
        )
    return replace(framing, **moved)


if __name__ == "__main__":
    main()
