"""First calls without tools, kept back until a later call of their session tells whether they open it.

Programs ask for a title beside their first call with tools, and some milliseconds before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ullage.meter.lane_state import RequestSigns, SeenRequest
from ullage.metering.policy import HELD_BYTES, MOST_PROVISIONAL, PROVISIONAL_S
from ullage_proxy.relay.frames import TapFrame, at_of


@dataclass(slots=True)
class ProvisionalCall:
    """A call that is not metered yet. ``opens``: it is the conversation's own."""

    frame: TapFrame
    seen: SeenRequest
    signs: RequestSigns
    answer: TapFrame | None = None
    opens: bool = True

    @property
    def size(self) -> int:
        """Bytes of its request and answer."""
        return len(self.frame.payload) + len(self.answer.payload if self.answer else b"")

    def is_continued_by(self, signs: RequestSigns) -> bool:
        """Whether a request begins with all pieces of this one."""
        length = len(self.signs.rolled)
        return signs.rolled[length - 1 : length] == self.signs.rolled[-1:]


class ProvisionalCalls:
    """The calls kept back, oldest first."""

    def __init__(self) -> None:
        self._calls: list[ProvisionalCall] = []

    @property
    def is_waiting(self) -> bool:
        """Whether a call is kept back."""
        return bool(self._calls)

    def keep(self, frame: TapFrame, seen: SeenRequest) -> None:
        """Keep a request back."""
        self._calls.append(ProvisionalCall(frame, seen, RequestSigns(seen)))

    def keep_answer(self, frame: TapFrame) -> bool:
        """Keep an answer back with its request; False where the request is not kept."""
        for each in self._calls:
            if each.seen.call == frame.text("call"):
                each.answer = frame
                return True
        return False

    def told_by(self, seen: SeenRequest, at: float) -> Iterator[ProvisionalCall]:
        """Give out the calls whose place a request at this time tells: it continues them, or has tools and does not.

        Those that are too many, too large or too old are given out as well, as the ones that open their sessions.
        """
        if not self._calls:
            return
        signs = RequestSigns(seen)
        kept: list[ProvisionalCall] = []
        held = sum(each.size for each in self._calls)
        for place, each in enumerate(self._calls):
            is_same = each.signs.marks.session == signs.marks.session
            each.opens = not is_same or each.is_continued_by(signs)
            is_told = is_same and (signs.has_tools or each.opens)
            is_old = at - at_of(each.frame) > PROVISIONAL_S
            is_much = held > HELD_BYTES or place < len(self._calls) - MOST_PROVISIONAL
            if is_told or is_old or is_much:
                held -= each.size
                each.opens = each.opens or not is_told
                yield each
            else:
                kept.append(each)
        self._calls = kept

    def all(self) -> Iterator[ProvisionalCall]:
        """Give out all: nothing more came, so each opens its session."""
        calls, self._calls = self._calls, []
        for each in calls:
            each.opens = True
            yield each
