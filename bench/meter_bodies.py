"""What ``Meter.before`` and ``Meter.after`` cost beside a loop, on each wire, with 100 and 10,000 messages behind it.

    uv run python -m bench.meter_bodies

Each body extends the one before it by two messages. Medians of five, in CPU time.
"""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import Any, Final, NamedTuple

from bench.results import Table, machine
from ullage import Meter

BEHIND: Final = (100, 10_000)
STEPS: Final = 5


class Wire(NamedTuple):
    """How one wire writes a history, an answer and its usage."""

    name: str
    field: str
    output: object
    usage: dict[str, int]

    def item(self, number: int) -> dict[str, Any]:
        text = f"word {number} and more"
        if self.field == "contents":
            return {"role": ("user", "model")[number % 2], "parts": [{"text": text}]}
        return {"role": ("user", "assistant")[number % 2], "content": text}

    def body(self, count: int) -> dict[str, Any]:
        return {
            "model": "some-model",
            self.field: [self.item(number) for number in range(count)],
        }


WIRES: Final = (
    Wire(
        "messages",
        "messages",
        [{"type": "text", "text": "fine"}],
        {"input_tokens": 9, "output_tokens": 2},
    ),
    Wire("chat", "messages", "fine", {"prompt_tokens": 9, "completion_tokens": 2}),
    Wire(
        "responses",
        "input",
        [{"role": "assistant", "content": "fine"}],
        {"input_tokens": 9, "output_tokens": 2},
    ),
    Wire(
        "generateContent",
        "contents",
        {"parts": [{"text": "fine"}]},
        {"promptTokenCount": 9},
    ),
)


def measured(wire: Wire, behind: int) -> tuple[str, str, str]:
    """One wire with so many messages behind it."""
    meter = Meter(wire=wire.name, window=10**7)
    reading = meter.before(wire.body(behind))
    before, after = [], []
    for step in range(1, STEPS + 1):
        began = process_time()
        meter.after(reading.call, wire.usage, wire.output)
        after.append(process_time() - began)
        body = wire.body(behind + 2 * step)
        began = process_time()
        reading = meter.before(body)
        before.append(process_time() - began)
    return (
        f"{wire.name}, {behind:,} behind",
        f"{median(before) * 1e3:.2f} ms",
        f"{median(after) * 1e3:.2f} ms",
    )


def main() -> None:
    """Print the table."""
    rows = tuple(measured(wire, behind) for wire in WIRES for behind in BEHIND)
    print(
        Table(
            "CPU of a Meter beside a loop", ("wire, messages", "before", "after"), rows
        ).text()
    )
    print(f"\nMachine: {machine()}.")


if __name__ == "__main__":
    main()
