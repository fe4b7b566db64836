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
from ullage.meter.input_checks import check_body
from ullage.meter.meter import Meter, free_id
from ullage.meter.reading import Reading
from ullage.meter.same_content import is_edited_in_place, same_content

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
        """The plan applied to the caller's own objects, of which there is one for each item of the caller's body.

        Kept ones are the same objects; the others are made by ``make`` from an item in the wire's JSON.
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
        self._read: tuple[Message, ...] = ()
        self._known: list[Message] = []  # the caller's messages, as events have them
        self._known_ids: set[str] = set()
        self._gone: set[str] = set()  # ids of those that were compacted away
        self._is_compacted = False  # whether the view differs from the caller's messages
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
        self._has_provider = bool(meter._fold.provider)

    # -- events --

    def restore(self, events: Sequence[Event]) -> None:
        """Take the events of a ledger in, in order."""
        for event in events:
            self._meter.apply(event)
            self.note(event)
        self._meter._calls = self._meter._fold.seq  # no name of a call is given twice
        self._is_restored = bool(self.open_call)

    def note(self, event: Event) -> None:
        """Follow one event that the meter has applied. Never raises."""
        self.breakers = self.breakers.apply(event)
        match event:
            case MessageAdded():
                self._known.append(event.message)
                self._known_ids.add(event.message.id)
            case MessageReplaced():
                self._put(event.message)
            case Rewound():
                self._rewind(event)
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

    def _compacted(self) -> None:
        self.compactions += 1
        self._is_compacted = True
        self._failures = ()

    def _put(self, message: Message) -> None:
        for place, known in enumerate(self._known):
            if known.id == message.id:
                self._known[place] = message

    def _rewind(self, event: Rewound) -> None:
        if not event.to:
            self._known, self._gone, self._is_compacted = [], set(), False
            self._known_ids = set()
            return
        view = self._meter._fold.view.entries
        stays: list[Message] = []
        for message in self._known:
            if message.id in view or message.id in self._gone:
                stays.append(message)
        self._known = stays
        self._known_ids = {message.id for message in stays}

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

        A history that is no extension of the last one begins anew, unless only its end is another, or messages were
        changed in place or left out at its front: a summary that has replaced them stays. Raises
        ``InvalidRequest`` for a body that no wire could be sent, and ``CompactorBusy`` if the body does not continue
        the call whose answer is awaited. Nothing has changed then.
        """
        check_body(body)
        fold = self._meter._fold
        if self._has_provider or not provider:
            provider = fold.provider
        read = self._meter._bodies.read_items(
            body,
            wire=self._meter._wire or wire or None,
            provider=provider or None,
            model=fold.model,
        )
        self._end_continued(read.request)
        request = read.request
        if request.chained:
            request = self._meter._with_held(request, self._known)
        front = self._dropped_front(request.messages)
        known = self._known[front:]
        same = self._common_beginning(known, request.messages)
        is_edited = self._is_edited_answer(known, request.messages, same)
        if self.open_call:
            is_other = same < len(known) and not is_edited
            if is_other and not self._is_restored:
                raise CompactorBusy(OTHER_HISTORY)
            added = request.messages[same:]
            is_answered = bool(added) and added[0].role == "assistant"
            outcome: Outcome = "finished" if is_answered else "failed"
            self._emit(CallEnded(call=self.open_call, outcome=outcome))
        self._known = known
        self._is_restored = False
        self._meter._follow_head(request)
        if is_edited:
            self._edit(self._known[same], request.messages[same])
            same += 1
        if same < len(self._known):
            is_whole = not request.chained
            same = self._diverge(request.messages, same, is_whole=is_whole)
        elif not request.chained and self._meter._lacks_answer(request.messages[same:]):
            self._emit(Rewound(to=self._newest_in_view(len(self._known))))
        for message in request.messages[same:]:
            named = msgspec.structs.replace(message, id=self._free_id(message.id))
            self._emit(MessageAdded(message=self._meter._as_output(named)))
        self._read, self._request = request.messages, request
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

    def _dropped_front(self, messages: Sequence[Message]) -> int:
        """How many summarised messages the caller, who trims the history, has left out at its front."""
        known = self._known
        for front, message in enumerate(known):
            is_first = bool(messages) and same_content(message, messages[0])
            if is_first and (front == 0 or self._goes_on(known[front:], messages)):
                return front
            if message.id not in self._gone:
                break
        return 0

    def _goes_on(self, known: Sequence[Message], messages: Sequence[Message]) -> bool:
        """Whether the messages go on from the known ones, whose last answer may come back in another form."""
        same = self._common_beginning(known, messages)
        return same == len(known) or self._is_edited_answer(known, messages, same)

    def _common_beginning(
        self, known: Sequence[Message], messages: Sequence[Message]
    ) -> int:
        same = 0
        for held, new in zip(known, messages, strict=False):
            is_read = same < len(self._read) and self._read[same] is new
            if not is_read and not same_content(held, new):
                break
            same += 1
        return same

    def _is_edited_answer(
        self, known: Sequence[Message], messages: Sequence[Message], same: int
    ) -> bool:
        """Whether all is the same but the last answer, which the caller sends back in another form."""
        if same != len(known) - 1 or same >= len(messages):
            return False
        return self._meter._is_edited(known[same], messages[same])

    def _diverge(self, messages: Sequence[Message], same: int, *, is_whole: bool) -> int:
        """Events for a history that is no extension; how many of its messages are known then.

        With ``is_whole`` the caller has sent all of them, and may have edited some.
        """
        old, new = self._known[same:], messages[same:]
        if is_whole and is_edited_in_place(old, new):
            for number, (before, after) in enumerate(zip(old, new, strict=False)):
                if same_content(before, after):
                    continue
                if before.id in self._gone:
                    # A framework that rewrites old messages would else pay for a summary at every call.
                    renamed = msgspec.structs.replace(after, id=before.id)
                    self._known[same + number] = renamed
                else:
                    self._edit(before, after)
            return same + len(old)
        is_in_view = all(message.id not in self._gone for message in old)
        if is_in_view and (newest := self._newest_in_view(same)):
            self._emit(Rewound(to=newest))
            return same
        self._emit(Rewound(to=""))
        return 0

    def _edit(self, before: Message, after: Message) -> None:
        """The caller has changed a message that is in view, where it may stand with other content already."""
        held = self._meter._fold.view.entries[before.id].message
        self._meter._replace(held, after)

    def _newest_in_view(self, count: int) -> str:
        """Id of what stands in view before the message with this number; empty if there is nothing."""
        view = list(self._meter._fold.view.entries)
        for message in self._known[count:]:
            if message.id in view:
                place = view.index(message.id)
                return view[place - 1] if place else ""
        return view[-1] if view else ""

    def _free_id(self, name: str) -> str:
        """The name, or one like it if a message has it already."""
        return free_id(name, self._known_ids, self._meter._fold.view.entries)

    # -- compaction --

    def trigger(self) -> CompactionTrigger | None:
        """Why a compaction is due now; ``None`` if none is, or if it is known not to help."""
        if self._request is None or self._is_held:
            return None
        reading = self._meter.reading()
        limit = reading.input_limit
        is_over = limit is not None and reading.proven_high > limit
        is_over_request = self.limits.is_over(self._meter._fold, self._base_url)
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
            fold=self._meter._fold,
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
        for entry in reversed(self._meter._fold.view.entries.values()):
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
        reading = self._meter._start_call(self._request)
        messages = self.items.messages
        if self._is_compacted and not self._is_held:
            messages = self.situation("point", "").messages
        elif self._is_held or mended(messages) is messages:
            every = range(len(self.items.items))
            plan: ItemPlan = tuple(Keep(place) for place in every)
            return Fitted(self.items.body, reading, plan=plan)
        plan = self.plan(messages)
        body = {**self.items.body, self.items.field: self.items.sent(plan)}
        return Fitted(body, reading, True, plan)

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
            message = message or self._meter._read_answer(answer)
            message = msgspec.structs.replace(message, id=self._free_id(message.id))
        response = response or answer_id(self._meter._fold.wire, answer)
        return self._meter.after(
            self.open_call, usage, message, outcome=outcome, response=response
        )

    def _emit(self, event: Event) -> None:
        self._meter._emit(event)
