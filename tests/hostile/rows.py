"""One row of the table of hostile behaviours, which the tests and `make attack` use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

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


def adder(table: Table, group: Group) -> Callable[..., Callable[[Play], Play]]:
    """A decorator that puts a function into the table under the name it has, with dashes."""

    def row(
        does: str,
        must: Must = "fails",
        *,
        text: str = "",
        says: str = "",
        never: str = "",
        once: bool = False,
        reads: bool = True,
    ) -> Callable[[Play], Play]:
        def add(play: Play) -> Play:
            name = getattr(play, "__name__", "").replace("_", "-")
            role = Role(play, once, reads)
            table.append(
                Behaviour(
                    name, group, does, must, role, text=text, says=says, never=never
                )
            )
            return play

        return add

    return row


async def closed(line: Connection) -> None:
    """The end of an answer whose end is the connection's."""
    line.is_kept = False
    line.cut()
