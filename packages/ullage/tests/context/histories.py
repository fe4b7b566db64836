"""Random sessions to be compacted, and random models to summarise them: out of a seed, so that each can be repeated."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.context.sessions import FakeModel, fold_of, reported, words
from tests.meter.session import said
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, SummaryAnswer
from ullage.events import CompactionTrigger, MessageAdded
from ullage.messages import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

WINDOWS = (8_000, 16_000, 32_000, 200_000)
MOST = 400_000
"""Words of the largest message: more than fit any of the windows twice."""
TRIGGERS: tuple[CompactionTrigger, ...] = (
    "point",
    "limit",
    "overflow",
    "model_changed",
    "asked",
)


class History(NamedTuple):
    """A situation and how its model behaves."""

    situation: Situation
    model: FaultyModel


class FaultyModel:
    """Does something else with each call, and checks that the call is bounded as it says."""

    def __init__(self, random: Random, window: int) -> None:
        self.random = random
        self.window = window
        self.calls = 0
        self.kinds = random.choice(
            (("good",), ("good", "empty", "failed"), KINDS, ("empty", "longer", "echo"))
        )

    def __call__(self, ask: Ask) -> SummaryAnswer:
        self.calls += 1
        assert ask.tokens + ask.max_output <= self.window, "a summary request must fit"
        kind = self.random.choice(self.kinds)
        match kind:
            case "failed":
                return SummaryAnswer(None, error="ServerError")
            case "tool_call":
                call = ToolCallPart(id="x.1", call_id="x1", name="read")
                return SummaryAnswer(
                    Message(id="x", role="assistant", parts=(call,)), stop="tool_calls"
                )
            case "reasoning":
                return FakeModel(lambda _: "")(ask)._replace(
                    message=Message(
                        id="x",
                        role="assistant",
                        parts=(ReasoningPart(id="x.1", text="hm"),),
                    )
                )
            case "truncated" | "refused":
                return FakeModel(stop="length" if kind == "truncated" else "refused")(ask)
            case "empty":
                return FakeModel(lambda _: " \n")(ask)
            case "longer":
                return FakeModel(lambda _: words(30_000, self.calls))(ask)
            case "echo":
                return FakeModel(_echo)(ask)
            case _:
                return FakeModel(
                    lambda _: words(self.random.randrange(5, 120), self.calls)
                )(ask)


KINDS = (
    "good",
    "failed",
    "tool_call",
    "reasoning",
    "truncated",
    "refused",
    "empty",
    "longer",
    "echo",
)


def _echo(ask: Ask) -> str:
    texts = [part.text for message in ask.messages for part in message.of_type(TextPart)]
    return max(texts, key=len, default="")[:4_000]


def history(seed: int) -> History:
    """One session and one model."""
    random = Random(seed)
    window = random.choice(WINDOWS)
    messages = _messages(random, window)
    system = words(random.choice((5, 200, 200, 1500, window // 4)), seed)
    split = random.randrange(len(messages) + 1)
    fold = fold_of(*messages[:split], window=window, system=system)
    if random.random() < 0.6 and split:
        reported(
            fold,
            "call",
            off=random.choice((0.8, 1.0, 1.0, 1.3)),
            output=random.choice((0, 50, 400)),
        )
    for message in messages[split:]:
        fold.apply(MessageAdded(message=message))
    pins = frozenset(
        message.id
        for message in messages
        if random.random() < random.choice((0, 0, 0.05))
    )
    bytes_limit = random.choice((None, None, None, 400_000))
    situation = Situation(
        fold=fold,
        trigger=random.choice(TRIGGERS),
        compaction="c1",
        pins=pins,
        task_start=random.choice(messages).id
        if messages and random.random() < 0.5
        else "",
        bytes_limit=bytes_limit,
        image_limit=random.choice((None, None, 20)),
    )
    return History(situation, FaultyModel(random, window))


def _messages(random: Random, window: int) -> list[Message]:
    made: list[Message] = []
    large = random.choice((1, 1, 1, window, min(10 * window, MOST)))
    for number in range(random.choice((0, 1, 3, 10, 40, 120))):
        size = random.choice((5, 30, 30, 200, window // 40))
        if random.random() < 0.02:
            size = large
        match random.choice(
            ("user", "step", "step", "step", "answer", "image", "notice")
        ):
            case "user":
                made.append(said(f"u{number}", words(size, number)))
            case "image":
                made.append(_pictures(f"i{number}", random.choice((1, 1, 3, 40))))
            case "notice":
                note = TextPart(id=f"n{number}.t", text="A notice.")
                made.append(
                    Message(
                        id=f"n{number}", role="user", origin="injected", parts=(note,)
                    )
                )
            case "answer":
                made.append(said(f"b{number}", words(size, number), role="assistant"))
            case _:
                made += _step(random, number, size)
    if made and random.random() < 0.3 and made[-1].role == "tool":
        made.pop()  # a call is open
    return made


def _step(random: Random, number: int, size: int) -> list[Message]:
    """An answer with calls, and their results in any order, in one message or several."""
    calls = random.choice((1, 1, 2, 4))
    parts: list[Part] = []
    if random.random() < 0.4:
        parts.append(ReasoningPart(id=f"a{number}.r", text=words(20, number)))
    parts.append(TextPart(id=f"a{number}.t", text=words(10, number)))
    parts += [
        ToolCallPart(
            id=f"a{number}.c{each}",
            call_id=f"a{number}-{each}",
            name=random.choice(("read_file", "bash")),
            arguments=random.choice(('{"path": "src/a.py"}', '{"path": "src/b.py"}')),
        )
        for each in range(calls)
    ]
    results = [
        ToolResultPart(
            id=f"a{number}.o{each}",
            call_id=f"a{number}-{each}",
            content=(
                TextPart(id=f"a{number}.o{each}.t", text=words(size, number + each)),
            ),
        )
        for each in range(calls)
    ]
    if random.random() < 0.5:
        random.shuffle(results)
        tools = [
            Message(id=f"r{number}.{part.id}", role="tool", parts=(part,))
            for part in results
        ]
    else:
        tools = [Message(id=f"r{number}", role="tool", parts=tuple(results))]
    return [Message(id=f"a{number}", role="assistant", parts=tuple(parts)), *tools]


def _pictures(name: str, count: int) -> Message:
    pictures = tuple(
        ImagePart(
            id=f"{name}.{n}", mime="image/png", width=800, height=600, size_bytes=20_000
        )
        for n in range(count)
    )
    return Message(id=name, role="user", parts=pictures)
