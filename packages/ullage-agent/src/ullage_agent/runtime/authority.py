"""Who may set a setting besides the operator, and how far.

The operator starts the program: launch arguments, the environment, the user's own configuration file, and the Python
program that makes an ``Agent``. A project's ``ullage.toml`` sets what ``PROJECT_KEYS`` names and is refused with
anything else. Callers of the API and the settings stored in a session's ledger count within the operator's settings:
each setting carries one ``Authority`` for them (``runtime/settings.py``), which ``precedence.resolve`` applies. A model
sets nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, Final, Literal, NamedTuple

from ullage.codec.params import split
from ullage.wire.endpoints import same_address
from ullage_agent.loop.budgets import Budget

PROJECT_KEYS: Final[Mapping[str, str]] = {
    "system": "text for the model, as `AGENTS.md` is; what the model may do stays as it was",
    "instruction_files": "visible files below the root, which go to the user's own provider",
    "summary_instructions": "text for the model that summarises",
    "strategy": "one of Ullage's own ways to compact",
    "sequential_tools": "the order of calls that run anyway",
    "defer_tools": "when the tools that are there are declared",
    "always_declare": "which of them are declared at once",
    "recall": "whether the model may read its own session",
}
"""All that a project's file may set, and why that is harmless: whoever wrote the file, no key and no conversation goes
to another address, nothing runs or is approved, and no limit of what is spent rises. None depends on the model."""

SANDBOXES: Final = ("off", "workspace+network", "workspace")
"""From the loosest to the strictest."""


class Kept(NamedTuple):
    """The part of a wanted value that counts. ``dropped`` describes the rest; empty if all of it counts."""

    value: Any
    dropped: str = ""


Narrow = Callable[[Any, Any, str], Kept]
"""``(wanted, ceiling, wire)``: the part of a wanted value that the operator's value allows."""


class Authority(NamedTuple):
    """How far callers and ledgers may set a setting: ``any`` value, ``narrower`` than the operator's, or ``never``."""

    session: Literal["any", "narrower", "never"] = "any"
    why: str = ""
    how: str = ""
    """How a session's value narrows the operator's, for the documentation."""
    narrow: Narrow | None = None
    is_ceiling: bool = False
    """Whether a session's narrower value counts although an argument has a higher rank."""
    option: str = ""
    """The launch option that raises the operator's value."""


def _fewer(wanted: tuple[str, ...], ceiling: tuple[str, ...], wire: str) -> Kept:
    dropped = [name for name in wanted if name not in ceiling]
    return Kept(tuple(name for name in wanted if name in ceiling), ", ".join(dropped))


def _more(wanted: tuple[str, ...], ceiling: tuple[str, ...], wire: str) -> Kept:
    added = tuple(name for name in wanted if name not in ceiling)
    lifts = not wanted and bool(ceiling)
    return Kept(
        (*ceiling, *added), f"no approval for {', '.join(ceiling)}" if lifts else ""
    )


def _inside(wanted: Path | None, ceiling: Path | None, wire: str) -> Kept:
    root = (ceiling or Path.cwd()).resolve()
    if wanted is None:
        return Kept(ceiling)
    place = (root / wanted).resolve()
    if place.is_relative_to(root):
        return Kept(place)
    return Kept(ceiling, str(wanted))


def _same_address(wanted: str, ceiling: str, wire: str) -> Kept:
    if not wanted or same_address(wanted, ceiling):
        return Kept(ceiling)
    return Kept(ceiling, wanted)


def _stricter(wanted: str, ceiling: str, wire: str) -> Kept:
    is_stricter = SANDBOXES.index(wanted) >= SANDBOXES.index(ceiling)
    return Kept(wanted) if is_stricter else Kept(ceiling, wanted)


def _lower(wanted: Budget, ceiling: Budget, wire: str) -> Kept:
    limits: dict[str, Any] = {}
    dropped: list[str] = []
    for field in dataclasses.fields(Budget):
        want, most = getattr(wanted, field.name), getattr(ceiling, field.name)
        is_more = want is not None and most is not None and want > most
        limits[field.name] = most if want is None or is_more else want
        dropped += [f"{field.name}={want:,}"] if is_more else []
    return Kept(Budget(**limits), ", ".join(dropped))


def _visible(wanted: tuple[str, ...], ceiling: tuple[str, ...], wire: str) -> Kept:
    kept = tuple(name for name in wanted if name in ceiling or not is_hidden(name))
    return Kept(kept, ", ".join(name for name in wanted if name not in kept))


def _sampling(
    wanted: Mapping[str, object], ceiling: Mapping[str, object], wire: str
) -> Kept:
    kept, dropped = split(wanted, wire)
    own = {
        name: wanted[name]
        for name in dropped
        if name in ceiling and wanted[name] == ceiling[name]
    }
    left = [name for name in dropped if name not in own]
    return Kept({**kept, **own}, ", ".join(left))


def is_hidden(name: str) -> bool:
    """Whether a file is private by its name: ``.env``, ``prod.env``, anything in ``.git``."""
    path = PurePath(name)
    return path.name.lower().endswith(".env") or any(
        part.startswith(".") and part != "." for part in path.parts
    )


ANYONE: Final = Authority()
"""Within the bounds of its value it decides how the conversation is sent, counted, shown or stored."""
CHOICE: Final = Authority(
    why="decides which provider gets the conversation, which key is used and what is spent"
)
EFFORT: Final = Authority(
    why="decides how many calls are paid for before the program gives up"
)
BUDGET: Final = Authority(
    session="narrower",
    why="is the limit of what is spent",
    how="at most the operator's",
    narrow=_lower,
    is_ceiling=True,
)
MODELS: Final = Authority(session="never", why="holds `params`")
PARAMS: Final = Authority(
    session="narrower",
    why="may attach a remote server or make the provider keep the conversation",
    how="fields that shape the answer ([which](#fields-of-params))",
    narrow=_sampling,
)
INSTRUCTIONS: Final = Authority(
    session="narrower",
    why="may name a file that is not meant to be sent to a provider, such as `.env`",
    how="visible files below the root",
    narrow=_visible,
)
BASE_URL: Final = Authority(
    session="narrower",
    why="decides where the conversation and the key are sent",
    how="the operator's own address",
    narrow=_same_address,
    is_ceiling=True,
    option="--base-url",
)
ENDPOINTS: Final = Authority(
    session="never", why="decides where the conversation is sent, and with which key"
)
RETENTION: Final = Authority(
    session="never", why="has the provider keep the conversation"
)
RATES: Final = Authority(
    session="never", why="is shared by all sessions with the same key"
)
TOOLS: Final = Authority(
    session="narrower",
    why="gives the model tools that run on this machine",
    how="tools that the operator has named too",
    narrow=_fewer,
    is_ceiling=True,
    option="--tools",
)
APPROVE: Final = Authority(
    session="narrower",
    why="decides which tools ask before they run; a shorter list asks less",
    how="in addition to the operator's",
    narrow=_more,
    is_ceiling=True,
)
MCP: Final = Authority(
    session="never",
    why="starts programs, connects to servers and gives them the conversation",
)
ROOT: Final = Authority(
    session="narrower",
    why="decides which files can be read and written",
    how="a directory inside the operator's",
    narrow=_inside,
    is_ceiling=True,
    option="--root",
)
SANDBOX: Final = Authority(
    session="narrower",
    why="is what confines commands",
    how="the stricter one",
    narrow=_stricter,
    is_ceiling=True,
    option="--sandbox",
)
SANDBOX_PLACES: Final = Authority(
    session="never", why="opens places that commands could not reach"
)
