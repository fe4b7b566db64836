"""Follows the items of a session while its events are folded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from ullage.advice.held import (
    HeldFixed,
    HeldPart,
    fixed_item,
    part_item,
)
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
from ullage.messages import (
    Part,
    SystemBlock,
    Tool,
    ToolCallPart,
)
from ullage.meter.cost import PartCost
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
        self.parts: dict[str, dict[str, HeldPart]] = {}
        """By message and part, what is in view."""
        self.system: list[HeldFixed] = []
        self.tools: list[HeldFixed] = []
        self.tool_calls = CallFacts()
        self._ended = ended
        self._numbers: dict[str, int] = {}
        self._entries: dict[str, Entry] = {}
        self._gone: dict[int, ItemLife] = {}
        self._ends = 0
        self._left: dict[tuple[str, str], tuple[HeldPart, int]] = {}
        self._marks: list[str] = []

    @property
    def next_call(self) -> int:
        """The number of the next main call."""
        return len(self._numbers) + 1

    @property
    def gone(self) -> tuple[ItemLife, ...]:
        """The items that have left, in that order."""
        return tuple(self._gone.values())

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
                self._follow_change(event.message.id)
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
                    number = self.next_call
                    self._numbers.setdefault(event.call, number)
            case _:
                pass

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
            if held.first_call == number:
                parts[part_id] = held._replace(first_call=number + 1)
        return number

    def _mark(self, mark: str, is_change: bool) -> None:
        if is_change:
            self._marks.append(mark)

    # -- messages --

    def _follow_view(self, why: WhyLeft) -> None:
        entries = self.fold.view.entries
        for message_id in list(self.parts):
            if message_id not in entries:
                self._leave(message_id, why)
        for entry in list(entries.values()):
            known = self._entries.get(entry.id)
            if known is not entry:
                self._follow_message(entry, why)

    def _follow_change(self, message_id: str) -> None:
        self._mark("edit", message_id in self.parts)
        entry = self.fold.view.entries[message_id]
        self._follow_message(entry, "edit")

    def _follow_message(self, entry: Entry, why: WhyLeft) -> None:
        """The parts of a message as it is now. What it no longer holds has left."""
        before = self.parts.get(entry.id, {})
        costs: dict[str, PartCost] = {}
        for cost in entry.cost.parts:
            costs[cost.id] = cost
        now: dict[str, HeldPart] = {}
        for part in entry.message.parts:
            if isinstance(part, ToolCallPart):
                self.tool_calls.note(part)
            part_cost = costs.get(part.id)
            if part_cost is None:
                continue
            known = before.get(part.id)
            if known is not None and known.part == part:
                first_call = known.first_call
            else:
                first_call = self._first_call(entry.id, part)
            now[part.id] = HeldPart(
                part,
                part_cost,
                entry,
                first_call,
            )
        for part_id, held in before.items():
            kept = now.get(part_id)
            if kept is None or kept.first_call != held.first_call:
                self._end(held, why)
        self._entries[entry.id] = entry
        self.parts[entry.id] = now

    def _leave(self, message_id: str, why: WhyLeft) -> None:
        del self._entries[message_id]
        parts = self.parts.pop(message_id)
        for held in parts.values():
            self._end(held, why)

    def _first_call(self, message_id: str, part: Part) -> int:
        """The next call, unless the part left after the last call and is back: then it was never away."""
        key = message_id, part.id
        last = self.next_call - 1
        if key in self._left:
            held, place = self._left[key]
            is_back = self._gone[place].last_call == last
            if is_back and held.part == part:
                del self._left[key]
                del self._gone[place]
                return held.first_call
        return last + 1

    def _end(self, held: HeldPart, why: WhyLeft) -> None:
        """An item has left. One that no request has held is forgotten."""
        if held.first_call >= self.next_call:
            return
        scale = self.fold.scale_of(held.entry)
        tokens = round(held.cost.tokens * scale)
        widths = widths_of(self.fold)
        item = part_item(held, tokens, self.tool_calls, widths)
        self._note_gone(item, why)
        key = held.entry.id, held.part.id
        self._left[key] = held, self._ends

    def _note_gone(self, item: ItemLife, why: WhyLeft) -> None:
        last = self.next_call - 1
        self._ends += 1
        self._gone[self._ends] = replace(
            item,
            last_call=last,
            why_left=why,
        )

    # -- what every request carries --

    def _follow_fixed(self) -> None:
        fold = self.fold
        system = fold.system or ()
        tokens = fold.fixed.system
        blocks = list(zip(system, tokens, strict=True))
        self.system = self._fixed_now(self.system, blocks)
        cost = fold.fixed.tools
        tools = fold.tools or ()
        declared: list[tuple[Tool, float]] = []
        for place, tool in enumerate(tools):
            each = cost.each[place]
            if tool.deferred:
                each = cost.deferred[place]
            declared.append((tool, each))
        self.tools = self._fixed_now(self.tools, declared)

    def _fixed_now(
        self,
        before: list[HeldFixed],
        contents: Iterable[tuple[SystemBlock | Tool, float]],
    ) -> list[HeldFixed]:
        """What every request carries from now on; content that was there keeps its first call."""
        left = list(before)
        now: list[HeldFixed] = []
        for content, tokens in contents:
            first_call = self.next_call
            for held in left:
                if held.content == content:
                    first_call = held.first_call
                    left.remove(held)
                    break
            now.append(HeldFixed(content, tokens, first_call))
        for held in left:
            if held.first_call < self.next_call:
                item = fixed_item(held, widths_of(self.fold))
                self._note_gone(item, "edit")
        return now
