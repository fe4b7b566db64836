"""One conversation of a caller's own loop: what the caller sends, taken in, and what is sent instead.

    conversation = CallerConversation(meter)
    conversation.take(body)                          # the caller's whole history, every time
    if trigger := conversation.trigger():
        ...                                          # try strategies on conversation.situation(trigger, name)
    fitted = conversation.start_call()               # fitted.body goes out
    conversation.end_call(usage, answer)

The caller's history stays whole on the caller's side. What was compacted stays compacted: the view of the meter holds
it. All state follows from the events, so ``restore`` gives it back from a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Final, TypeVar

import msgspec

from ullage.codec.held import answer_id, is_conversation
from ullage.context.breakers import Breakers
from ullage.context.budget import aim_of, correction_of
from ullage.context.caller_items import CallerItems, ItemPlan, Keep
from ullage.context.exchanges import is_request
from ullage.context.known_limits import KnownLimits
from ullage.context.mended_calls import mended
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.summary_body import summary_body
from ullage.context.unsendable import FailedStrategy, unsendable
from ullage.errors import CompactorBusy, ContextUnfixable, InputError, Overflow
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    CompactionTrigger,
    EpochChanged,
    Event,
    MessageAdded,
    MessageReplaced,
    Outcome,
    Pruned,
    Rewound,
)
from ullage.messages import Message, Request, ToolCallPart
from ullage.meter.following import free_id
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading

T = TypeVar("T")

MOST_RECOVERIES: Final = 6
"""Compactions for refusals in a row that name no limit, as in ``agent.decide``."""

NO_CALL: Final = (
    "There is no call to end: `after` follows `fit` (or `recover`), once for each request that was sent. Nothing was "
    "changed."
)
OTHER_HISTORY: Final = (
    "This request does not continue the one whose answer is awaited. Use one Compactor for each conversation. If the "
    'call has ended, say so before the next fit: after(usage), or after(None, outcome="failed").'
)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits. ``body`` is what to send: the caller's own object while nothing had to be changed.

    Changed is a history that is compacted, or in which a tool call has no result, or a result no call: providers refuse
    it. The call gets a result that says that it was lost; the result is left out.

    ``reading`` is of what is sent, and ``reading.call`` names the call. ``changed`` is whether ``body`` is another one
    than the caller's. ``plan`` says how its items follow from the caller's: see ``applied``.
    """

    body: Mapping[str, Any]
    reading: Reading
    changed: bool = False
    plan: ItemPlan = ()

    def applied(self, items: Sequence[T], make: Callable[[dict[str, Any]], T]) -> list[T]:
        """The plan applied to the caller's own objects. Kept ones are the same objects.

        Args:
            items: One object for each item of the caller's body.
            make: Makes another one from an item in the wire's JSON.
        """
        if not self.changed:
            return list(items)
        made: list[T] = []
        for one in self.plan:
            if isinstance(one, Keep):
                made.append(items[one.item])
            else:
                made.append(make(one.body))
        return made


