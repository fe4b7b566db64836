"""The calls of an SDK's client, followed by a Meter or a Compactor. Requests and answers come as bytes.

    calls = SdkCalls(meter)
    call = calls.begin(sent)                         # None: nothing to follow
    calls.end(call, SdkAnswer(200, headers, payload))

Nothing here raises: what goes wrong is logged, and the caller's request goes out as it is.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import RLock, get_ident
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.codec.bodies import BodyReader
from ullage.codec.held import continued_as
from ullage.codec.overflow import overflowed
from ullage.codec.problems import read_problem
from ullage.codec.routes import ApiRoute, route_of
from ullage.codec.wires import wire_named
from ullage.compactor.compactor import Compactor
from ullage.compactor.summaries import Summariser
from ullage.context.compactor import Fitted
from ullage.errors import Overflow, ProviderError
from ullage.events import Outcome, Purpose
from ullage.messages import Request
from ullage.meter.lanes import Lanes, Placed, SeenRequest
from ullage.meter.meter import Meter
from ullage.meter.sent_items import sent_items
from ullage.metering.tapped import TappedAnswer, read_answer, read_request
from ullage.models.providers import provider_at

log = logging.getLogger("ullage.attach")
log.addHandler(logging.NullHandler())  # nothing on stderr of a program without logging

MOST_FOLLOWED: Final = 500
"""Conversations of one client whose followers are kept; beyond them the one that was used longest ago is forgotten."""

NAME_HEADER: Final = "x-ullage-session"
"""Names the conversation of a request; it is not sent on."""

READ_WHILE_PASSING: Final = "gzip, deflate"
"""The content codings of a streamed answer that can be read while it passes."""

_is_own: ContextVar[bool] = ContextVar("ullage_is_own_call", default=False)
"""Whether a call is made while a request is fitted: a summary is no call of the conversation."""

SECOND_CONVERSATION: Final = (
    "A second conversation goes through this client. One Meter or Compactor follows one conversation: calls of others "
    "are sent as they are and counted as spend alone. Attach a function to follow each: "
    "attach(client, lambda name: Meter(...))."
)
PARALLEL_CALL: Final = (
    "Two calls of one conversation run at once. The second is sent as it is and counted as "
    "spend alone."
)
TOO_LONG: Final = "An answer is longer than what is read here. Its usage is unknown, and its reading stays an estimate."
NO_USAGE: Final = (
    "A streamed answer reported no usage, so its reading stays an estimate. For Chat Completions pass "
    'stream_options={"include_usage": True}.'
)


CallFollower = Meter | Compactor


class SentRequest(NamedTuple):
    """A request as the client sends it. ``headers`` have lower-case names."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    content: bytes


class SdkAnswer(NamedTuple):
    """What came back: bytes as they stand under ``headers``. The status is 0 where nothing came."""

    status: int = 0
    headers: Mapping[str, str] = {}
    payload: bytes = b""
    outcome: Outcome = "finished"
    is_too_long: bool = False
    """More came than is kept; there is no payload then."""


class Conversation:
    """One conversation, and the Meter or Compactor that follows it."""

    def __init__(self, follower: CallFollower) -> None:
        self.compactor: Compactor | None = None
        if isinstance(follower, Meter):
            self.meter = follower
        else:
            self.compactor = follower
            self.meter = follower.meter
        self.bodies = BodyReader()
        self.open: SdkCall | None = None
        self.unanswered = ""
        """The digest of the last request, if it got no whole answer: a program may ask it again."""

    def lend(self, summarise: Summariser) -> None:
        """Let a Compactor without a function for summaries ask for them with this one: the client has the key."""
        if self.compactor is not None:
            self.compactor.lend(summarise)


@dataclass(slots=True, eq=False)
class SdkCall:
    """A call that was sent and has not ended. ``request`` is without its messages."""

    seen: str
    conversation: Conversation
    request: Request
    body: dict[str, Any]
    purpose: Purpose = "main"
    length: int = 0
    """How many pieces its history has."""
    digest: str = ""
    """Of these pieces."""
    name: str = ""
    """What the follower calls it; empty where it could not be followed."""
    is_over: bool = False
    cut: Callable[[], None] | None = None
    """Ends it with what has come so far."""

    @property
    def compactor(self) -> Compactor | None:
        """The Compactor that this call goes through."""
        return self.conversation.compactor if self.purpose == "main" else None

    @property
    def wire(self) -> str:
        """The wire that its path names."""
        return self.request.wire

    @property
    def provider(self) -> str:
        """The provider at its address."""
        return self.request.provider


