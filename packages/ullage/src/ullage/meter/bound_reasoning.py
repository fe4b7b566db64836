"""The one owner of what reasoning is bound to: the prefix that each answer was made behind, and whether it still is.

A prefix has two parts: its head (system prompt, tools that are not deferred, the application's policy for reasoning),
and a digest that is rolled over the messages. A message is named by its id and by where in the ledger its content is:
the place changes when it is edited, cleared or shortened, and an undo brings it back. A deferred tool is part of the
message that refers to it.

A compaction that the provider wrote stands for the messages it was made of, so that reasoning behind them stays valid
(https://platform.claude.com/docs/en/build-with-claude/compaction-thinking-blocks). That holds in one direction: what
was written behind the compaction is not valid behind the messages. So behind a compaction there are several digests
that a prefix may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ullage.messages import Tool
from ullage.meter.fingerprint import EMPTY, digest, of_tools
from ullage.meter.policy import MOST_SENT, MOST_STANDS
from ullage.meter.view import DERIVED, Entry

UNKNOWN: Final = ""
"""The prefix of an answer that the provider has refused, or whose request nobody knows: no digest is like it."""


@dataclass(slots=True)
class BoundReasoning:
    """What the answers in view were made behind."""

    behind: dict[str, str] = field(default_factory=dict)
    """Head and digest of the prefix, by the answer's id."""
    calls: dict[str, str] = field(default_factory=dict)
    """The same by call, until its answer is there."""
    sent: dict[str, None] = field(default_factory=dict)
    """Head and digest of the newest requests: where a provider's cache may end."""
    stands_for: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By the id of a provider's compaction: the digests of what it was made of."""
    writers: dict[str, str] = field(default_factory=dict)
    """The model that wrote a provider's compaction. Another one gets it as text, which is another prefix."""
    reader: str = ""
    """The model of the next request."""
    unbound: frozenset[str] = frozenset()
    """Answers whose reasoning is behind another prefix now."""
    learnt: set[str] = field(default_factory=set)
    """Models that have refused reasoning behind a changed prefix."""
    has_begun: bool = False
    """Whether a call was made whose whole request is in the ledger."""
    last: str = field(default="", metadata=DERIVED)
    """The digest of all messages in view; empty where it is not known."""
    deferred: Mapping[str, Tool] = field(default_factory=dict, metadata=DERIVED)
    """The deferred tools of the next request, by name."""

    def declare(self, tools: Sequence[Tool]) -> None:
        """Take the tools of the next request."""
        deferred: dict[str, Tool] = {}
        for tool in tools:
            if tool.deferred:
                deferred[tool.name] = tool
        self.deferred = deferred

    def added(
        self,
        entry: Entry,
        head: str | None,
        entries: Iterable[Entry],
    ) -> None:
        """A message was added at the end of these entries.

        ``head`` is that of the next request, ``None`` where the log does not hold all of it.
        """
        if entry.cost.carries:
            behind = self.calls.pop(entry.call, None)
            if behind is None and not entry.call and head is not None:
                # a caller's own history
                earlier = (each for each in entries if each is not entry)
                behind = head + self.digest_of(earlier)
            if behind is not None:
                self.behind[entry.id] = behind
        if self.last:
            self.last = self._roll(self.last, entry)

    def started(
        self,
        call: str,
        head: str,
        entries: Iterable[Entry],
    ) -> None:
        """A call with all of these messages was sent.

        What a program wrote in the log that was continued here is behind a head that nobody logged.
        """
        if not self.has_begun:
            self.has_begun = True
            for entry in entries:
                if entry.cost.carries:
                    self.behind.setdefault(entry.id, UNKNOWN)
        prefix = head + self.digest_of(entries)
        self.calls[call] = prefix
        self.sent.pop(prefix, None)
        self.sent[prefix] = None
        if len(self.sent) > MOST_SENT:
            del self.sent[next(iter(self.sent))]

    def digest_of(self, entries: Iterable[Entry]) -> str:
        """The digest of these messages, which are all that is in view."""
        if not self.last:
            rolled = EMPTY
            for entry in entries:
                rolled = self._roll(rolled, entry)
            self.last = rolled
        return self.last

    def accepted(
        self, entries: Iterable[Entry]
    ) -> Iterable[tuple[Entry, tuple[str, ...]]]:
        """Each message with the digests that its prefix may have."""
        rolled: tuple[str, ...] = (EMPTY,)
        for entry in entries:
            yield entry, rolled
            stands = () if self._is_text(entry) else self.stands_for.get(entry.id, ())
            rolled = (*(self._roll(each, entry) for each in rolled), *stands)

    def note_compaction(
        self,
        summary: str,
        entries: Iterable[Entry],
        first: str,
    ) -> None:
        """The provider wrote ``summary`` of all messages before ``first``. ``entries`` are those in view before."""
        for entry, rolled in self.accepted(entries):
            if entry.id == first:
                self.stands_for[summary] = rolled[-MOST_STANDS:]
                return

    def check(
        self, head: str, entries: Iterable[Entry], binds: Callable[[Entry], bool]
    ) -> bool:
        """Look again at which answers are unbound; true where that has changed. O(messages) if any answer is bound."""
        self.last = ""
        unbound: set[str] = set()
        if self.behind:
            for entry, rolled in self.accepted(entries):
                behind = self.behind.get(entry.id)
                if behind is None or not entry.cost.carries:
                    continue
                is_valid = any(behind == head + each for each in rolled)
                if behind == UNKNOWN or (binds(entry) and not is_valid):
                    unbound.add(entry.id)
        changed = unbound != self.unbound
        self.unbound = frozenset(unbound)
        return changed

    def was_sent(self, head: str, entries: Iterable[Entry]) -> Iterator[bool]:
        """Of each message, whether a request with this head ended behind it."""
        rolled = EMPTY
        for entry in entries:
            rolled = self._roll(rolled, entry)
            yield head + rolled in self.sent

    def is_valid(self, entry: Entry) -> bool:
        """Whether what this answer was made behind is known, and still there."""
        return entry.id in self.behind and entry.id not in self.unbound

    def refuse(
        self,
        model: str,
        entries: Iterable[Entry],
    ) -> None:
        """The provider refused reasoning of this view: none of it is sent again."""
        self.learnt.add(model)
        for entry in entries:
            if entry.cost.carries:
                self.behind[entry.id] = UNKNOWN

    def _is_text(self, entry: Entry) -> bool:
        return self.writers.get(entry.id, self.reader) != self.reader

    def _roll(
        self,
        before: str,
        entry: Entry,
    ) -> str:
        origin = entry.facts.origin
        pieces = [
            before,
            entry.id,
            repr((origin.seq, origin.place, *origin.pruned)),
        ]
        if self._is_text(entry):
            pieces.append("text")
        for name in entry.cost.references:
            tool = self.deferred.get(name)
            if tool is not None:
                pieces.append(of_tools((tool,)))
        return digest(*pieces)
