"""What the harness knows of a framework, and of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench.environments import Peer

Kind = Literal["plain", "plug-in", "own"]

MODELS = ("nobody-knows-this", "nor-this-one")
"""The model of a session, and the one that it changes to: of no family, so that no table knows them."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of the table: a script of ``bench/peers`` in an environment.

    ``requirements`` are pinned; without them the script runs in the development environment. ``is_quick``: --quick runs
    it. ``is_lowest``: the lowest supported version, where another row has the newest. ``overrides``: of requirements
    that its packages state (``Peer.overrides``).
    """

    title: str
    script: str
    kind: Kind = "plug-in"
    requirements: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    is_quick: bool = False
    is_lowest: bool = False
    overrides: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """Of the framework; empty for the development environment."""
        return self.requirements[0].partition("==")[2] if self.requirements else ""

    @property
    def peer(self) -> Peer | None:
        """Its environment; only that of an own compaction does not hold this checkout."""
        if not self.requirements:
            return None
        first, *others = self.requirements
        has_ullage = self.kind != "own"
        return Peer(self.title, first, tuple(others), has_ullage, self.overrides)


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework's rows: ``plain`` first, with which the others are compared.

    ``wire`` is the simulator that is called (``openai``, ``gemini``, ``anthropic``), ``like`` the simulated model that
    ``models`` behave like, ``summaries`` the words by which the last message of a request for a summary is known.
    ``is_brief``: only the long session on the smallest window.
    """

    title: str
    contenders: tuple[Contender, ...]
    wire: str = "openai"
    like: str = "gpt-4.1"
    models: tuple[str, str] = MODELS
    summaries: tuple[str, ...] = ()
    is_brief: bool = False


def plain(title: str, mode: str) -> Contender:
    """A plain SDK with ``Compactor``, in the development environment."""
    title = f"{title} with Compactor"
    script = "plugin_plain.py"
    return Contender(title, script, "plain", arguments=(mode,), is_quick=True)


PLAIN_CHAT = plain("openai SDK (Chat)", "chat")
PLAIN_RESPONSES = plain("openai SDK (Responses)", "responses")
PLAIN_GEMINI = plain("google-genai SDK", "gemini")
