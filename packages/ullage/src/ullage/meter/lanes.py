"""To which conversation a request belongs. Pure: requests in, places out; the caller stores and restores.

    lanes = Lanes()
    placed = lanes.place(SeenRequest(call="r1-1", path="/v1/messages", headers=headers, body=body))
    meter = meters[placed.lane]                       # one meter and one stored session for each lane
    meter.before(body, call="r1-1", mark=placed.mark)
    lanes.answered("r1-1", message)                   # when its answer is there; ``None`` without one

A *lane* is a history that grows: the conversation itself, or one of its subagents. Every lane is a stored session; the
lane of the conversation has the session's own id, that of a subagent ``<session>.child-<n>``. Summaries, titles and
other calls beside the conversation have no lane of their own: they are placed in the lane that they are for, with
their purpose.

The session and the subagent are what the client's own marks say (``ullage_programs.marks``). Without marks a request
belongs to the lane that it continues: its pieces (``ullage.codec.body_pieces``) begin with those of an earlier request.
A program that works with tools often asks for a title first: its first call without tools is beside the conversation,
unless the caller knows that it ``opens`` one, since no call with tools came that does not continue it.
What continues none is, in this order, a subagent, if its first message is the argument of a tool call; a conversation
after a compaction, if it begins with what the model wrote last or has kept the end of the history; or a new one.

After a restart the caller gives back what it stored, oldest first:

    lanes.restore(session, lane, program, marks)      # ``CallStarted.mark`` of the lane's own calls, in order
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from ullage.codec.body_pieces import BodyPiece, answer_pieces
from ullage.codec.held import is_conversation
from ullage.events import Purpose
from ullage.messages import Message
from ullage.meter.lane_signs import LaneMark, read_mark, short_digest, sign_of
from ullage.meter.lane_state import NO_PLACE, Lane, LanePlace, RequestSigns, SeenRequest
from ullage.meter.policy import (
    FIRST_MARKS,
    LANES_AT_MOST,
    LOOKED_THROUGH,
    MARKS_AT_MOST,
    OPEN_CALLS_AT_MOST,
    SESSIONS_AT_MOST,
)

__all__ = ["Lanes", "Placed", "SeenRequest"]

_CHILD: Final = re.compile(r"\.child-\d+$")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,99}")

Remembered = TypeVar("Remembered")

RESTORED: Final = "restored"
"""In the place of the last call of a lane that was restored."""

BESIDE: Final = ("summary", "title", "other")
"""Purposes of calls that are no step of a conversation."""

TWIN: Final = "Another conversation of this program began with the same messages."
FORK: Final = "Another conversation continues an earlier answer that the provider holds."


class Placed(NamedTuple):
    """Where a request belongs.

    ``lane`` is the id of the stored session that the request is a call of, ``session`` that of the conversation; they
    differ for a subagent. ``purpose`` is seen from the conversation: a subagent's own calls are ``child``, and the
    ``main`` calls of their lane. ``mark`` is to be stored with a call of the lane's history, and given to
    ``Lanes.restore``; it is empty for a call beside it.
    """

    session: str
    lane: str
    purpose: Purpose
    mark: str = ""
    program: str = ""
    """Name and version, such as ``claude-code 2.1.330``; the name alone, or empty, where no more is known."""
    cwd: str = ""
    note: str = ""
    forked: str = ""
    """The lane that has what this new one continues on the provider's side."""
    is_new: bool = False
    """Whether this is the lane's first call, as far as is remembered: the store may hold earlier ones."""

    @property
    def is_child(self) -> bool:
        return self.lane != self.session

    @property
    def place(self) -> LaneMark:
        """How many pieces the request has with what is in front of it, and their digest; none for a call beside."""
        return read_mark(self.mark) or LaneMark(0, "")


@dataclass(slots=True)
class _SessionLanes:
    """A conversation with its subagents: the ids of its lanes."""

    id: str
    program: str = ""
    lanes: list[str] = field(default_factory=list)
    children: int = 0
    is_anonymous: bool = False
    """Its id is a digest, and not the client's own."""


class _FoundLane(NamedTuple):
    lane: Lane
    purpose: Purpose
    note: str = ""
    forked: str = ""


