"""What making the next request of an agent loop ready costs, with 10, 100 and 1,000 steps behind it.

    uv run python -m bench.growing_request

A step is an answer with a call and its result, 1.2 KB. *Copy* is what it takes to copy the body once, which no client
can avoid: *above the copy* is all else.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Final, NamedTuple

import msgspec

from bench.results import Table
from ullage.codec.encode import Options
from ullage.codec.repair import EVERYTHING
from ullage.messages import (
    Message,
    ProviderData,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.wire.call import PLAIN, prepare
from ullage.wire.endpoints import Endpoint
from ullage.wire.growing import GrowingRequest

BEHIND: Final = (10, 100, 1_000)
STEPS: Final = 60
"""Steps that are measured with so many behind; the median counts."""
WORDS: Final = ("return", "self", "valve", "pressure", "if", "not", "open", "else", "None", "for", "sensor", "log")


_OTHER_WORK: Final = bytearray(48_000_000)
"""More than the processor's caches hold: between two requests of a session a model answers and tools run."""


class Target(NamedTuple):
    """Who is asked, and the opaque data of its reasoning."""

    wire: str
    provider: str
    model: str
    seal: dict[str, object]


TARGETS: Final = (
    Target("messages", "anthropic", "claude-opus-4-5", {"signature": "c2ln" * 60}),
    Target("chat", "deepseek", "deepseek-v4-pro", {"reasoning_content": None}),
    Target("responses", "openai", "gpt-5.2", {"type": "reasoning", "encrypted_content": "gAAA" * 60, "summary": []}),
    Target("generateContent", "google", "gemini-3-pro", {"thoughtSignature": "c2ln" * 60}),
)


class Cost(NamedTuple):
    """Microseconds of one step, and the bytes of its body."""

    grown: float
    copy: float
    whole: float
    size_bytes: int

    @property
    def own(self) -> float:
        """What is not the copying of the body."""
        return max(self.grown - self.copy, 0.0)


def request(target: Target, messages: tuple[Message, ...]) -> Request:
    """One of a session with a system prompt of 6 KB and 12 tools."""
    schema = {"type": "object", "properties": {name: {"type": "string", "description": name * 9} for name in WORDS[:6]}}
    return Request(
        wire=target.wire,
        model=target.model,
        system=(SystemBlock(text="Work on the valves. " * 300),),
        tools=tuple(
            Tool(name=f"tool_{name}", description=name * 40, schema=msgspec.Raw(json.dumps(schema).encode()))
            for name in WORDS
        ),
        messages=messages,
        stream=True,
    )


def step(target: Target, at: int, chosen: random.Random) -> tuple[Message, ...]:
    """An answer that thinks and calls, and the result."""
    data = ProviderData(
        data=msgspec.Raw(json.dumps(target.seal).encode()),
        wire=target.wire,
        provider=target.provider,
        model=target.model,
    )
    signed = data if target.wire == "generateContent" else None
    call = ToolCallPart(
        id=f"c{at}",
        call_id=f"call_{at:020d}",
        name="tool_valve",
        arguments=json.dumps({"path": f"src/room_{at}/valve.py"}),
        provider=signed,
    )
    result = ToolResultPart(
        id=f"r{at}",
        call_id=call.call_id,
        name=call.name,
        content=(TextPart(id=f"r{at}.t", text=" ".join(chosen.choices(WORDS, k=120))),),
    )
    thought = ReasoningPart(id=f"th{at}", text="I look at the valve.", provider=data)
    return (
        Message(id=f"a{at}", role="assistant", parts=(thought, call)),
        Message(id=f"t{at}", role="tool", parts=(result,)),
    )


def measured(target: Target, behind: int) -> Cost:
    """One loop: so many steps without a look at the clock, then those that are measured."""
    endpoint = Endpoint(base_url="http://127.0.0.1:1", wire=target.wire, provider=target.provider)
    chosen = random.Random(7)
    growing = GrowingRequest()
    asked = request(target, (Message(id="u", role="user", parts=(TextPart(id="u.t", text="Look at it."),)),))
    made = growing.prepare(asked, endpoint)
    for at in range(behind):
        asked = msgspec.structs.replace(asked, messages=asked.messages + step(target, at, chosen))
        made = growing.prepare(asked, endpoint)
    grown, copies = [], []
    for at in range(behind, behind + STEPS):
        added = step(target, at, chosen)

        def one(added: tuple[Message, ...] = added) -> None:
            nonlocal asked, made
            asked = msgspec.structs.replace(asked, messages=asked.messages + added)
            made = growing.prepare(asked, endpoint, policy=EVERYTHING, options=PLAIN)

        grown.append(_timed(one))
        content = made.post.content
        copies.append(_timed(lambda content=content: b"".join((content, b" "))))  # type: ignore[misc]
    whole = [_timed(lambda: prepare(asked, endpoint, policy=EVERYTHING, options=Options())) for _ in range(9)]
    assert prepare(asked, endpoint).post.content == made.post.content
    return Cost(median(grown), median(copies), median(whole), len(made.post.content))


def _timed(work: Callable[[], object]) -> float:
    bytes(_OTHER_WORK)
    began = process_time_ns()
    work()
    return (process_time_ns() - began) / 1_000


def table() -> Table:
    """All wires at all sizes."""
    rows: list[tuple[str, ...]] = []
    for target in TARGETS:
        costs = {behind: measured(target, behind) for behind in BEHIND}
        least = costs[BEHIND[0]]
        for behind, cost in costs.items():
            rows.append(
                (
                    f"{target.wire}, {behind:,} behind",
                    f"{cost.size_bytes / 1e6:.2f} MB",
                    f"{cost.whole:,.0f} µs",
                    f"{cost.grown:,.0f} µs",
                    f"{cost.copy:,.0f} µs",
                    f"{cost.own:,.0f} µs",
                    f"{cost.own / least.own:.2f} ×",
                )
            )
    columns = ("wire, steps", "body", "whole", "grown", "copy", "above the copy", "of the first")
    return Table("CPU of making the next request ready", columns, tuple(rows))


def main() -> None:
    """Print the table."""
    began = perf_counter_ns()
    gc.collect()
    print(table().text())
    print(f"\n{(perf_counter_ns() - began) / 1e9:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
