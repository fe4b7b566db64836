"""The limits of the program that wrote a session, from its facts and from what the session shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from ullage.clients import (
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    opencode,
    pi,
    qwen_code,
)
from ullage.clients.facts import Circumstances, ClientFacts, ClientLimit

CLIENTS: Final[dict[str, ClientFacts]] = {
    "claude-code": claude_code.FACTS,
    "codex": codex.FACTS,
    "copilot-cli": copilot_cli.FACTS,
    "gemini-cli": gemini_cli.FACTS,
    "opencode": opencode.FACTS,
    "pi": pi.FACTS,
    "qwen-code": qwen_code.FACTS,
}
"""By the names in ``SessionStarted.program``."""

OWN: Final = ("", "ullage")
"""Programs that compact by this package's own settings: a user's own loop, and Ullage."""

_VERSION = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenSizes:
    """What the calls to the present model show of the program's limits. Tokens; 0 is nothing seen."""

    largest: int = 0
    """The largest reported input."""
    last: int = 0
    """Input and output of the last call, unless the view was shortened after it."""
    passed: int = 0
    """The largest size that was followed by another request without a compaction between them. It counts anew after a
    compaction of which the log does not say that it was automatic."""
    compacted_at: int | None = None
    """What the program itself counted when it last compacted without being asked."""


NOTHING_SEEN: Final = SeenSizes()


class ClientLimits(NamedTuple):
    """The program's window and threshold; ``None`` is unknown."""

    window: ClientLimit | None = None
    threshold: ClientLimit | None = None


UNKNOWN_LIMITS: Final = ClientLimits()


def name_and_version(program: str) -> tuple[str, tuple[int, ...]]:
    """``claude-code 2.1.330`` as a name and numbers."""
    name, _, rest = program.partition(" ")
    found = _VERSION.match(rest.strip())
    if found is None:
        return name, ()
    return name, tuple(int(each[:9]) for each in found[0].split("."))


def title_of(program: str) -> str:
    """The name of a program for people."""
    name = name_and_version(program)[0]
    facts = CLIENTS.get(name)
    return name if facts is None else facts.title


def limits_of(
    program: str, known: Circumstances, named: int | None, seen: SeenSizes
) -> ClientLimits:
    """The limits of a program. ``named`` is the window that the user or the log named, which is taken as it is."""
    facts = CLIENTS.get(name_and_version(program)[0])
    if facts is None:
        return UNKNOWN_LIMITS
    window = None
    size = named
    if named is None:
        window = _window(facts, known, seen)
        size = known.model_window if window is None else window.tokens
    if size is None:
        return ClientLimits(window, _observed(None, seen))
    threshold = facts.threshold(known, size)
    if facts.checks_every_request:
        threshold = _unless_passed(threshold, seen)
    return ClientLimits(window, _observed(threshold, seen))


def _window(
    facts: ClientFacts, known: Circumstances, seen: SeenSizes
) -> ClientLimit | None:
    """The program's window. A request that did not fit it shows that the program uses the model's whole window."""
    window = facts.window(known)
    if window is None or window.tokens is None or seen.largest <= window.tokens:
        return window
    larger = known.model_window
    if larger is None or larger < seen.largest:
        return None
    note = f"the log has a request of {seen.largest:,} tokens"
    return ClientLimit(larger, "observed", note)


def _unless_passed(threshold: ClientLimit | None, seen: SeenSizes) -> ClientLimit | None:
    """The threshold, unless the session went on above it without a compaction."""
    if threshold is None:
        return None
    if threshold.tokens is None or seen.passed < threshold.tokens:
        return threshold
    return None


def _observed(threshold: ClientLimit | None, seen: SeenSizes) -> ClientLimit | None:
    """The threshold beside the last automatic compaction, which started at it or, by one message, above it."""
    at = seen.compacted_at
    if at is None or (threshold is not None and threshold.tokens is None):
        return threshold
    note = f"it compacted at {at:,} here"
    if threshold is None or threshold.tokens is None or threshold.tokens > at:
        return ClientLimit(at, "observed", note)
    return ClientLimit(threshold.tokens, "observed", f"{threshold.note}; {note}")
