"""How a request follows from what was sent before: what stays, changes, leaves and comes. Pure.

    following = Following()
    followed = following.take(state, request, known)
    followed.events                                   # for the ledger, in order
    followed.known                                    # the request's messages, as the events have them

Both histories are aligned: a common beginning, then as many equal messages in the same order as there are. What left in
front of a message that stays was compacted, by whoever makes the requests; what left at the end was gone back on. All
that depends on earlier requests follows from the events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from ullage.codec.held import keeps_head
from ullage.events import (
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    ParamsChanged,
    Rewound,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import Message, Request, ToolResultPart
from ullage.meter.held_answers import HeldAnswers
from ullage.meter.lane_signs import one_spaced, sign_of
from ullage.meter.policy import MOST_EQUAL, STEP_BACK_AT_MOST
from ullage.meter.same_content import content_digest, same_content
from ullage.meter.state import State

Check = Callable[[Message], bool]


@dataclass(slots=True)
class Alignment:
    """How the messages of a request follow from the known ones.

    ``places`` has for each message of the request the known one in whose place it is; ``None`` for one that has none.
    Those in ``edited`` have other content. Known ones that no place names have left: those from ``end`` on were gone
    back on, the others compacted. ``summary`` is the new message that stands for them.
    """

    places: list[int | None]
    end: int
    summary: int | None = None
    edited: set[int] = field(default_factory=set)
    is_cut: bool = False
    """Whether messages left in front of one that stays."""
    same: int = 0
    """How many messages both begin with."""


def align(
    known: Sequence[Message],
    sent: Sequence[Message],
    same: int,
    *,
    is_output: Check,
    is_summary: Check,
) -> Alignment:
    """The best alignment of two histories that begin with ``same`` equal messages.

    ``is_output`` tells the last call's answer, which a loop may send back in another form, ``is_summary`` a message
    that is a summary wherever it is.
    """
    found = _kept(known, sent, same, is_summary)
    is_few = len(known) - same <= STEP_BACK_AT_MOST < same
    if found is None or (is_few and found.is_cut):
        found = Alignment([*range(same)], same, same=same)
    first = len(found.places)
    gone, come = known[found.end :], sent[first:]
    if gone and come and is_summary(come[0]):
        found.summary = first if found.summary is None else found.summary
        found.end = len(known)
    elif gone and _is_edited(gone, come, first, is_output):
        found.edited.update(range(first, first + len(gone)))
        found.places += range(found.end, len(known))
        found.end = len(known)
    found.places += [None] * (len(sent) - len(found.places))
    return found


def _kept(
    known: Sequence[Message], sent: Sequence[Message], same: int, is_summary: Check
) -> Alignment | None:
    """The alignment up to the last message that is in both.

    ``None`` where more in front of it is new than stays: that is another history. Events can put one new message
    between two that stay, and others in the place of what left.
    """
    found = Alignment([*range(same)], same, same=same)
    kept = same
    for old, new in common(known[same:], sent[same:]):
        kept += 1
        gone = range(found.end, same + old)
        come = range(len(found.places), same + new)
        left, new_ones = known[gone.start : gone.stop], sent[come.start : come.stop]
        is_marked = found.summary is None and any(map(is_summary, new_ones[:1]))
        if is_marked or not _same_roles(left, new_ones):
            found.is_cut = found.is_cut or bool(gone)
            is_told = bool(come) and new_ones[0].role != "assistant"
            if found.summary is None and (is_told or len(come) > len(gone)):
                found.summary = come.start
                found.places.append(None)
                come = come[1:]
            if len(come) > len(gone):
                return None
        found.edited.update(come)
        found.places += gone[len(gone) - len(come) :]
        found.places.append(same + old)
        found.end = same + old + 1
    is_inserted = found.summary is not None and not found.is_cut
    return None if is_inserted or len(found.edited) > kept else found


def _is_edited(
    gone: Sequence[Message], come: Sequence[Message], kept: int, is_output: Check
) -> bool:
    """Whether the end of the history is there in another form: the last answer, or as many messages as stay in front.

    Another question in the place of the last one is a step back.
    """
    if not _same_roles(gone, come[: len(gone)]):
        return False
    if len(gone) == 1 and is_output(gone[0]):
        return True
    is_question = gone[0].role == "user" and not any(gone[0].of_type(ToolResultPart))
    return len(gone) == len(come) <= kept and not is_question


def _same_roles(one: Sequence[Message], other: Sequence[Message]) -> bool:
    return [message.role for message in one] == [message.role for message in other]


class _Pair(NamedTuple):
    old: int
    new: int
    next: _Pair | None


def common(
    known: Sequence[Message], sent: Sequence[Message]
) -> Iterator[tuple[int, int]]:
    """The places of equal messages in both, in order and as many as there can be; of equal ones those at the end.

    O(n log n) for n messages of which few are equal (``MOST_EQUAL``).
    """
    places: dict[bytes, list[int]] = {}
    for at, message in enumerate(known):
        places.setdefault(content_digest(message), []).append(at)
    # From the end on. ``ends`` has for each number of pairs how far back in ``known`` they have to go at least.
    ends: list[int] = []
    chains: list[_Pair] = []
    for new in reversed(range(len(sent) if places else 0)):
        for old in places.get(content_digest(sent[new]), ())[-MOST_EQUAL:]:
            at = bisect_left(ends, -old)
            pair = _Pair(old, new, chains[at - 1] if at else None)
            ends[at : at + 1] = [-old]
            chains[at : at + 1] = [pair]
    found = chains[-1] if chains else None
    while found is not None:
        yield found.old, found.new
        found = found.next


# -- events --


class Followed(NamedTuple):
    """What a request is to the ledger.

    ``request`` is whole: with what the provider holds of it, as far as it is known. ``known`` are its messages as the
    ledger has them after ``events``. ``is_extension`` is whether nothing in view leaves or changes, a new form of the
    last answer aside.
    """

    request: Request
    events: Sequence[Event]
    known: list[Message]
    is_extension: bool


class Following:
    """Follows the requests of one conversation. ``last`` is the last message of one that goes on."""

    def __init__(self, last: str = "") -> None:
        self.lacks_front = False
        """Whether the last request continues what the ledger does not have."""
        self._held = HeldAnswers(last)
        self._matched: list[tuple[Message, Message]] = []
        self._has_summary = False  # whether one was asked for since the last request

    def note(self, event: Event, last: str) -> None:
        """Follow an event that was applied. ``last`` is the id of the last message in view."""
        self._held.note(event, last)
        if isinstance(event, CallStarted):
            if event.purpose == "main":
                self._has_summary = False
            elif event.purpose == "summary":
                self._has_summary = True

    def take(
        self,
        state: State,
        request: Request,
        known: Sequence[Message],
        taken: Container[str] = (),
    ) -> Followed:
        """What a request is behind ``known``: all that is in view, or what a caller has sent so far.

        ``taken`` are ids of messages that are known no more.
        """
        request = self.with_held(state, request, known)
        sent = request.messages
        same = self._common_beginning(known, sent)
        if request.chained:  # nothing in what the provider holds can have changed
            found = Alignment([*range(same), *[None] * (len(sent) - same)], same)
        else:
            found = align(
                known,
                sent,
                same,
                is_output=state.is_output,
                is_summary=lambda message: self._is_summary(known, message),
            )
        events = list(_head_events(state, request))
        view = state.view.entries
        is_anew = any(message.id not in view for message in known[found.end :])
        if is_anew:  # what was summed up was gone back on
            events.append(Rewound())
            known, taken = (), ()
            found = Alignment([None] * len(sent), 0)
        change = _Change(state, known, sent, found, taken)
        events += change.events(is_held=bool(request.chained))
        is_extension = change.is_extension and not is_anew
        return Followed(request, events, change.known, is_extension)

    def with_held(
        self, state: State, request: Request, known: Sequence[Message]
    ) -> Request:
        """The request with what the provider holds of it, as far as that is known."""
        if not request.chained:
            return request
        front = self._held.front(request.chained, known)
        self.lacks_front = not front
        request = replace(request, messages=(*front, *request.messages))
        if not keeps_head(request.wire):
            return request
        return replace(request, system=state.system or (), tools=state.tools or ())

    def _common_beginning(self, known: Sequence[Message], sent: Sequence[Message]) -> int:
        """How many messages both begin with. A pair that was the same before is not compared again."""
        earlier, self._matched = self._matched, []
        for old, new in zip(known, sent, strict=False):
            same = len(self._matched)
            is_known = same < len(earlier) and (
                earlier[same][0] is old and earlier[same][1] is new
            )
            if not (is_known or old is new or same_content(old, new)):
                break
            self._matched.append((old, new))
        return len(self._matched)

    def _is_summary(self, known: Sequence[Message], message: Message) -> bool:
        """Whether it stands for the history: a summary was asked for, or it has what the model wrote last."""
        if message.role == "assistant":
            return False
        if self._has_summary:
            return True
        answers = [each.text for each in known if each.role == "assistant"]
        sign = one_spaced(sign_of(answers[-1])) if answers else ""
        return bool(sign) and sign in one_spaced(message.text)


def _head_events(state: State, request: Request) -> Iterator[Event]:
    """Events for another model, system prompt, tools or parameters."""
    model = request.model or state.model
    provider = request.provider or state.provider
    is_other = (request.model, request.wire) != (state.model, state.wire)
    if is_other or provider != state.provider:
        yield ModelChanged(model=model, wire=request.wire, provider=provider)
    if state.system is None or state.system != request.system:
        yield SystemChanged(system=request.system)
    if state.tools is None or state.tools != request.tools:
        yield ToolsChanged(tools=request.tools)
    if state.params != request.params:
        yield ParamsChanged(params=request.params)


class _Change:
    """The events of an alignment. Known messages that are not in view were compacted: their summary stays."""

    def __init__(
        self,
        state: State,
        known: Sequence[Message],
        sent: Sequence[Message],
        found: Alignment,
        taken: Container[str],
    ) -> None:
        self._state = state
        self._view = state.view.entries if known else {}
        self._found = found
        self._before = known
        self._left = {message.id for message in known[found.end :]}
        stays = set(found.places[found.same :])
        self._gone = {
            message.id: None
            for place, message in enumerate(known[found.same : found.end], found.same)
            if place not in stays and message.id in self._view
        }
        self._answer = self._answer_place(sent)
        self._added: list[Message] = []
        self._edits: list[Message] = []
        self.known = self._followed(sent, taken)

    def events(self, *, is_held: bool = False) -> list[Event]:
        """The events, in order. What the provider holds need not be sent: its last answer has not left then."""
        events: list[Event] = []
        is_left = self._left or not is_held
        if is_left and self._lacks_answer:
            events.append(Rewound(to=[*self._view][-1]))
        events += [MessageReplaced(message=message) for message in self._edits]
        if self._gone or self._found.summary is not None:
            events.append(self._compaction())
        if self._left:
            events.append(Rewound(to=self._in_front_of(self._left)))
        events += [MessageAdded(message=message) for message in self._added]
        return events

    @property
    def is_extension(self) -> bool:
        """Whether nothing in view left or changed, a new form of the last answer aside."""
        if self._gone or self._left or self._found.summary is not None:
            return False
        answers = {each.id for each in self._before[-1:] if self._state.is_output(each)}
        return answers.issuperset(each.id for each in self._edits)

    @property
    def _lacks_answer(self) -> bool:
        """Whether the last call's answer, which was never shown, is not in the request either.

        One that is summed up with the messages before it leaves with them.
        """
        if self._state.is_answer_in_view or self._answer is not None or not self._view:
            return False
        return self._before[-1].id not in self._gone

    def _answer_place(self, sent: Sequence[Message]) -> int | None:
        """The message that is the last call's answer, where that is not in view: it is known by its place."""
        last = len(self._before) - 1
        if last < 0 or self._state.is_answer_in_view or last not in self._found.places:
            return None
        place = self._found.places.index(last) + 1
        is_answer = place < len(sent) and sent[place].role == "assistant"
        return place if is_answer else None

    def _followed(self, sent: Sequence[Message], taken: Container[str]) -> list[Message]:
        """The request's messages as the ledger will have them."""
        same = self._found.same
        followed = [*self._before[:same]]
        new: set[str] = set()
        stays = self._view.keys() - self._left if self._left else self._view
        for at, message in enumerate(sent[same:], same):
            place = self._found.places[at]
            if place is None:
                name = free_id(message.id, stays, taken, new)
                named = message if name == message.id else replace(message, id=name)
                new.add(name)
                followed.append(self._new(named, at))
            elif at in self._found.edited:
                followed.append(self._edited(self._before[place], message))
            else:
                followed.append(self._before[place])
        return followed

    def _new(self, message: Message, at: int) -> Message:
        """A message that is not known, as the ledger will have it."""
        if at == self._found.summary:
            return replace(message, origin="summary", call=None)
        if at == self._answer and not message.call and self._state.anchor is not None:
            message = replace(message, call=self._state.anchor.call or None)
        self._added.append(message)
        return message

    def _edited(self, old: Message, new: Message) -> Message:
        """A known message with other content, which may be in view with another one already."""
        if old.id not in self._view:
            return replace(new, id=old.id)
        revision = self._view[old.id].message.revision + 1
        call = old.call if old.role == new.role else None
        edited = replace(new, id=old.id, revision=revision, call=call)
        self._edits.append(edited)
        return edited

    def _compaction(self) -> CompactionCommitted:
        event = CompactionCommitted(
            compaction=f"compaction-{self._state.seq + 1}", summarised=tuple(self._gone)
        )
        if self._found.summary is None:
            return event
        summary, *following = self.known[self._found.summary :]
        behind = self._in_front_of({message.id for message in following})
        return replace(event, summary=summary, behind=behind)

    def _in_front_of(self, ids: Container[str]) -> str:
        """The message in view that stays in front of the first of these; empty for none."""
        before = ""
        for name in self._view:
            if name in ids:
                break
            if name not in self._gone:
                before = name
        return before


def free_id(name: str, *taken: Container[str]) -> str:
    """The name, or one like it if a message has it already."""
    free, number = name, 1
    while any(free in ids for ids in taken):
        number += 1
        free = f"{name}~known{number}"
    return free