class Lanes:
    """All conversations that are going on. Bounded: beyond ``at_most`` lanes the one used longest ago is forgotten."""

    def __init__(self, at_most: int = LANES_AT_MOST) -> None:
        self._at_most = at_most
        self._lanes: dict[str, Lane] = {}
        """By id; the one used last is last."""
        self._sessions: dict[str, _SessionLanes] = {}
        self._names: dict[str, str] = {}
        """Clients' own ids of sessions and of subagents, and the id of the session here."""
        self._calls: dict[str, tuple[str, Purpose]] = {}
        """Calls without an answer yet: their lane and purpose."""
        self._answers: dict[str, LanePlace] = {}
        """Answers and conversations that a provider may hold, by their names: where they end."""
        self._places: dict[str, list[str]] = {}
        """The lanes that have a mark with this digest."""

    def is_provisional(self, request: SeenRequest) -> bool:
        """Whether only later calls can tell if the request opens its session or is beside it."""
        if request.body.get("tools"):
            return False
        seen = RequestSigns(request)
        if not seen.may_be_beside:
            return False
        name = self._names.get(seen.marks.session, seen.marks.session)
        main = self._lanes.get(name)
        return main is None or not main.marks

    def place(self, request: SeenRequest, *, opens: bool = False) -> Placed:
        """The lane of a request, which is then part of it. Never raises for any body.

        ``opens``: a first call without tools is the conversation's own.
        """
        seen = RequestSigns(request)
        seen.may_be_beside = seen.may_be_beside and not opens
        self._name_session(seen)
        found = self._find(seen)
        lane, purpose = found.lane, found.purpose
        opened = (lane.id, purpose)
        _remember(self._calls, seen.call, opened, OPEN_CALLS_AT_MOST)
        self._use(lane)
        placed = Placed(
            session=lane.session,
            lane=lane.id,
            purpose=purpose,
            program=seen.marks.program or lane.named_program,
            cwd=seen.marks.cwd or lane.cwd,
            note=found.note,
            forked=found.forked,
        )
        if purpose in BESIDE:
            lane.connection = lane.connection or seen.connection
            if purpose == "summary":
                lane.take_summary(seen.call)
            return placed
        if seen.chained:
            self._continue(lane, seen)
        is_new = not lane.last_call
        lane.take(seen)
        self._mark(lane, seen.mark)
        return placed._replace(is_new=is_new, mark=seen.mark.text)

    def answered(
        self,
        call: str,
        answer: Message | None,
        name: str = "",
    ) -> None:
        """Take note of a call's answer: what a subagent, a summary or one of two equal requests is told by later.

        ``None``: the call failed, or its client left. ``name`` is the answer's or its conversation's, by which a later
        request may continue it on the provider's side (``codec.held.continued_as``).
        """
        lane_id, purpose = self._calls.pop(call, ("", "main"))
        lane = self._lanes.get(lane_id)
        if lane is None:
            return
        pieces: list[BodyPiece] = []
        if answer is not None:
            pieces = answer_pieces(answer)
        if purpose == "summary":
            if lane.summary_call == call:
                texts = [piece.text for piece in pieces]
                lane.summary_sign = sign_of("\n".join(texts))
        elif lane.last_call == call:
            lane.take_answer(pieces, name)
            if name:
                _remember(self._answers, name, lane.end, SESSIONS_AT_MOST)

    def restore(
        self,
        session: str,
        lane: str,
        program: str,
        marks: Sequence[str],
        names: Sequence[str] = (),
    ) -> None:
        """Take up a lane again that was stored. Marks that can't be read are left out.

        ``names`` are those of the lane's answers, in order.
        """
        name = program.partition(" ")[0]
        known = self._session(session, name)
        known.is_anonymous = session.startswith("s-")
        if _CHILD.search(lane):
            number = lane.rpartition("-")[2]
            known.children = max(known.children, int(number[:9]))
        guessed = self._lanes.pop(lane, None)
        if guessed is not None:
            for earlier in guessed.marks:
                self._forget(earlier, guessed)
        restored = self._add(Lane(lane, session, known.program))
        restored.named_program = program
        restored.last_call = RESTORED
        for text in marks[-MARKS_AT_MOST:]:
            mark = read_mark(text)
            if mark is not None:
                self._mark(restored, mark)
                restored.agent = mark.agent
                restored.end = LanePlace(lane, mark.length, mark.digest)
        for name in names[-MARKS_AT_MOST:]:
            _remember(self._answers, name, restored.end, SESSIONS_AT_MOST)
            restored.continued_as = name

    # -- which lane --

    def _find(self, seen: RequestSigns) -> _FoundLane:
        """The lane, the purpose of the call, and a note."""
        marks = seen.marks
        continued = self._continued(seen)
        if marks.purpose in BESIDE or seen.is_probe:
            lane = continued or self._beside(seen)
            purpose: Purpose = "other"
            if marks.purpose in BESIDE:
                purpose = marks.purpose
            return _FoundLane(lane, purpose)
        if seen.session and marks.agent:
            return self._agent(seen)
        if continued is None and seen.chained:
            return self._find_held(seen)
        if continued is None:
            return self._find_unseen(seen)
        if continued.is_of_other_agent(seen):
            return _FoundLane(continued, "other")
        if seen.chained or not _is_twin(continued, seen):
            return _own(continued)
        if continued.is_child:
            return self._child(continued.session, TWIN)
        return self._new_session(seen, TWIN)

    def _continued(self, seen: RequestSigns) -> Lane | None:
        """The lane that called the tools whose results the request has, or the one with the longest common beginning.

        Of several, the one whose answer comes next in the request, or the one on the same connection, or the one used
        last: two conversations may begin with the same messages, and the same tools give the same results.
        """
        if seen.chained:
            place = self._place_of(seen)
            holder = self._lanes.get(place.lane)
            if holder is not None and holder.is_continued_by(seen):
                return holder
            return None
        best: Lane | None = None
        best_rank = (False, 0, 0, False)
        for length in range(len(seen.rolled), 0, -1):
            digest = seen.rolled[length - 1]
            for id in self._places.get(digest, ()):
                lane = self._lanes[id]
                if not lane.may_have(seen):
                    continue
                answered = lane.answer_rank(seen, length)
                connected = lane.is_connected(seen)
                rank = (answered == 2, length, answered, connected)
                if rank >= best_rank:
                    best = lane
                    best_rank = rank
        return best

    def _place_of(self, seen: RequestSigns) -> LanePlace:
        """Where that ends which the provider holds in front of the request; no lane has it where it is unknown."""
        return self._answers.get(seen.chained, NO_PLACE)

    def _find_held(self, seen: RequestSigns) -> _FoundLane:
        """The lane of a request behind something that the provider holds, and that is no lane's last answer."""
        forked = self._place_of(seen).lane
        if forked in self._lanes:
            found = self._fork(seen)
            return found._replace(forked=forked)
        if seen.session:
            main = self._main(seen.session)
            return _own(main)
        return self._new_session(seen)

    def _fork(self, seen: RequestSigns) -> _FoundLane:
        """A new lane for a request behind an answer that was continued already."""
        if seen.session:
            return self._child(seen.session, FORK)
        return self._new_session(seen, FORK)

    def _continue(
        self,
        lane: Lane,
        seen: RequestSigns,
    ) -> None:
        """Set the request behind what the provider holds, and know a conversation by its name from now on."""
        place = self._place_of(seen)
        holder = self._lanes.get(place.lane, lane)
        seen.continue_from(place, holder)
        if is_conversation(seen.chained) and not place.lane:
            end = lane.end._replace(lane=lane.id)
            _remember(self._answers, seen.chained, end, SESSIONS_AT_MOST)

    def _candidates(self, seen: RequestSigns) -> list[Lane]:
        """The lanes that the request may belong to, the one used last first."""
        found: list[Lane] = []
        for lane in reversed(self._lanes.values()):
            if lane.may_have(seen):
                found.append(lane)
            if len(found) == LOOKED_THROUGH:
                break
        return found

    def _find_unseen(self, seen: RequestSigns) -> _FoundLane:
        """The lane of a request that continues none."""
        candidates = self._candidates(seen)
        has_mark = bool(seen.session) and seen.marks.tells_agents
        if not has_mark:
            for lane in candidates:
                if lane.has_task(seen):
                    return self._child(lane.session)
        compacted = _compacted(seen, candidates)
        if compacted is not None:
            return _own(compacted)
        if seen.session:
            return self._find_in_session(seen)
        for lane in candidates:
            if lane.is_waiting_for(seen):
                return _own(lane)
        if candidates and seen.marks.purpose == "child":
            return self._child(candidates[0].session)
        return self._new_session(seen)

    def _find_in_session(self, seen: RequestSigns) -> _FoundLane:
        """What a request is that continues nothing in the session that it names."""
        main = self._main(seen.session)
        if not main.marks:
            return _FoundLane(main, "other") if seen.may_be_beside else _own(main)
        if main.has_tools and not seen.has_tools:
            return _FoundLane(main, "other")
        if seen.marks.purpose == "child":
            return self._child(main.id)
        last = main.marks[-1]
        if seen.marks.tells_agents or last.head == seen.head:
            return _own(main)
        return self._child(main.id)

    def _beside(self, seen: RequestSigns) -> Lane:
        """The lane that a call for a summary or a title is for, where the call does not repeat the history."""
        if seen.session:
            if seen.marks.agent:
                return self._agent(seen).lane
            return self._main(seen.session)
        best: Lane | None = None
        best_rank = (False, False)
        for lane in self._candidates(seen):
            rank = (lane.is_quoted_in(seen), lane.is_connected(seen))
            if best is None or rank > best_rank:
                best = lane
                best_rank = rank
        return best or self._new_session(seen).lane

    # -- sessions --

    def _name_session(self, seen: RequestSigns) -> None:
        """Set the session that the request names. One that was anonymous so far gets the name."""
        name = seen.marks.session
        if not name:
            return
        if not _PLAIN_NAME.fullmatch(name) or _CHILD.search(name):
            name = "n-" + short_digest("a", name) + short_digest("b", name)
        known = self._names.get(name, name)
        if known == name and name not in self._sessions:
            continued = self._continued(seen)
            if continued is not None and continued.is_answered_in(seen):
                session = continued.session
                if self._sessions[session].is_anonymous:
                    known = session
        _remember(self._names, name, known, SESSIONS_AT_MOST)
        self._session(known, seen.program)
        seen.session = known

    def _session(
        self,
        id: str,
        program: str,
    ) -> _SessionLanes:
        session = self._sessions.pop(id, None)
        if session is None:
            session = _SessionLanes(id, program)
        _remember(self._sessions, id, session, SESSIONS_AT_MOST)
        return session

    def _new_session(
        self,
        seen: RequestSigns,
        note: str = "",
    ) -> _FoundLane:
        first = seen.rolled[:1]
        id = "s-" + short_digest("a", seen.call, *first)
        id += short_digest("b", seen.call, *first)
        session = self._session(id, seen.program)
        session.is_anonymous = True
        return _FoundLane(self._main(id), "main", note)

    def _main(self, session: str) -> Lane:
        known = self._lanes.get(session)
        if known is None:
            program = self._sessions[session].program
            known = self._add(Lane(session, session, program))
        return known

    def _agent(self, seen: RequestSigns) -> _FoundLane:
        """The lane of a subagent that the client names."""
        agent = seen.marks.agent
        for id in self._sessions[seen.session].lanes:
            lane = self._lanes[id]
            if lane.agent == agent:
                return _own(lane)
        found = self._child(seen.session)
        found.lane.agent = agent
        # A subagent's own subagent names it as its parent.
        _remember(self._names, agent, seen.session, SESSIONS_AT_MOST)
        return found

    def _child(
        self,
        session: str,
        note: str = "",
    ) -> _FoundLane:
        known = self._sessions[session]
        known.children += 1
        id = f"{session}.child-{known.children}"
        lane = self._add(Lane(id, session, known.program))
        return _FoundLane(lane, "child", note)

    # -- memory --

    def _add(self, lane: Lane) -> Lane:
        self._lanes[lane.id] = lane
        lanes = self._sessions[lane.session].lanes
        if lane.id not in lanes:
            lanes.append(lane.id)
        while len(self._lanes) > self._at_most:
            id = next(iter(self._lanes))
            oldest = self._lanes.pop(id)
            session = self._sessions[oldest.session]
            session.lanes.remove(id)
            for mark in oldest.marks:
                self._forget(mark, oldest)
        return lane

    def _use(self, lane: Lane) -> None:
        self._lanes.pop(lane.id)
        self._lanes[lane.id] = lane
        session = self._sessions.pop(lane.session)
        self._sessions[session.id] = session

    def _mark(
        self,
        lane: Lane,
        mark: LaneMark,
    ) -> None:
        lane.marks.append(mark)
        lanes = self._places.setdefault(mark.digest, [])
        if lane.id in lanes:
            lanes.remove(lane.id)
        lanes.append(lane.id)
        if len(lane.marks) > MARKS_AT_MOST:
            self._forget(lane.marks.pop(FIRST_MARKS), lane)

    def _forget(
        self,
        mark: LaneMark,
        lane: Lane,
    ) -> None:
        lanes = self._places.get(mark.digest, [])
        if lane.id in lanes:
            lanes.remove(lane.id)
        if not lanes:
            self._places.pop(mark.digest, None)


