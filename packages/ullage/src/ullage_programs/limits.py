"""The limits of the program that wrote a session, from its facts and from what the session shows."""

from __future__ import annotations

import re

from ullage_programs.facts import Circumstances, ClientLimit, ProgramFacts
from ullage_programs.record import Record

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final


class SeenSizes(Record):
    """What the calls to the present model show of the program's limits. Tokens; 0 is nothing seen."""

    largest: int = 0
    """The largest reported input."""
    last: int = 0
    """Input and output of the last call, unless the view was shortened after it."""
    passed: int = 0
    """The largest size that was followed by another request without a compaction between them. It counts anew after a
    compaction of which the log does not say that it was automatic."""
    compacted_at: int = 0
    """What the program itself counted when it last compacted without being asked."""

    def after_request(self) -> SeenSizes:
        """A request goes out: what the last call left was not compacted."""
        return self._replace(passed=max(self.last, self.passed))

    def after_call(self, context: int, output: int) -> SeenSizes:
        """A call reported its input and output."""
        return self._replace(
            largest=max(self.largest, context),
            last=context + output,
        )

    def after_compaction(self, before: int, *, is_automatic: bool) -> SeenSizes:
        """The view was compacted: by the program itself, or because a person asked for it.

        A log that lacks the size ``before`` is taken to mean the size that the last call reported.
        """
        size = before or self.last
        if is_automatic and size:
            return self._replace(last=0, compacted_at=size)
        return self._replace(last=0, passed=0)


NOTHING_SEEN: Final = SeenSizes()


class ClientLimits(Record):
    """The program's window and threshold; ``None`` is unknown."""

    window: ClientLimit | None = None
    threshold: ClientLimit | None = None


UNKNOWN_LIMITS: Final = ClientLimits()


def version_of(words: str) -> tuple[int, ...]:
    """``2.1.330`` as numbers, up to the first that is none."""
    found = re.match(r"\d+(?:\.\d+)*", words.strip())
    if found is None:
        return ()
    return tuple(int(each[:9]) for each in found[0].split("."))


def name_and_version(program: str) -> tuple[str, tuple[int, ...]]:
    """``claude-code 2.1.330`` as a name and numbers."""
    name, _, rest = program.partition(" ")
    return name, version_of(rest)


def limits_by(
    facts: ProgramFacts, known: Circumstances, named: int | None, seen: SeenSizes
) -> ClientLimits:
    """The limits of a program. ``named`` is the window that the user or the log named, which is taken as it is."""
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
    facts: ProgramFacts, known: Circumstances, seen: SeenSizes
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
    if not at or (threshold is not None and threshold.tokens is None):
        return threshold
    note = f"it compacted at {at:,} here"
    if threshold is None or threshold.tokens is None or threshold.tokens > at:
        return ClientLimit(at, "observed", note)
    return ClientLimit(threshold.tokens, "observed", f"{threshold.note}; {note}")
