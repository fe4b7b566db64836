"""What the harness knows of a framework: one file for each in ``frameworks/``, whose name is that of --only."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
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
        return Peer(
            self.title,
            first,
            "",
            self.script,
            "",
            tuple(others),
            has_ullage=has_ullage,
            overrides=self.overrides,
        )


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
    about: str = ""
    is_brief: bool = False


PLAIN_CHAT = Contender(
    "openai SDK (Chat) with Compactor",
    "plugin_plain.py",
    "plain",
    arguments=("chat",),
    is_quick=True,
)
PLAIN_RESPONSES = Contender(
    "openai SDK (Responses) with Compactor",
    "plugin_plain.py",
    "plain",
    arguments=("responses",),
    is_quick=True,
)
PLAIN_GEMINI = Contender(
    "google-genai SDK with Compactor",
    "plugin_plain.py",
    "plain",
    arguments=("gemini",),
    is_quick=True,
)


def frameworks() -> dict[str, Framework]:
    """All of them by name, in the order of their names."""
    package = import_module("bench.plugins.frameworks")
    names = sorted(each.name for each in iter_modules(package.__path__))
    return {
        name: import_module(f"bench.plugins.frameworks.{name}").FRAMEWORK
        for name in names
    }