def _remember(
    kept: dict[str, Remembered],
    key: str,
    value: Remembered,
    at_most: int,
) -> None:
    kept[key] = value
    while len(kept) > at_most:
        oldest = next(iter(kept))
        kept.pop(oldest)


def _own(lane: Lane) -> _FoundLane:
    """A call of the lane's own history."""
    return _FoundLane(lane, "child" if lane.is_child else "main")


def _is_twin(
    lane: Lane,
    seen: RequestSigns,
) -> bool:
    """Whether it is another conversation's first request, equal to that of this lane, and no repetition of it."""
    if seen.session and not lane.is_child:
        return False
    if lane.is_child and lane.last_call == RESTORED:
        # A call that was not stored as a whole comes once more.
        return False
    first = lane.marks[0]
    if first.digest != seen.mark.digest:
        return False
    return len(lane.marks) > 1 or not lane.has_failed


def _compacted(
    seen: RequestSigns,
    candidates: list[Lane],
) -> Lane | None:
    """The lane that most speaks for, if the request is its history shortened."""
    best: Lane | None = None
    most = 0 if seen.session else 1
    for lane in candidates:
        if not lane.marks or lane.has_tools > seen.has_tools:
            continue
        signs = lane.compaction_signs(seen)
        if signs > most:
            best = lane
            most = signs
    return best
