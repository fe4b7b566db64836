"""What each run draws for itself: how many tokens a text is, what framing costs, and the rules that differ in the wild.

A meter that knew these numbers would be measured against itself. The ranges are wide enough to hold what was recorded
(Claude 1.12-1.6 tokens for each of o200k, Gemini 1.05, OpenAI 1.0; 3-14 tokens a message; 10-130 a tool).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ullage_simulators.body import Count, Quantity
from ullage_simulators.models import Model
from ullage_simulators.tokenizer import tokens


@dataclass(frozen=True, slots=True)
class Drawn:
    """The numbers of one model in one run. All are tokens, but for the three factors.

    ``factor`` is tokens for each token of o200k, ``declared`` the same for the JSON of declared tools without their
    descriptions; ``hidden`` how much longer the reasoning is than what is shown of it.
    """

    factor: Quantity
    declared: Quantity
    hidden: Quantity
    request: Count
    message: Count
    tool: Count
    tools: Count
    result: Count
    call: Count
    image: Count
    loop: bool
    turns: bool
    count: Callable[[str], int] = tokens
    """Tokens of a text before the factor: o200k, where a program's scenario has no function of its own."""


_FACTOR = {"anthropic": (1.05, 1.6), "openai": (0.95, 1.15), "gemini": (0.9, 1.2)}


def draw(seed: int, model: Model, pinned: Mapping[str, Any]) -> Drawn:
    """The model's numbers under a seed; ``pinned`` holds those a scenario sets itself."""
    dice = random.Random(f"{seed} {model.name}")
    low, high = _FACTOR[model.family]
    least, most = (1.5, 4.0) if model.family == "openai" else (1.0, 3.0)
    factor = round(dice.uniform(low, high), 4)
    numbers = Drawn(
        factor=factor,
        declared=factor,
        hidden=round(dice.uniform(least, most), 3),
        request=dice.randint(0, 12),
        message=dice.randint(2, 8),
        tool=dice.randint(8, 40),
        tools=dice.randint(0, 350),
        result=dice.randint(3, 30),
        call=dice.randint(5, 30),
        image=dice.randint(250, 1_600),
        loop=model.loop,
        turns=model.turns,
    )
    if "draws-rules" in model.traits:
        numbers = replace(numbers, loop=dice.random() < 0.7)
    own = pinned.get(model.name, {})
    for_all = {}
    for name, value in pinned.items():
        if not isinstance(value, Mapping):
            for_all[name] = value
    if "factor" in for_all:
        numbers = replace(numbers, declared=for_all["factor"])
    return replace(numbers, **{**for_all, **own})
