"""Follows the items of a session while its events are folded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from ullage.advice.held import HeldItem, held_fixed, held_part, sized
from ullage.advice.lives import ItemLife, WhyLeft
from ullage.advice.tool_calls import CallFacts
from ullage.events import (
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    Pruned,
    Rewound,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
    Uncompacted,
)
from ullage.messages import SystemBlock, Tool, ToolCallPart
from ullage.meter.fold import Fold
from ullage.meter.shares import widths_of
from ullage.meter.view import Entry

_WHOLE_VIEW: Final[dict[type, WhyLeft]] = {
    CompactionCommitted: "compaction",
    Pruned: "pruning",
    Rewound: "rewind",
    Uncompacted: "rewind",
    ModelChanged: "edit",
    SessionStarted: "edit",
}
"""Events that may change any message in view, and why what is missing afterwards has left."""


class ItemFollower:
    """Notes which items came and left, after each event that its fold has applied."""

    def __init__(self, fold: Fold, ended: set[str]) -> None:
        self.fold = fold
        self.parts: dict[str, dict[str, HeldItem]] = {}
        """By message and part, what is in view."""
        self._system: list[HeldItem] = []
        self._tools: list[HeldItem] = []
        self._calls = CallFacts()
        self._ended = ended
        self._before = 0  # calls that ended before anything was followed
        self._numbers: dict[str, int] = {}
        self._entries: dict[str, Entry] = {}
        self.gone: list[ItemLife] = []
        """The items that have left, in that order."""
        self._marks: list[str] = []

    @property
    def next_call(self) -> int:
        """The number of the next main call."""
        return self._before + len(self._numbers) + 1

    @property
    def held(self) -> list[HeldItem]:
        """What is in the next request, but reasoning."""
        found = [*self._system, *self._tools]
        for parts in self.parts.values():
            found += parts.values()
        return found

    def take_marks(self) -> tuple[str, ...]:
        """What has changed since they were taken last."""
        marks = tuple(self._marks)
        self._marks.clear()
        return marks

    def follow(self, event: Event) -> None:
        """The event has been applied."""
        why = _WHOLE_VIEW.get(type(event))
        if why is not None:
            self._follow_view(why)
        match event:
            case MessageAdded() | MessageReplaced():
                message_id = event.message.id
                self._mark("edit", message_id in self.parts)
                self._follow_message(self.fold.view.entries[message_id], "edit")
            case SystemChanged(note=""):
                self._mark("system", self.next_call > 1)
                self._follow_fixed()
            case ToolsChanged():
                self._mark("tools", self.next_call > 1)
                self._follow_fixed()
            case ModelChanged() | SessionStarted():
                self._follow_fixed()
            case CallStarted(purpose="main"):
                if event.call in self._ended:
                    self._numbers.setdefault(event.call, self.next_call)
            case _:
                pass

    def follow_all(self, numbers: Mapping[str, int]) -> None:
        """Take what is in view from a fold that applied a session before, whose main calls these are, by number."""
        self._follow_fixed()
        for entry in self.fold.view:
            ended = numbers.get(entry.message.call or "", 0)
            self._before = max(self._before, ended)
            self._follow_message(entry, "edit")
        self._before = len(numbers)

    def number_of(self, call: str) -> int:
        """The number of a main call that has ended.

        One without a recorded start began before its own answer was there.
        """
        known = self._numbers.get(call)
        if known is not None:
            return known
        number = self.next_call
        self._numbers[call] = number
        last = self.fold.view.last
        if last is None or last.call != call:
            return number
        parts = self.parts[last.id]
        for part_id, held in parts.items():
            if held.item.first_call == number:
                item = replace(held.item, first_call=number + 1)
                parts[part_id] = held._replace(item=item)
        return number

    def _mark(self, mark: str, is_change: bool) -> None:
        if is_change:
            self._marks.append(mark)

    # -- messages --

    def _follow_view(self, why: WhyLeft) -> None:
        entries = self.fold.view.entries
        for message_id in list(self.parts):
            if message_id not in entries:
                entry = self._entries.pop(message_id)
                for held in self.parts.pop(message_id).values():
                    self._end(held, entry, why)
        for entry in list(entries.values()):
            if self._entries.get(entry.id) is not entry:
                self._follow_message(entry, why)

    def _follow_message(self, entry: Entry, why: WhyLeft) -> None:
        """The parts of a message as it is now. What it no longer holds has left."""
        before = self.parts.get(entry.id, {})
        costs = {cost.id: cost for cost in entry.cost.parts}
        now: dict[str, HeldItem] = {}
        for part in entry.message.parts:
            if isinstance(part, ToolCallPart):
                self._calls.note(part)
            cost = costs.get(part.id)
            if cost is None:
                continue
            first_call = self.next_call
            known = before.get(part.id)
            if known is not None and known.content == part:
                first_call = known.item.first_call
            now[part.id] = held_part(
                part, cost, entry.id, first_call, self._calls, self.fold.forecaster.media
            )
        for part_id, held in before.items():
            kept = now.get(part_id)
            if kept is None or kept.item.first_call != held.item.first_call:
                self._end(held, self._entries[entry.id], why)
        self._entries[entry.id] = entry
        self.parts[entry.id] = now

    def _end(self, held: HeldItem, entry: Entry, why: WhyLeft) -> None:
        tokens = round(held.weight * self.fold.scale_of(entry))
        self._note_gone(held.item, tokens, why)

    def _note_gone(self, item: ItemLife, tokens: int, why: WhyLeft) -> None:
        """An item has left. One that no request has held is forgotten."""
        last_call = self.next_call - 1
        if item.first_call <= last_call:
            item = sized(item, tokens, widths_of(self.fold))
            self.gone.append(replace(item, last_call=last_call, why_left=why))

    # -- what every request carries --

    def _follow_fixed(self) -> None:
        fold = self.fold
        blocks = zip(fold.system or (), fold.fixed.system, strict=True)
        self._system = self._fixed_now(self._system, blocks)
        cost = fold.fixed.tools
        declared: list[tuple[Tool, float]] = []
        for place, tool in enumerate(fold.tools or ()):
            each = cost.deferred if tool.deferred else cost.each
            declared.append((tool, each[place]))
        self._tools = self._fixed_now(self._tools, declared)

    def _fixed_now(
        self,
        before: list[HeldItem],
        contents: Iterable[tuple[SystemBlock | Tool, float]],
    ) -> list[HeldItem]:
        """What every request carries from now on; content that was there keeps its first call."""
        left = list(before)
        now: list[HeldItem] = []
        for content, tokens in contents:
            first_call = self.next_call
            for held in left:
                if held.content == content:
                    first_call = held.item.first_call
                    left.remove(held)
                    break
            now.append(held_fixed(content, tokens, first_call))
        for held in left:
            self._note_gone(held.item, round(held.weight), "edit")
        return now
