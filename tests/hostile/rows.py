"""One row of the table of hostile behaviours, which the tests and `make attack` use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, NamedTuple

from tests.hostile.provider import Connection, Play, Role

Must = Literal["fails", "finishes", "ends"]
"""What has to hold besides what always holds: the turn fails with an error, finishes as if nothing had been wrong, or
either of the two."""

Group = Literal["connection", "status", "compression", "frame", "size", "content"]


class Behaviour(NamedTuple):
    """A way to misbehave. ``does`` completes the sentence "a provider that …"."""

    name: str
    group: Group
    does: str
    must: Must
    role: Role
    text: str = ""
    """The answer, where the turn must finish."""
    says: str = ""
    """What the error must contain."""
    never: str = ""
    """What the answer must not contain."""


Table = list[Behaviour]
Step = Callable[[Connection], Awaitable[None]]


class Adder:
    """Puts behaviours of one group into a table."""

    def __init__(self, table: Table, group: Group) -> None:
        self._table = table
        self._group = group

    def __call__(
        self,
        name: str,
        does: str,
        *steps: Step,
        must: Must = "fails",
        text: str = "",
        says: str = "",
        never: str = "",
        once: bool = False,
        reads: bool = True,
    ) -> None:
        """A behaviour that makes these steps one after the other."""

        async def play(line: Connection) -> None:
            for step in steps:
                await step(line)

        role = Role(play, once, reads)
        row = Behaviour(name, self._group, does, must, role, text, says, never)
        self._table.append(row)

    def named(self, does: str, **more: Any) -> Callable[[Play], Play]:
        """A decorator for a function that plays the behaviour of its name."""

        def add(play: Play) -> Play:
            self(getattr(play, "__name__", "").replace("_", "-"), does, play, **more)
            return play

        return add


# -- steps --

HEAD: Final[Step] = Connection.head
BEGUN: Final[Step] = Connection.begun
ENDED: Final[Step] = Connection.ended
OVER: Final[Step] = Connection.over
SILENCE: Final[Step] = Connection.silence


async def opened(line: Connection) -> None:
    """The head and the beginning of a stream."""
    await line.head()
    await line.body(line.speaker.begin())


async def end(line: Connection) -> None:
    """The end of a good answer, and not of its body."""
    await line.body(line.speaker.end())


async def closed(line: Connection) -> None:
    """The end of an answer whose end is the connection's."""
    line.is_kept = False
    line.cut()


async def reset(line: Connection) -> None:
    """An RST in the place of an end."""
    line.is_kept = False
    line.cut(reset=True)


def raw(*pieces: bytes) -> Step:
    """These bytes as they are."""

    async def step(line: Connection) -> None:
        for piece in pieces:
            await line.raw(piece)

    return step


def body(*pieces: bytes) -> Step:
    return lambda line: line.body(*pieces)


def text(said: str) -> Step:
    return lambda line: line.body(line.speaker.text(said))


def ended(said: str) -> Step:
    """A text and the rest of a stream."""
    return lambda line: line.ended(said)


def head(*more: str, **named: str) -> Step:
    return lambda line: line.head("200 OK", *more, **named)


def whole(
    status: str, content: bytes, *more: str, kind: str = "application/json"
) -> Step:
    return lambda line: line.whole(status, content, *more, kind=kind)


def times(count: int, step: Step) -> Step:
    """The same so often, or less often where sizes are smaller."""

    async def play(line: Connection) -> None:
        for _ in range(line.size(count)):
            await step(line)

    return play


def forever(step: Step, apart_s: float = 0.0) -> Step:
    async def play(line: Connection) -> None:
        while True:
            await step(line)
            await asyncio.sleep(apart_s)

    return play
