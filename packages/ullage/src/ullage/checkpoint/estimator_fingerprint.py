"""Names how this code counts, by what it makes of a small history that is always the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter import fingerprint
from ullage.meter.fold import Fold
from ullage.meter.window import Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage

_TEXT: Final = "Rack 12,500 l from the third cask; `pump.open(rate=0.75)` fails:\n\tvalve_7 is stuck. Wie üblich. 満杯"


@lru_cache(maxsize=64)
def estimator_fingerprint(
    wire: str, provider: str, model: str, estimator: str | Callable[[str], float]
) -> str:
    """Names how messages, tools and forecasts are counted for a model: another name, other numbers. About 1 ms."""
    fold = Fold(
        limits=Limits(),
        calibration=Calibration(),
        estimator=estimator,
        policy=ReasoningPolicy(),
    )
    fold.set_model(model, wire, provider)
    numbers: list[object] = []
    for event in _history():
        fold.apply(event)
        numbers += (fold.forecast(), fold.view.tokens, fold.view.opening, fold.fixed)
    numbers += (fold.view.rows, fold.calibration, [entry.cost for entry in fold.view])
    return fingerprint.digest(repr(numbers))


def _history() -> list[Event]:
    schema = msgspec.Raw(
        b'{"type":"object","properties":{"path":{"type":"string","description":"Which file."}}}'
    )
    history: list[Event] = [
        SystemChanged(
            system=(
                SystemBlock(text=_TEXT * 3),
                SystemBlock(text=_TEXT, kind="instructions", name="a.md"),
            )
        ),
        ToolsChanged(
            tools=(
                Tool(name="read", description=_TEXT, schema=schema),
                Tool(name="list", schema=schema),
            )
        ),
    ]
    for number in range(4):
        question = Message(
            id=f"{number}.asked",
            role="user",
            parts=(
                TextPart(id=f"{number}.text", text=_TEXT * (1 + number)),
                *(
                    (ImagePart(id=f"{number}.image", width=640, height=480),)
                    if number == 3
                    else ()
                ),
            ),
        )
        called = ToolCallPart(
            id=f"{number}.call",
            call_id=f"{number}.c",
            name="read",
            arguments='{"path": "src/cask.py"}',
        )
        answer = Message(
            id=f"{number}.answer",
            role="assistant",
            call=f"{number}",
            parts=(
                ReasoningPart(id=f"{number}.thought", text=_TEXT, opaque_size=400),
                TextPart(id=f"{number}.said", text=_TEXT),
                called,
            ),
        )
        content = (TextPart(id=f"{number}.shown", text=_TEXT * 2),)
        result = ToolResultPart(
            id=f"{number}.result", call_id=f"{number}.c", content=content
        )
        usage = Usage(input=900 + 700 * number, output=260, reasoning=64 * number)
        history += [
            MessageAdded(message=question),
            CallStarted(call=f"{number}"),
            CallEnded(call=f"{number}", usage=usage),
            MessageAdded(message=answer),
            MessageAdded(
                message=Message(id=f"{number}.back", role="tool", parts=(result,))
            ),
        ]
    return history
