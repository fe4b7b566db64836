"""The simulators' own streams without their checks and their counting, for ``bench.loop``; a process of its own.

    python -m bench.loop_server STEPS DELAY_S        # prints its port

A task is answered with one tool call after the other, until STEPS results have come back; ``TELL`` with a long text.
Counting a long request anew at each step would take longer than all that is measured: the usage it reports is a quarter
of the request's bytes.
"""

from __future__ import annotations

import sys
from typing import Any

from ullage_simulators.answer import Call as ToolCall
from ullage_simulators.answer import ScriptedAnswer, speak
from ullage_simulators.faults import Fault
from ullage_simulators.scenario import Scenario, read
from ullage_simulators.server import App, Exchange, _Answer, engine, listener
from ullage_simulators.simulators import simulators
from ullage_simulators.wire import Bill, CallInProgress, WireSimulator

WINDOW = 10_000_000
TELL = "Tell me."
STORY = "The valve at the end stays shut. " * 26
END = "That was all."
NEXT = ScriptedAnswer(
    text="Now the next log.", calls=(ToolCall("read_log", '{"number": 1}'),)
)


def scenario(delay_s: float) -> Scenario:
    """Two models under names that all clients know, with windows that nothing fills."""
    roomy = {"window": WINDOW, "max_output": 128_000}
    models = [
        {"name": name, "like": name, **roomy} for name in ("claude-opus-4-6", "gpt-4.1")
    ]
    return read({"models": models, "server": {"delay_s": delay_s}})


def answer(body: dict[str, Any], steps: int) -> ScriptedAnswer:
    """What comes next after a request's last message."""
    said: list[Any] = body.get("messages") or body["input"]
    last = str(said[-1])
    if TELL in last:
        return ScriptedAnswer(text=STORY)
    return ScriptedAnswer(text=END) if f"log {steps}: " in last else NEXT


class QuickApp(App):
    """Answers from the last message alone, and forgets what it was sent."""

    def __init__(self, steps: int, delay_s: float) -> None:
        super().__init__(scenario(delay_s), 0, simulators(), self._forget)
        self._steps = steps

    def _forget(self, exchange: Exchange) -> None:
        self.exchanges.clear()
        if exchange.status != 200:
            print(
                f"{exchange.status} {exchange.path} {exchange.said[:200]}",
                file=sys.stderr,
                flush=True,
            )

    def _generate(
        self, wire: WireSimulator, call: CallInProgress, faults: tuple[Fault, ...]
    ) -> tuple[Bill, _Answer]:
        spoken = speak(
            answer(call.body, self._steps),
            call.model,
            call.drawn,
            budget=None,
            thinks=False,
        )
        size = int(call.headers.get("content-length", "0")) // 4
        bill = Bill(
            call.number,
            wire.name,
            call.model.name,
            size,
            0,
            0,
            spoken.output,
            0,
            0,
            0,
            True,
            spoken.stop,
        )
        frames = wire.frames(call, spoken, wire.usage(call, bill, spoken))
        return bill, _Answer(200, frames, wire.content_type, streams=True)


def main() -> None:
    listening = listener()
    print(listening.getsockname()[1], flush=True)
    engine(QuickApp(int(sys.argv[1]), float(sys.argv[2]))).run([listening])


if __name__ == "__main__":
    main()
