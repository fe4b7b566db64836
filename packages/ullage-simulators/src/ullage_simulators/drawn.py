"""What each run draws for itself: how many tokens a text is, what framing costs, and the rules that differ in the wild.

A meter that knew these numbers would be measured against itself. The ranges are wide enough to hold what was recorded
(Claude 1.12-1.6 tokens for each of o200k, Gemini 1.05, OpenAI 1.0; 3-14 tokens a message; 10-130 a tool).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ullage_simulators.models import Model


@dataclass(frozen=True, slots=True)
class Drawn:
    """The numbers of one model in one run. All are tokens, but for the two factors.

    ``factor`` is tokens for each token of o200k; ``hidden`` how much longer the reasoning is than what is shown of it.
    """

    factor: float
    hidden: float
    request: int
    message: int
    tool: int
    tools: int
    result: int
    call: int
    image: int
    loop: bool
    turns: bool


_FACTOR = {"anthropic": (1.05, 1.6), "openai": (0.95, 1.15), "gemini": (0.9, 1.2)}


def draw(seed: int, model: Model, pinned: Mapping[str, float | bool]) -> Drawn:
    """The model's numbers under a seed; ``pinned`` holds those a scenario sets itself."""
    dice = random.Random(f"{seed} {model.name}")
    low, high = _FACTOR[model.family]
    least, most = (1.5, 4.0) if model.family == "openai" else (1.0, 3.0)
    numbers = Drawn(
        factor=round(dice.uniform(low, high), 4),
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
    return replace(numbers, **pinned)  # type: ignore[arg-type]
