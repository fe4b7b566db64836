"""What is kept of a request and of a lane to tell later requests by. Bounded, and without the conversation's content
but for a few short texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ullage.codec.body_pieces import BodyPiece, BodyPieces, pieces_of
from ullage.codec.held import is_conversation, keeps_head
from ullage.codec.routes import route_of
from ullage.meter.lane_signs import (
    LaneMark,
    is_tail_kept,
    one_spaced,
    rolled,
    short_digest,
    sign_of,
    tasks_in,
)
from ullage.meter.policy import (
    ANSWER_CALLS,
    FIRST_TEXTS,
    HEAD_CHARACTERS,
    LONGEST_SIGN,
    OPENING_AT_MOST,
    RECENT_AT_MOST,
    SIGNS_AT_MOST,
)
from ullage_programs.marks import Marks, SeenPrompt, marks_of

OUTPUT_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A call of a model as it went over the wire.

    ``headers`` have lower-case names; ``x-ullage-session`` is there whether the client sent it or its address has
    ``/s/NAME/``. ``body`` is the decoded JSON. ``connection`` names the client's connection.
    """

    call: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any]
    connection: str = ""
    upstream: str = ""


class LanePlace(NamedTuple):
    """A place in a lane: how many pieces are before it, and the digest over them."""

    lane: str
    length: int = 0
    digest: str = ""


NO_PLACE: Final = LanePlace("")


class RequestSigns:
    """A request as it is compared."""

    def __init__(self, request: SeenRequest) -> None:
        body = request.body
        route = route_of("POST", request.path)
        pieces = pieces_of(route.wire, body)
        first = "\n".join(pieces.context[:4])
        prompt = SeenPrompt(pieces.system, first, pieces.last_said)
        fields = body if isinstance(body, Mapping) else {}
        self.call = request.call
        self.wire = route.wire
        self.connection = request.connection
        self.marks: Marks = marks_of(request.headers, fields, prompt)
        self.pieces: list[BodyPiece] = pieces.pieces
        self.digests = [piece.digest for piece in pieces.pieces]
        self.rolled = rolled(self.digests)
        self.model = pieces.model or route.model
        self.chained = pieces.chained
        self.before = 0
        """How many pieces the provider holds in front of these."""
        self.has_tools = bool(pieces.tools)
        self.head = short_digest(pieces.system[:HEAD_CHARACTERS])
        self.tools = short_digest(*pieces.tools)
        self.program = self.marks.client
        if not self.program:
            self.program = self.marks.program.partition(" ")[0]
        self.last_said = pieces.last_said
        self.is_probe = any(fields.get(name) == 1 for name in OUTPUT_LIMITS)
        """One token is asked for: it is about limits or keys, and no conversation (Claude Code 2.1.330: ``quota``)."""
        self.session = ""
        """The id here of the session that the request names."""
        self.may_be_beside = self._may_be_beside()
        self.opening = _opening(pieces)

    def _may_be_beside(self) -> bool:
        """Whether it is a first message without tools, of a program that has a row among the clients."""
        marks = self.marks
        is_first = not any(piece.speaker == "assistant" for piece in self.pieces)
        is_plain = not (self.has_tools or self.chained or marks.agent or marks.purpose)
        is_named = bool(marks.client and marks.session)
        return is_named and is_plain and is_first and not self.is_probe

    def continue_from(
        self,
        place: LanePlace,
        lane: Lane,
    ) -> None:
        """Take what the provider holds as the beginning of the request, and the lane's head where it is held too."""
        self.before = place.length
        self.rolled = rolled(self.digests, place.digest)
        if keeps_head(self.wire) and lane.marks:
            last = lane.marks[-1]
            self.head, self.tools = last.head, last.tools
            self.has_tools = lane.has_tools

    @property
    def mark(self) -> LaneMark:
        return LaneMark(
            length=self.before + len(self.rolled),
            digest=self.rolled[-1] if self.rolled else "",
            head=self.head,
            tools=self.tools,
            agent=self.marks.agent,
        )


def _opening(pieces: BodyPieces) -> str:
    texts = []
    for piece in pieces.pieces[:FIRST_TEXTS]:
        texts.append(piece.text[:20_000])
    opening = "\n".join(texts)
    return one_spaced(opening[:OPENING_AT_MOST])


