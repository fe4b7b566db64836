"""The rows of the readings beside each simulator, whose tokens for a text and for a tool are drawn for each seed."""

import json
import os
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from tests.cases import case
from tests.integration.conversation import FIVE, MORE, Conversation, Dialect
from tests.integration.test_readings import prose, script, text
from ullage import Meter
from ullage.messages import (
    Message,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.reading import Reading, Row
from ullage_simulators import running
from ullage_simulators.drawn import Drawn
from ullage_simulators.tokenizer import tokens

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SEEDS = range(1, 21) if THOROUGH else (1, 2, 3, 4)
CALLS = 8
LEARNT = 2
"""Reports after which the rows are held to their promise, as the totals are in ``test_readings.py``."""
DIALECTS = FIVE + MORE

LEAST_INSIDE = 0.93
"""Of all rows of all dialects: system prompt, tools, each tool, what is there once for all tools, and messages."""

STABLE = 0.05
"""Share by which a row whose content does not change may move from the second call on."""


def declared(dice: random.Random, name: str) -> Tool:
    fields = {
        f"{name}_{place}": {
            "type": "string",
            "description": prose(dice, dice.randint(2, 12)),
        }
        for place in range(dice.randint(1, 5))
    }
    schema = {"type": "object", "properties": fields}
    raw = msgspec.Raw(msgspec.json.encode(schema))
    return Tool(name=name, description=prose(dice, dice.randint(4, 40)), schema=raw)


class Cost(NamedTuple):
    """What the content of a row costs without and with the framing of its messages, which no part of them owns."""

    least: float
    most: float


class RowsBeside(NamedTuple):
    """One call: the reading before it, and what its pieces cost by the simulator's own numbers."""

    reading: Reading
    total: int
    system: float
    tools: float
    each: dict[str, float]
    content: dict[str, Cost]
    """Of the rows of Messages."""


def row(reading: Reading, name: str) -> Row:
    return next(each for each in reading.rows if each.name.startswith(name))


def calls(dialect: Dialect, seed: int) -> list[RowsBeside]:
    """A conversation of some steps with system prompt and tools of drawn sizes, and the meter beside it."""
    dice = random.Random(f"rows {seed} {dialect.name}")
    system = (SystemBlock(text=prose(dice, dice.choice((20, 200, 1500)))),)
    tools = tuple(
        declared(dice, name)
        for name in ("read", "list", "search", "write")[: dice.randint(1, 4)]
    )
    readings: list[Reading] = []
    histories: list[tuple[Message, ...]] = []
    with (
        running(script(seed), seed=seed) as server,
        Conversation(server, system=system, tools=tools) as conversation,
    ):
        meter = Meter(dialect.model, wire=dialect.wire, provider=dialect.provider)
        conversation.say(f"{prose(dice, dice.choice((3, 30, 300)))} go on 0")
        for step in range(1, CALLS + 1):
            request = conversation.request_to(dialect)
            histories.append(request.messages)
            before = meter.before(request)
            answer = conversation.ask(dialect)
            meter.after(before.call, answer.usage, answer.message)
            readings.append(before)
            if step < CALLS:
                conversation.give(f"{text(dice)} go on {step}")
        truth = server.truth()
        body = conversation.sent[0].body
    (drawn,) = truth.drawn.values()
    framing = 0 if dialect.wire in {"messages", "generateContent"} else drawn.message
    cost = {
        name: drawn.tool + drawn.factor * tokens(json.dumps(tool, separators=(",", ":")))
        for name, tool in tool_bodies(body)
    }
    return [
        RowsBeside(
            reading,
            bill.input,
            drawn.factor * tokens(system[0].text) + framing,
            drawn.tools + sum(cost.values()),
            cost,
            costs_of(history, drawn),
        )
        for reading, bill, history in zip(readings, truth.bills, histories, strict=True)
    ]


def costs_of(history: Sequence[Message], drawn: Drawn) -> dict[str, Cost]:
    """What messages cost, by the row of Messages that their parts belong to."""
    own: dict[str, float] = {}
    framing: dict[str, float] = {}
    for message in history:
        rows: set[str] = set()
        for part in message.parts:
            match part:
                case TextPart():
                    name = "You" if message.role == "user" else "Assistant"
                    cost = drawn.factor * tokens(part.text)
                case ToolCallPart():
                    name = "Tool calls"
                    called = f"{part.name} {part.arguments}"
                    cost = drawn.call + drawn.factor * tokens(called)
                case ToolResultPart():
                    name = "Tool results"
                    texts = [
                        each.text for each in part.content if isinstance(each, TextPart)
                    ]
                    cost = drawn.result + drawn.factor * tokens("".join(texts))
                case _:
                    continue
            own[name] = own.get(name, 0.0) + cost
            rows.add(name)
        for name in rows:
            framing[name] = framing.get(name, 0.0) + drawn.message
    return {name: Cost(cost, cost + framing[name]) for name, cost in own.items()}


def tool_bodies(body: dict[str, Any]) -> list[tuple[str, Any]]:
    found = body["tools"]
    if "functionDeclarations" in found[0]:
        found = [each for group in found for each in group["functionDeclarations"]]
    return [(each.get("name") or each["function"]["name"], each) for each in found]


def held(one: RowsBeside) -> dict[str, bool]:
    """Whether each row's interval holds what its content cost."""
    reading = one.reading
    tools = row(reading, "Tools")
    told = {
        "system": inside(row(reading, "System prompt"), one.system),
        "tools": inside(tools, one.tools),
        "messages": inside(row(reading, "Messages"), one.total - one.system - one.tools),
    }
    for child in tools.children:
        if child.name in one.each:
            told[child.name] = inside(child, one.each[child.name])
        else:
            told["once"] = inside(child, one.tools - sum(one.each.values()))
    for child in row(reading, "Messages").children:
        if child.name in one.content:
            cost = one.content[child.name]
            told[child.name] = inside(child, cost.least, cost.most)
    return told


def inside(found: Row, cost: float, most: float | None = None) -> bool:
    """Whether the row's interval holds its cost, or any of those from ``cost`` to ``most``."""
    assert found.low is not None
    assert found.high is not None
    most = cost if most is None else most
    return found.low - 0.5 <= most and cost <= found.high + 0.5


def test_on_each_dialect_the_rows_sum_up_stand_still_and_hold_what_their_content_cost() -> (
    None
):
    """System prompt and tools keep their numbers from the second call on."""
    told: list[bool] = []
    for dialect in DIALECTS:
        for seed in SEEDS:
            with case(dialect.name, seed):
                made = calls(dialect, seed)
                for one in made:
                    reading = one.reading
                    assert (
                        sum(each.tokens for each in reading.rows) == reading.used.tokens
                    )
                    assert all(each.tokens > 0 for each in reading.rows)
                for name in ("System prompt", "Tools"):
                    seen = [row(one.reading, name).tokens for one in made[1:]]
                    assert max(seen) <= (1 + STABLE) * min(seen)
                for one in made[LEARNT:]:
                    told += held(one).values()
    assert sum(told) >= LEAST_INSIDE * len(told)
