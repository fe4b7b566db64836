"""What a test tells a process to do, and what the process leaves behind in its directory."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

SESSION = "s"
DATABASE = "sessions.db"


class Kill(msgspec.Struct, frozen=True):
    """When the process dies: at the ``at``-th time that ``kind`` of point is reached, from 1; 0 is never.

    ``store``: before and after each method of the store. ``loop``: whenever the event loop is given something to run,
    which is every point at which a coroutine goes on. ``shown``: behind each frame that a display was given; ``shown
    text``, ``shown call`` and so on: behind pieces of that kind. ``tool …``: a place inside a tool. ``paused``: the
    session waits for a person. ``time``: from outside, ``at`` milliseconds after the process began.

    ``does`` is what happens instead of death: ``stop`` as by Ctrl-Z; ``cramp``: no file may grow beyond what the
    database's log has now, as on a full disk; ``spoil``: the database and its log are overwritten.
    """

    kind: str = ""
    at: int = 0
    does: Literal["kill", "stop", "cramp", "spoil"] = "kill"


class Said(msgspec.Struct, frozen=True):
    """A message the process sends under an id of its own. ``when`` it does so is a moment that ``lives`` knows."""

    id: str
    text: str
    kind: Literal["steer", "follow_up"] = "steer"
    when: str = ""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One process. ``life`` names the function it runs; ``name`` the files it leaves in ``directory``."""

    life: str
    name: str
    directory: str
    url: str = ""
    model: str = ""
    wire: str = ""
    said: tuple[Said, ...] = ()
    kill: Kill = Kill()
    settings: dict[str, object] = {}
    more: dict[str, object] = {}

    def file(self, kind: str) -> Path:
        """A file of this process: ``shown``, ``report`` or ``error``."""
        return Path(self.directory) / f"{self.name}.{kind}"

    @property
    def key(self) -> str:
        """Names this process among all."""
        return f"{self.directory}/{self.name}"

    @property
    def database(self) -> Path:
        return Path(self.directory) / DATABASE

    @property
    def effects(self) -> Path:
        """Where tools write what they did."""
        return Path(self.directory) / "effects"


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A piece of an answer as it was shown."""

    call: str
    offset: int
    kind: str
    part: str
    text: str


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the file ``shown``: an event by its number, a piece of an answer, or the receipt of a message."""

    seq: int = 0
    tag: str = ""
    piece: Piece | None = None
    receipt: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a process says at its end. ``before`` and ``drafts`` are what it found in the store at its beginning."""

    before: tuple[str, ...] = ()
    drafts: tuple[Piece, ...] = ()
    reason: str = ""
    note: str = ""
    text: str = ""
    is_paused: bool = False
    counts: dict[str, int] = {}
    error: str = ""
    error_kind: str = ""


class Ended(msgspec.Struct, frozen=True):
    """How a process ended: its exit code, or minus the signal."""

    name: str
    status: int


def shown_by(order: Order) -> list[Shown]:
    """What the process had shown; a line that was being written when it died is none."""
    try:
        lines = order.file("shown").read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [
        msgspec.json.decode(line, type=Shown) for line in lines if line.endswith(b"\n")
    ]


def report_of(order: Order) -> Report | None:
    """The report, if it lived to write one."""
    try:
        return msgspec.json.decode(order.file("report").read_bytes(), type=Report)
    except FileNotFoundError:
        return None


def effects_in(directory: Path) -> list[str]:
    """What tools did, a line each, in the order they did it."""
    try:
        return (directory / "effects").read_text().splitlines()
    except FileNotFoundError:
        return []