@dataclass(slots=True)
class Lane:
    """One history that grows. ``session`` is the id of the conversation, ``id`` that of the stored session."""

    id: str
    session: str
    program: str = ""
    agent: str = ""
    cwd: str = ""
    named_program: str = ""
    """With its version."""
    marks: list[LaneMark] = field(default_factory=list)
    model: str = ""
    connection: str = ""
    first_said: str = ""
    has_tools: bool = False
    last_call: str = ""
    has_failed: bool = False
    continues: str = ""
    """What the last request continued of that which the provider holds."""
    continued_as: str = ""
    """The name of the last answer, by which a request may continue it."""
    end: LanePlace = NO_PLACE
    """The place behind the last answer, or behind the last request until it is answered."""
    answer: str = ""
    """The digest of the last answer's first piece."""
    calls: frozenset[str] = frozenset()
    """The ids of the last answer's tool calls."""
    sign: str = ""
    """A line of the last answer."""
    summary_call: str = ""
    """A call for a summary since the last call of the conversation."""
    summary_sign: str = ""
    tasks: list[str] = field(default_factory=list)
    recent: set[str] = field(default_factory=set)
    """The pieces of the last request, and of its answer."""
    newest: set[str] = field(default_factory=set)
    """Of these the last one of the request, and those of the answer."""

    @property
    def is_child(self) -> bool:
        return self.id != self.session

    def begins(self, request: RequestSigns) -> int:
        """How many pieces of the request are those of an earlier request of this lane."""
        for mark in reversed(self.marks):
            if (
                0 < mark.length <= len(request.rolled)
                and request.rolled[mark.length - 1] == mark.digest
            ):
                return mark.length
        return 0

    def answer_rank(
        self,
        request: RequestSigns,
        length: int,
    ) -> int:
        """How much speaks for that the request goes on behind its first pieces with this lane's last answer."""
        following = request.pieces[length : length + ANSWER_CALLS]
        if any(piece.id in self.calls for piece in following):
            return 2
        for piece in following:
            if piece.speaker == "user":
                return 0
            if piece.digest == self.answer:
                return 1
        return 0

    def may_have(self, request: RequestSigns) -> bool:
        """Whether the request may be this lane's by its session, or by its program and directory."""
        if request.session:
            return self.session == request.session
        cwd = request.marks.cwd
        if cwd and self.cwd and cwd != self.cwd:
            return False
        return self.program == request.program

    def is_continued_by(self, request: RequestSigns) -> bool:
        """Whether a request that names what the provider holds is this lane's next one, or its last one again."""
        name = request.chained
        if is_conversation(name) or name == self.continued_as:
            return True
        return self.has_failed and name == self.continues

    def is_of_other_agent(self, request: RequestSigns) -> bool:
        """Whether the history was given to another agent: another prompt and other tools, for the same model."""
        if request.marks.agent or request.chained or self.model != request.model:
            return False
        last = self.marks[-1]
        return last.head != request.head and last.tools != request.tools

    def is_answered_in(self, request: RequestSigns) -> bool:
        """Whether the request goes on behind this lane's last answer."""
        if request.chained:
            return self.is_continued_by(request)
        length = self.begins(request)
        return self.answer_rank(request, length) > 0

    def is_waiting_for(self, request: RequestSigns) -> bool:
        """Whether only a call beside the conversation has come so far, on the same connection."""
        return not self.marks and self.is_connected(request)

    def is_quoted_in(self, request: RequestSigns) -> bool:
        """Whether the last message has the conversation's first one."""
        return bool(self.first_said) and self.first_said in request.last_said

    def is_connected(self, request: RequestSigns) -> bool:
        """Whether the request came on the connection of the lane's last one."""
        return bool(self.connection) and self.connection == request.connection

    def take(self, request: RequestSigns) -> None:
        """Take note of a call of this lane's conversation."""
        if not self.first_said and request.pieces:
            first = request.pieces[0]
            self.first_said = sign_of(first.text)
        self.model = request.model
        self.connection = request.connection
        self.has_tools = request.has_tools
        self.cwd = self.cwd or request.marks.cwd
        self.named_program = request.marks.program or self.named_program
        self.last_call = request.call
        self.has_failed = False
        self.continues = request.chained
        self.continued_as = ""
        mark = request.mark
        self.end = LanePlace(self.id, mark.length, mark.digest)
        self.answer = ""
        self.sign = ""
        self.summary_call = ""
        self.summary_sign = ""
        self.calls = frozenset()
        self.recent = set(request.digests[-RECENT_AT_MOST:])
        self.newest = set(request.digests[-1:])

    def take_answer(
        self,
        pieces: Sequence[BodyPiece],
        name: str = "",
    ) -> None:
        """Take note of the answer to the last call, and of the name by which it may be continued."""
        self.has_failed = not pieces
        self.continued_as = name
        if not pieces:
            return
        *_, digest = rolled((piece.digest for piece in pieces), self.end.digest)
        self.end = LanePlace(self.id, self.end.length + len(pieces), digest)
        self.answer = pieces[0].digest
        said = []
        ids = set()
        for piece in pieces:
            if piece.id:
                ids.add(piece.id)
            if piece.speaker == "assistant":
                said.append(piece.text)
        self.calls = frozenset(ids)
        self.sign = sign_of("\n".join(said))
        self.tasks.extend(tasks_in(pieces))
        del self.tasks[:-SIGNS_AT_MOST]
        self.newest.update(piece.digest for piece in pieces)
        self.recent |= self.newest

    def take_summary(self, call: str) -> None:
        """Take note of a call for a summary of this lane."""
        self.summary_call, self.summary_sign = call, ""

    def has_task(self, request: RequestSigns) -> bool:
        """Whether one of its tool calls has the text with which one of this request's first texts begins or ends.

        A short command may be anywhere in the prompt that each session of a program begins with (mini-swe-agent 2.4.6).
        """
        for piece in request.pieces[:FIRST_TEXTS]:
            text = one_spaced(piece.text[:OPENING_AT_MOST]).strip()
            for task in self.tasks:
                is_at_edge = text.startswith(task) or text.endswith(task)
                if is_at_edge or (len(task) == LONGEST_SIGN and task in text):
                    return True
        return False

    def has_summary_in(self, request: RequestSigns) -> bool:
        """Whether the request begins with what this lane's model wrote last, which is then a summary."""
        return any(
            sign and one_spaced(sign) in request.opening
            for sign in (self.summary_sign, self.sign)
        )

    def compaction_signs(self, request: RequestSigns) -> int:
        """How much speaks for a request that is this lane's after its program has shortened the history."""
        signs = 0
        if self.has_summary_in(request):
            signs += 4
        if self.answer and self.answer in request.digests[1:]:
            signs += 2
        if any(piece.id in self.calls for piece in request.pieces):
            signs += 4
        has_end = bool(self.newest.intersection(request.digests))
        if has_end and is_tail_kept(request.pieces, request.digests, self.recent):
            signs += 2
        if self.summary_call:
            signs += 1
        if signs and self.is_connected(request):
            signs += 1
        return signs