def is_followed(method: str, path: str) -> bool:
    """Whether this is a call of a model, and none that is made while another one is fitted."""
    return route_of(method, path).is_metered and not _is_own.get()


@dataclass(slots=True)
class _Warnings:
    said: set[str] = field(default_factory=set)

    def say_once(self, text: str) -> None:
        if text not in self.said:
            self.said.add(text)
            log.warning(text)


class SdkCalls:
    """All calls of one client. May be used from several threads and tasks.

    ``follower`` follows the first conversation that is sent. A function is asked for each conversation's follower, by
    a name that stays the same for that conversation.
    """

    def __init__(self, follower: CallFollower | Callable[[str], CallFollower]) -> None:
        self._one: Conversation | None = None
        self._make: Callable[[str], CallFollower] | None = None
        if isinstance(follower, Meter | Compactor):
            self._one = Conversation(follower)
        else:
            self._make = follower
        self._followed = ""
        self._by_lane: OrderedDict[str, Conversation] = OrderedDict()
        self._lanes = Lanes()
        self._lock = RLock()
        self._count = 0
        self._abandoned: deque[SdkCall] = deque()
        self._late: deque[tuple[SdkCall, SdkAnswer]] = deque()
        self._busy_thread = 0
        self._warnings = _Warnings()

    # -- a request --

    def begin(self, sent: SentRequest) -> SdkCall | None:
        """The call as its follower takes it; ``None`` if nothing follows it."""
        try:
            with self._working():
                self._end_abandoned()
                return self._begin(sent)
        except Exception:
            log.exception("A request was not metered. It is sent as it is.")
            return None

    def _begin(self, sent: SentRequest) -> SdkCall:
        route = route_of(sent.method, sent.path)
        body = read_request(sent.content, sent.headers)
        self._count += 1
        name = f"sdk-{self._count}"
        seen = SeenRequest(call=name, path=sent.path, headers=sent.headers, body=body)
        placed = self._lanes.place(seen)
        conversation, purpose = self._conversation_of(placed)
        length, digest, *_ = placed.place
        waiting = conversation.open
        if purpose == "main" and waiting is not None:
            if length > waiting.length:
                self._cut(waiting)  # its stream was left, and the conversation continues
            else:
                self._warnings.say_once(PARALLEL_CALL)
                purpose = "other"
        request = self._read(sent, route, body, conversation, purpose)
        bare = replace(request, messages=())
        call = SdkCall(name, conversation, bare, body, purpose, length)
        call.digest = digest
        if purpose != "main":
            call.name = conversation.meter.before(bare, purpose=purpose).call
            return call
        if conversation.compactor is None:
            items = sent_items(request, sent.headers)
            call.name = conversation.meter.before(request, sent=items).call
        conversation.open = call
        return call

    def _conversation_of(self, placed: Placed) -> tuple[Conversation, Purpose]:
        is_step = placed.purpose in ("main", "child")
        if self._one is not None:
            is_first = not self._followed or self._is_asked_again(self._one, placed)
            if is_step and is_first:
                self._followed = placed.lane
            if placed.lane == self._followed and is_step:
                return self._one, "main"
            if placed.session != self._followed:
                self._warnings.say_once(SECOND_CONVERSATION)
                return self._one, "other"
            return self._one, placed.purpose
        found = self._by_lane.pop(placed.lane, None)
        if found is None:
            assert self._make is not None
            found = Conversation(self._make(placed.lane))
        self._by_lane[placed.lane] = found
        if len(self._by_lane) > MOST_FOLLOWED:
            self._by_lane.popitem(last=False)
        return found, "main" if is_step else placed.purpose

    def _is_asked_again(self, one: Conversation, placed: Placed) -> bool:
        """Whether this is the followed conversation's last request again, of which no whole answer came."""
        is_over = placed.is_new and one.open is None
        return is_over and placed.place.digest == one.unanswered

    def _read(
        self,
        sent: SentRequest,
        route: ApiRoute,
        body: dict[str, Any],
        conversation: Conversation,
        purpose: Purpose,
    ) -> Request:
        held = conversation.meter.request(messages=())
        known = provider_at(sent.host)
        provider = wire_named(route.wire).maker
        if known is not None:
            provider = known.name
        elif held.provider and held.wire == route.wire:
            provider = held.provider
        reader = conversation.bodies if purpose == "main" else BodyReader()
        request = reader.read(
            body, wire=route.wire, provider=provider, model=route.model or held.model
        )
        if sent.path.endswith(":streamGenerateContent"):
            request = replace(request, stream=True)
        return request

    # -- a Compactor --

    def summary_content(self, call: SdkCall, body: dict[str, Any]) -> bytes:
        """The content of a request for a summary, which goes where the call goes."""
        if "model" not in call.body:
            body = {name: value for name, value in body.items() if name != "model"}
        return msgspec.json.encode(body)

    def problem(self, call: SdkCall, answer: SdkAnswer) -> ProviderError:
        """What an answer with an error's status says."""
        who = {"provider": call.request.provider, "model": call.request.model}
        return read_problem(
            call.request.wire, answer.status, answer.headers, answer.payload, **who
        )

    def to_fit(self, call: SdkCall) -> dict[str, Any]:
        """The body for ``Compactor.fit``. Gemini has the model in the address."""
        if "model" in call.body:
            return call.body
        return {"model": call.request.model, **call.body}

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Calls inside are those of a summary: they are sent as they are. What goes wrong is logged."""
        token = _is_own.set(True)
        try:
            yield
        except Exception:
            log.exception("A request could not be fitted. It is sent as it is.")
        finally:
            _is_own.reset(token)

    def fitted(self, call: SdkCall, fitted: Fitted | None) -> bytes | None:
        """The content to send instead; ``None`` while the caller's own may go out."""
        if fitted is None:
            return None
        call.name = fitted.reading.call
        if not fitted.changed:
            return None
        body = dict(fitted.body)
        if "model" not in call.body:
            body.pop("model", None)
        return msgspec.json.encode(body)

    def overflow(self, call: SdkCall, answer: SdkAnswer) -> Overflow | None:
        """The answer as an overflow that a Compactor may recover from."""
        if call.compactor is None or not call.name or answer.status < 400:
            return None
        try:
            problem = self.problem(call, answer)
        except Exception:
            log.exception("An error of the provider could not be read.")
            return None
        return problem if isinstance(problem, Overflow) else None

    # -- an answer --

    def end(self, call: SdkCall, answer: SdkAnswer) -> None:
        """Take the answer in. A call ends once; a later answer to it is passed over."""
        if self._busy_thread == get_ident():
            # Python collected a dropped stream in the middle of other work of this thread.
            self._late.append((call, answer))
            return
        with self._working():
            self._late.append((call, answer))

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Alone with the conversations. Answers that came meanwhile are taken in at the end."""
        with self._lock:
            self._busy_thread = get_ident()
            try:
                yield
                self._end_late()
            finally:
                self._busy_thread = 0

    def _end_late(self) -> None:
        while self._late:
            call, answer = self._late.popleft()
            if call.is_over:
                continue
            try:
                self._end(call, answer)
            except Exception:
                log.exception("An answer was not metered.")

    def abandon(self, call: SdkCall) -> None:
        """Its stream was dropped without being closed. Safe in a finaliser: it is ended at the next call."""
        self._abandoned.append(call)

    def _end_abandoned(self) -> None:
        while self._abandoned:
            self._cut(self._abandoned.popleft())

    def _cut(self, call: SdkCall) -> None:
        if call.cut is not None:
            call.cut()
            self._end_late()
        if not call.is_over:
            self._end(call, SdkAnswer(outcome="cancelled"))

    def _end(self, call: SdkCall, answer: SdkAnswer) -> None:
        call.is_over, call.cut = True, None
        conversation = call.conversation
        if conversation.open is call:
            conversation.open = None
        tapped = self._tapped(call, answer)
        found = tapped.answer
        message = None if found is None else found.message
        response = "" if found is None else found.response_id
        self._lanes.answered(call.seen, message, continued_as(call.request, response))
        if not call.name:
            return
        outcome = tapped.outcome
        if call.purpose == "main":
            conversation.unanswered = "" if outcome == "finished" else call.digest
        if found is not None and overflowed(found):
            outcome, message = "failed", None
        if message is not None and outcome != "finished":
            message = replace(message, interrupted=outcome)
        usage = None if found is None else found.usage
        is_reported = usage is not None and usage.input is not None
        if not is_reported and outcome == "finished" and call.request.stream:
            self._warnings.say_once(NO_USAGE)
        if call.compactor is not None:
            call.compactor.after(usage, message, outcome=outcome, response=response)
            return
        conversation.meter.after(
            call.name,
            usage,
            message,
            outcome=outcome,
            purpose=call.purpose,
            response=response,
        )

    def _tapped(self, call: SdkCall, answer: SdkAnswer) -> TappedAnswer:
        if answer.is_too_long:
            self._warnings.say_once(TOO_LONG)
        if answer.is_too_long or not answer.status:
            return TappedAnswer(answer.outcome)
        return read_answer(
            call.request,
            call.name or call.seen,
            status=answer.status,
            headers=answer.headers,
            payload=answer.payload,
            outcome=answer.outcome,
        )
