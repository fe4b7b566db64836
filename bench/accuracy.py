"""How far the next call's prediction is off, by cross-validation over recorded conversations.

    uv run --with numpy python -m bench.accuracy PAIRS.jsonl.gz [--folds 8] [--by project]

For every fold what was fitted is fitted again without its conversations: the weights of Claude's text, and each
family's constants per message and per result, from API recordings (a situation that is hardly seen outside the fold
gets the generic constant). The
reasoning rules, the media table and the form of the model stay as they are. ``--by project`` leaves out all
conversations of one project at a time instead. The recorded conversations are not part of this repository.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np

from bench import formulas
from bench.evaluate import EvaluatedPrediction, Replay, pair_groups, rows_of, table
from bench.recorded import Pair, pair_of
from ullage.messages import (
    Part,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.forecast import FittedEstimator
from ullage.tokens import bpe, pretoken
from ullage.tokens.constants import GENERIC, Framing
from ullage.tokens.families import Family, family_for
from ullage.tokens.text import TextCounter
from ullage.tokens.weights import BPE, PRETOKEN

Features = Counter[str]
Cut = Callable[[str], Features]

PRIOR = 1.2
"""Tokens of Claude per token of o200k, before anything was seen."""

RIDGE = {"bpe": 30.0, "pretoken": 50.0}
CONSTANTS = {
    "#result": 13.0,
    "#further": 29.0,
    "#batch": 15.0,
    "#user": 1.0,
    "#empty": 16.0,
    "#answer": 2.0,
}
CONSTANTS |= {"#call": 31.0, "#several": -17.0, "#parameter": 15.0}


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
        counter = fitted_counter(others, estimator)
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


# -- the weights of Claude's text --


def fitted_counter(pairs: Iterable[Pair], estimator: str) -> TextCounter:
    """The estimator with Claude's weights fitted to these pairs alone."""
    if estimator == "bpe":
        o200k = bpe.encoding("o200k_base")

        def cut(text: str) -> Features:
            tokens = o200k.encode(text.encode("utf-8", "replace").decode())
            return Counter(_token_class(token) for token in tokens)

        def prior(kind: str) -> float:
            return PRIOR
    else:

        def cut(text: str) -> Features:
            return Counter(_piece_class(piece) for piece in pretoken.pieces(text))

        def prior(kind: str) -> float:
            return PRIOR * PRETOKEN["o200k"].get(kind, PRETOKEN["o200k"]["?"])

    weights = fit(list(observations(pairs, cut)), prior, RIDGE[estimator])
    weights["?"] = (BPE if estimator == "bpe" else PRETOKEN)["claude"]["?"]
    if estimator == "bpe":
        return bpe.BpeCounter(BPE | {"claude": weights})
    return pretoken.PretokenCounter(PRETOKEN | {"claude": weights})


@cache
def _token_class(token: int) -> str:
    return bpe.classify(bpe.read_token(bpe.encoding("o200k_base"), token), token)


@cache
def _piece_class(piece: str) -> str:
    return pretoken.classify(piece)


def observations(pairs: Iterable[Pair], cut: Cut) -> Iterable[tuple[Features, float]]:
    """Counts of classes beside the tokens that Anthropic charged for them: of what was added, and of answers."""
    for pair in pairs:
        if family_of(pair).name != "claude" or pair.has_media:
            continue
        output = pair.usage.output
        if pair.growth is None or output is None or pair.usage.placeholder:
            continue
        thought = bool(pair.usage.reasoning) or any(
            isinstance(part, ReasoningPart) for part in pair.answer
        )
        grown = pair.growth - output
        if pair.is_clean and grown > -20 and (not thought or pair.kind != "cassette"):
            yield added(pair, cut), grown
        if not thought and not has_items(pair):
            yield answered(pair.answer, cut), output


def has_items(pair: Pair) -> bool:
    """Whether the answer, or what follows it, holds items whose content is on the provider's side."""
    parts = [*pair.answer, *(part for message in pair.new for part in message.parts)]
    return any(isinstance(part, ProviderItem) for part in parts)


def added(pair: Pair, cut: Cut) -> Features:
    features: Features = Counter()
    results = 0
    for message in pair.new:
        users = 0
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                results += 1
                features += cut(part.text)
                features["#empty"] += not part.text
            elif isinstance(part, TextPart):
                users = 1
                features += cut(part.text)
        features["#user"] += users
    features["#result"], features["#further"], features["#batch"] = (
        results > 0,
        max(0, results - 1),
        results > 1,
    )
    return features


def answered(parts: Iterable[Part], cut: Cut) -> Features:
    """The classes of an answer."""
    features: Features = Counter({"#answer": 1})
    for part in parts:
        if isinstance(part, TextPart):
            features += cut(part.text)
        elif isinstance(part, ToolCallPart):
            features["#call"] += 1
            features += cut(part.name)
            try:
                values = json.loads(part.arguments)
            except ValueError:
                values = {"": part.arguments}
            for key, value in values.items() if isinstance(values, dict) else ():
                features["#parameter"] += 1
                features += cut(key)
                features += cut(
                    value
                    if isinstance(value, str)
                    else msgspec.json.encode(value).decode()
                )
    features["#several"] = features["#call"] > 1
    return features


def fit(
    seen: Sequence[tuple[Features, float]], prior: Callable[[str], float], ridge: float
) -> dict[str, float]:
    """Weights by robust ridge regression towards the prior; constants are fitted beside them and thrown away."""
    names = sorted({name for features, _ in seen for name in features})
    expected = np.array(
        [CONSTANTS[name] if name in CONSTANTS else prior(name) for name in names]
    )
    pull = np.diag([0.2 if name in CONSTANTS else ridge for name in names])
    counts = np.array(
        [[features.get(name, 0) for name in names] for features, _ in seen], float
    )
    charged = np.array([tokens for _, tokens in seen], float)
    scale = 3 + 0.015 * np.abs(charged)
    weights = expected.copy()
    for _ in range(30):
        off = (charged - counts @ weights) / scale
        trust = 1 / np.maximum(1, np.abs(off)) / scale**2
        weighed = counts * trust[:, None]
        weights = expected + np.linalg.solve(
            weighed.T @ counts + pull, weighed.T @ (charged - counts @ expected)
        )
        weights = np.where(expected < 0, weights, np.maximum(weights, 0.02))
    return {
        name: float(weight)
        for name, weight in zip(names, weights, strict=True)
        if name not in CONSTANTS
    }


if __name__ == "__main__":
    main()
