"""Random histories, summaries that go wrong at random, and a provider's own count of what is sent: no HTTP in between.

HYPOTHESIS_PROFILE=thorough uv run pytest packages/ullage-agent/tests/compaction/test_any_history.py      6,000 cases
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from random import Random
from typing import NamedTuple

import pytest

from tests.compaction.stage import IS_THOROUGH
from tests.context.histories import FaultyModel, history
from tests.context.sessions import attempted
from ullage.codec.blocks import Options
from ullage.codec.history import encode
from ullage.codec.repair import repair
from ullage.context.budget import aim_of, correction_of
from ullage.context.exchanges import in_view
from ullage.context.keeping import must_stay
from ullage.context.policy import DROP_MARGIN
from ullage.context.situation import Situation
from ullage.context.strategies import Commit, Strategies, Stuck
from ullage.errors import Overflow
from ullage.messages import Request
from ullage.meter.fold import Fold
from ullage_simulators.anthropic.billing import pieces
from ullage_simulators.drawn import draw
from ullage_simulators.models import MODELS
from ullage_simulators.prompt import count

CASES = 6_000 if IS_THOROUGH else 300
CUT = 700.0
"""Tokens that a request cut to head and tail may still need, with its notice, whatever else there is."""

MODEL = next(model for model in MODELS if model.name == "claude-haiku-4-5")


class Provider(NamedTuple):
    """A window, and numbers of its own for what everything costs."""

    window: int
    seed: int

    def tokens(self, fold: Fold) -> int:
        """The request as the simulator counts it."""
        request = Request(
            wire=fold.wire,
            model=fold.model,
            provider=fold.provider,
            system=fold.system or (),
            messages=in_view(entry.message for entry in fold.view),
        )
        encoded = encode(repair(request).request, options=Options(max_output=1))
        body = json.loads(encoded.content)
        return count(
            pieces(body, MODEL), MODEL, draw(self.seed, MODEL, {}), stream=False
        ).input


class Ending(NamedTuple):
    """How a case ended: ``accepted``, ``unfixable`` or what went wrong, and how many model calls were made before."""

    how: str
    calls: int
    attempts: int


def case(seed: int) -> Ending:
    """One history as the runtime takes it to its next call: ahead of the call where it is due, once after a refusal."""
    random = Random(seed)
    first = history(seed)
    fold = first.situation.fold
    window = fold.limits.denominators.window.tokens
    assert window is not None
    provider = Provider(window, seed)
    calls = attempts = 0
    situation = dataclasses.replace(
        first.situation, trigger="limit", bytes_limit=None, image_limit=None
    )
    for attempt in range(3):
        limit, point = (
            fold.limits.denominators.input_limit,
            fold.limits.denominators.compaction_point,
        )
        assert limit is not None and point is not None
        if fold.forecast().high >= point or attempt:
            situation = dataclasses.replace(situation, compaction=f"c{attempt}")
            most = Strategies().calls_at_most(situation)
            outcome = attempted(situation, first.model)
            attempts += 1
            assert first.model.calls - calls <= most
            calls = first.model.calls
            assert_ended_well(situation, outcome.end)
            if isinstance(outcome.end, Stuck) and fold.forecast().high > limit:
                return Ending("unfixable", calls, attempts)
            if isinstance(outcome.end, Stuck) and outcome.end.error is not None:
                return Ending("unfixable", calls, attempts)
        counted = provider.tokens(fold)
        if counted <= window:
            return Ending("accepted", calls, attempts)
        used = fold.forecast().tokens
        refusal = (
            Overflow("too long", count=counted, limit=window)
            if random.random() < 0.5
            else Overflow("too long")
        )
        correction = correction_of(refusal, used, window)
        situation = dataclasses.replace(
            situation, trigger="overflow", correction=correction
        )
    return Ending(f"refused three times: {counted} of {window}", calls, attempts)


def assert_ended_well(before: Situation, end: Commit | Stuck) -> None:
    """What is committed fits; what can't be fixed is so because of what must stay, the request cut."""
    aim = aim_of(before)
    assert aim.limit is not None
    if isinstance(end, Commit):
        assert end.verdict.high <= aim.limit
        return
    if end.error is None:
        return
    request = before.request
    others = [
        name
        for name in must_stay(before)
        if request is None or name != request.id or name in before.pins
    ]
    needed = (
        before.sizes.fixed
        + before.sizes.of(others)
        + (CUT if request is not None else 0.0)
    )
    # The reading's upper end has to fit, so that what is needed may be less by the interval's share.
    doubt = before.sizes.used / before.sizes.high
    assert needed > DROP_MARGIN * doubt * aim.limit - CUT, (end.error, needed, aim.limit)


@pytest.mark.parametrize("seed", [574, 1265, 1865, 3125, 3163, 3399, 3699])
def test_a_request_of_many_images_is_cut_until_it_fits(seed: int) -> None:
    assert case(seed).how == "accepted"


def test_from_any_history_the_next_request_fits_or_what_must_stay_does_not() -> None:
    endings = Counter[str]()
    problems: list[str] = []
    most = 0
    for seed in range(CASES):
        try:
            ending = case(seed)
        except AssertionError as problem:
            problems.append(f"seed {seed}: {problem}")
            continue
        most = max(most, ending.calls)
        endings[ending.how if ending.how in ("accepted", "unfixable") else "refused"] += 1
        if ending.how not in ("accepted", "unfixable"):
            problems.append(f"seed {seed}: {ending.how}")
    assert not problems, f"{len(problems)} of {CASES}:\n" + "\n".join(problems[:10])
    assert endings["accepted"] >= 0.8 * CASES, endings
    assert endings["unfixable"] >= 1, endings
    assert most <= 2 * 7, most


def test_the_model_of_these_histories_does_everything_wrong_that_a_model_can() -> None:
    """A FaultyModel checks of each call that input and answer together fit into the window."""
    assert {
        kind for seed in range(60) for kind in FaultyModel(Random(seed), 8_000).kinds
    } >= {
        "good",
        "failed",
        "empty",
        "longer",
        "echo",
        "truncated",
        "refused",
        "reasoning",
        "tool_call",
    }