class CallerConversation:
    """What the caller has sent, what of it was compacted, and the call whose answer is awaited.

    ``use`` gives it its meter, whose events all go through ``note``. ``base_url`` tells whose limits on images and
    bytes are met.
    """

    def __init__(self, rules: CompactionRules, *, base_url: str = "") -> None:
        self.rules = rules
        self.limits = KnownLimits()
        self._base_url = base_url
        self.breakers = Breakers()
        self.epoch = 0
        self.compactions = 0
        """Committed compactions, and prunes, of this conversation."""
        self.open_call = ""
        """The call whose answer is awaited; empty for none."""
        self.items: CallerItems | None = None
        """The items of the last body."""
        self._meter = Meter()
        self._has_provider = False  # whether the caller has named it
        self._known: list[Message] = []  # the caller's messages, as events have them
        self._gone: set[str] = set()  # ids of those that were compacted away
        self._failures: tuple[FailedStrategy, ...] = ()
        self._overflows = 0  # refusals since the last answer
        self._is_restored = (
            False  # whether the open call is one of a process that has ended
        )
        self._request: Request | None = None
        self._is_held = (
            False  # whether the provider holds the history: it can't be shortened here
        )

    def use(self, meter: Meter) -> None:
        """Work with this meter, which passes its events to ``note``."""
        self._meter = meter
        self._has_provider = bool(meter.state.provider)

    # -- events --

    def restore(self, events: Sequence[Event]) -> None:
        """Take the events of a ledger in, in order."""
        for event in events:
            self._meter.apply(event)
            self.note(event)
        self._is_restored = bool(self.open_call)

    def note(self, event: Event) -> None:
        """Follow one event that the meter has applied. Never raises."""
        self.breakers = self.breakers.apply(event)
        match event:
            case MessageAdded():
                self._known.append(event.message)
            case MessageReplaced():
                new = {event.message.id: event.message}
                self._known = [new.get(each.id, each) for each in self._known]
            case Rewound():
                self._rewind(event)
            case CompactionCommitted(rung=""):
                self._shortened_by_caller(event)
            case CompactionCommitted():
                self._gone.update(event.summarised)
                self._gone.update(each.id for each in event.dropped)
                self._compacted()
            case Pruned():
                self._compacted()
            case EpochChanged():
                self.epoch = event.epoch
            case CallStarted(purpose="main"):
                self.open_call = event.call
            case CallEnded(purpose="main"):
                self.open_call = ""
                if event.outcome == "finished":
                    self._overflows = 0
            case _:
                return

    def _shortened_by_caller(self, event: CompactionCommitted) -> None:
        """The caller itself has left messages out, and may have put a summary in their place."""
        self._known = [each for each in self._known if each.id not in event.summarised]
        if event.summary is None:
            return
        order = list(self._meter.state.view.entries)
        behind = set(order[order.index(event.summary.id) + 1 :])
        in_front = takewhile(lambda each: each.id not in behind, self._known)
        self._known.insert(len(list(in_front)), event.summary)

    def _compacted(self) -> None:
        self.compactions += 1
        self._failures = ()

    def _rewind(self, event: Rewound) -> None:
        if not event.to:
            self._known, self._gone = [], set()
            return
        view = self._meter.state.view.entries
        self._known = [
            each for each in self._known if each.id in view or each.id in self._gone
        ]

    # -- the caller's body --

    def take(
        self,
        body: Mapping[str, Any],
        *,
        wire: str = "",
        provider: str = "",
        is_held: bool = False,
    ) -> None:
        """Take in what is new in a body: the whole history of the caller, as JSON of one of the wires.

        ``wire`` and ``provider`` are those of the body, for a meter that was not given them. ``is_held`` says that the
        provider holds this history, whatever is sent of it.

        What the caller leaves out, edits or sums up itself is followed (``meter.following``), and a summary of ours
        stays. A history that goes back to before its end begins anew. Raises ``InvalidRequest`` for a body that no wire
        could be sent, and ``CompactorBusy`` if the body does not continue the call whose answer is awaited. Nothing has
        changed then.
        """
        if self._has_provider:
            provider = ""
        read = self._meter.read_items(body, wire=wire, provider=provider)
        self._end_continued(read.request)
        followed = self._meter.followed(read.request, self._known, self._gone)
        request = followed.request
        if self.open_call:
            if not (followed.is_extension or self._is_restored):
                raise CompactorBusy(OTHER_HISTORY)
            new = (one for one in followed.events if isinstance(one, MessageAdded))
            is_answered = any(one.message.role == "assistant" for one in islice(new, 1))
            outcome: Outcome = "finished" if is_answered else "failed"
            self._emit(CallEnded(call=self.open_call, outcome=outcome))
        self._is_restored = False
        for event in followed.events:
            self._emit(event)
        self._known, self._request = followed.known, request
        self._is_held = is_held or bool(request.chained)
        own = self._known[len(self._known) - len(read.items) :]
        self.items = CallerItems(request.wire, body, tuple(own), read.items)

    def _end_continued(self, request: Request) -> None:
        """End the open call if the request continues its answer, which the caller has not told of."""
        before = self._request
        if self.open_call and request.chained and before is not None:
            is_again = request.chained == before.chained
            if not is_again or is_conversation(request.chained):
                self._emit(CallEnded(call=self.open_call))

    # -- compaction --

    def trigger(self) -> CompactionTrigger | None:
        """Why a compaction is due now; ``None`` if none is, or if it is known not to help."""
        if self._request is None or self._is_held:
            return None
        reading = self._meter.reading()
        limit = reading.input_limit
        is_over = limit is not None and reading.proven_high > limit
        is_over_request = self.limits.is_over(self._meter.state, self._base_url)
        if not (reading.should_compact() or is_over or is_over_request):
            return None
        situation = self.situation("point", "")
        bar = aim_of(situation).bar
        refusal = self.breakers.refusal(
            history=situation.fold.view.digest,
            high=situation.sizes.high,
            limit=None if bar is None else round(bar),
            input_limit=limit,
        )
        return None if refusal else "point"

    def situation(
        self, trigger: CompactionTrigger, compaction: str, correction: float = 1.0
    ) -> Situation:
        """The input of a compaction as of now."""
        situation = Situation(
            fold=self._meter.state,
            trigger=trigger,
            compaction=compaction,
            snapshot=self._meter.reading().snapshot_id,
            epoch=self.epoch,
            rules=self.rules,
            task_start=self._task_start(),
            correction=correction,
        )
        return self.limits.limited(situation, self._base_url)

    def refused(self, problem: Overflow, events: Sequence[Event]) -> float | None:
        """Take the provider's refusal of the open call, with its events; ``None`` if no compaction helps any more.

        Gives the provider's tokens per token of the reading (``budget.correction_of``). A refusal that names a limit is
        followed by one compaction, another one by a few: the provider may count what nobody else can see.
        """
        self.limits.note(problem, self.situation("point", ""), self._base_url)
        for event in events:
            self._emit(event)
        self._overflows += 1
        if self._request is None or self._is_held:
            return None
        reading = self._meter.reading()
        is_named = type(problem) is Overflow and reading.input_limit is not None
        most = 1 if is_named else MOST_RECOVERIES
        if self._overflows > most:
            return None
        limit = reading.window.tokens
        sized = Overflow("", count=problem.count, limit=limit)
        if type(problem) is not Overflow:
            return 1.0
        return correction_of(sized, reading.used.tokens, limit)

    def failed(self, failures: tuple[FailedStrategy, ...]) -> None:
        """Note what has failed, for the error of ``unfixable``."""
        self._failures = failures

    def unfixable(self) -> ContextUnfixable | None:
        """The error if the request can't be sent as it is, and strategies have failed; ``None`` if it can be sent."""
        if not self._failures or self._is_held:
            return None
        return unsendable(self.situation("point", ""), self._failures)

    def _task_start(self) -> str:
        """Id of the first request of a person since the last answer without calls; empty without one."""
        start = ""
        for entry in reversed(self._meter.state.view.entries.values()):
            message = entry.message
            if message.role == "assistant":
                if next(message.of_type(ToolCallPart), None) is None:
                    break
            elif is_request(message):
                start = message.id
        return start

    # -- calls --

    def start_call(self) -> Fitted:
        """What is to be sent for the body that was taken last; its call is open from here on."""
        assert self.items is not None, "a body was taken"
        assert self._request is not None, "a body was taken"
        reading = self._meter.start_call(self._request)
        messages = self.items.messages
        if not self._is_held and not self._is_in_view(self._known):
            messages = self.situation("point", "").messages
        elif self._is_held or self._goes_out_as_it_came(messages):
            every = range(len(self.items.items))
            plan: ItemPlan = tuple(Keep(place) for place in every)
            return Fitted(self.items.body, reading, plan=plan)
        plan = self.plan(messages)
        body = {**self.items.body, self.items.field: self.items.sent(plan)}
        return Fitted(body, reading, True, plan)

    def _goes_out_as_it_came(self, messages: tuple[Message, ...]) -> bool:
        """Whether nothing of the caller's body has to change: each call has its result, and no reasoning is unbound."""
        return mended(messages) is messages and not self._meter.policy.unbound

    def _is_in_view(self, messages: Sequence[Message]) -> bool:
        """Whether these very messages are what is in view."""
        view = self._meter.state.view
        return len(view) == len(messages) and all(
            entry.content is message
            for entry, message in zip(view, messages, strict=True)
        )

    def plan(self, messages: tuple[Message, ...]) -> ItemPlan:
        """How these messages are sent: those of the caller in the caller's own items."""
        assert self.items is not None, "a body was taken"
        request = self._meter.request(messages=mended(messages))
        return self.items.plan(request, policy=self._meter.policy)

    def summary_body(
        self, request: Request, max_output: int | None, *, extends: bool
    ) -> dict[str, Any]:
        """The body of a request for a summary. With ``extends`` it extends what the caller sends, item by item."""
        policy = self._meter.policy
        held = self._meter.request()
        if not extends or self.items is None:
            return summary_body(request, max_output=max_output, policy=policy, held=held)
        items = self.items.sent(self.plan(request.messages))
        return summary_body(
            request,
            max_output=max_output,
            policy=policy,
            held=held,
            body=self.items.body,
            items=items,
        )

    def end_call(
        self,
        usage: object | None,
        answer: object | None,
        outcome: Outcome,
        response: str = "",
    ) -> Reading:
        """The reading after the open call has ended. Raises ``InvalidRequest`` as ``Meter.after`` does.

        A refused call may be ended as failed once more: nothing changes then.
        """
        if not self.open_call:
            if outcome != "finished":
                return self._meter.reading()
            raise InputError(NO_CALL)
        message: Message | None = None
        if answer is not None and outcome != "failed":
            message = answer if isinstance(answer, Message) else None
            message = message or self._meter.read_answer(answer)
            name = free_id(message.id, self._gone, self._meter.state.view.entries)
            message = msgspec.structs.replace(message, id=name)
        response = response or answer_id(self._meter.state.wire, answer)
        return self._meter.after(
            self.open_call, usage, message, outcome=outcome, response=response
        )

    def _emit(self, event: Event) -> None:
        self._meter.emit(event)
