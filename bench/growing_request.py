"""What making the next request of an agent loop ready costs, with 10, 100 and 1,000 steps behind it.

    uv run python -m bench.growing_request

A step is an answer that thinks and calls, and its result: 1.2 KB. The processor's caches hold other things when a
request is made, as they do after a model has answered. *Whole* is ``wire.call.prepare`` with a fresh history, *grown*
is the same with the session's; *copy* is copying the grown body once more, for scale. Medians, in CPU time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from statistics import median
from time import process_time_ns
from typing import Final, NamedTuple

import msgspec

from bench.invented import CODE_WORDS
from bench.results import Table, machine, ratio
from ullage.codec.history import History
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
from ullage.reasoning import ReasoningPolicy
from ullage.wire.call import Prepared, prepare
from ullage.wire.endpoints import Endpoint

BEHIND: Final = (10, 100, 1_000)
STEPS: Final = 60
"""Steps that are measured with so many behind; the median counts."""
WHOLE: Final = 9


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
    Target(
        "responses",
        "openai",
        "gpt-5.2",
        {"type": "reasoning", "encrypted_content": "gAAA" * 60, "summary": []},
    ),
    Target(
        "generateContent", "google", "gemini-3-pro", {"thoughtSignature": "c2ln" * 60}
    ),
)


class Cost(NamedTuple):
    """Microseconds of one step, and the bytes of its body."""

    grown: float
    copy: float
    whole: float
    size_bytes: int


class Loop(NamedTuple):
    """A kind of loop: for whom, what is sent of its reasoning, and whose answers stand in it."""

    name: str
    target: Target
    policy: ReasoningPolicy = EVERYTHING
    by: Target | None = None

    @property
    def answers_by(self) -> Target:
        return self.by or self.target


def request(target: Target, messages: tuple[Message, ...]) -> Request:
    """One of a session with a system prompt of 6 KB and 12 tools."""
    schema = {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": name * 9} for name in CODE_WORDS[:6]
        },
    }
    return Request(
        wire=target.wire,
        model=target.model,
        system=(SystemBlock(text="Work on the valves. " * 300),),
        tools=tuple(
            Tool(
                name=f"tool_{name}",
                description=name * 40,
                schema=msgspec.Raw(json.dumps(schema).encode()),
            )
            for name in CODE_WORDS
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
        content=(
            TextPart(id=f"r{at}.t", text=" ".join(chosen.choices(CODE_WORDS, k=120))),
        ),
    )
    thought = ReasoningPart(id=f"th{at}", text="I look at the valve.", provider=data)
    return (
        Message(id=f"a{at}", role="assistant", parts=(thought, call)),
        Message(id=f"t{at}", role="tool", parts=(result,)),
    )


def measured(loop: Loop, behind: int) -> Cost:
    """One loop: so many steps without a look at the clock, then those that are measured."""
    target = loop.target
    endpoint = Endpoint(
        base_url="http://127.0.0.1:1", wire=target.wire, provider=target.provider
    )
    chosen = random.Random(7)
    history = History()
    first = Message(id="u", role="user", parts=(TextPart(id="u.t", text="Look at it."),))
    session = request(target, (first,))

    def asked(*added: Message) -> Prepared:
        following = msgspec.structs.replace(session, messages=history.extended(added))
        return prepare(following, endpoint, policy=loop.policy, history=history)

    made = asked(first)
    for at in range(behind):
        made = asked(*step(loop.answers_by, at, chosen))
    grown, copies, whole = [], [], []
    for at in range(behind, behind + STEPS):
        added = step(loop.answers_by, at, chosen)
        began = _began()
        made = asked(*added)
        grown.append(_since(began))
        content = made.post.content
        began = _began()
        b"".join((content, b" "))
        copies.append(_since(began))
    for _ in range(WHOLE):
        began = _began()
        again = prepare(made.request, endpoint, policy=loop.policy)
        whole.append(_since(began))
        assert again.post.content == made.post.content
    return Cost(median(grown), median(copies), median(whole), len(made.post.content))


def _began() -> int:
    """Now, in nanoseconds of CPU time, with other things in the processor's caches."""
    bytes(_OTHER_WORK)
    return process_time_ns()


def _since(began: int) -> float:
    return (process_time_ns() - began) / 1_000


def table(loops: Sequence[Loop]) -> Table:
    """All loops at all sizes."""
    rows: list[tuple[str, ...]] = []
    for loop in loops:
        costs = {behind: measured(loop, behind) for behind in BEHIND}
        for behind, cost in costs.items():
            rows.append(
                (
                    f"{loop.name}, {behind:,} behind",
                    f"{cost.size_bytes / 1e6:.2f} MB",
                    f"{cost.whole:,.0f} µs",
                    f"{cost.grown:,.0f} µs",
                    ratio(cost.grown, costs[BEHIND[0]].grown),
                    f"{cost.copy:,.0f} µs",
                )
            )
    columns = ("loop, steps", "body", "whole", "grown", f"of {BEHIND[0]} behind", "copy")
    return Table("CPU of making the next request ready", columns, tuple(rows))


CLAUDE, DEEPSEEK, GPT, GEMINI = TARGETS
LOOPS: Final = (
    *(Loop(target.wire, target) for target in TARGETS),
    Loop("messages, answers of another model", CLAUDE, by=GPT),
    Loop("generateContent, answers of another model", GEMINI, by=CLAUDE),
    Loop("messages, reasoning kept back", CLAUDE, policy=ReasoningPolicy(strip="all")),
    Loop(
        "responses, last reasoning only",
        GPT,
        policy=ReasoningPolicy(strip="all_but_last"),
    ),
)


def main() -> None:
    """Print the table."""
    print(table(LOOPS).text())
    print(f"\nMachine: {machine()}.")


if __name__ == "__main__":
    main()
