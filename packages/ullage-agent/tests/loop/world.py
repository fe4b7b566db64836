"""A world around the loop: it carries out whatever is decided, with outcomes, commands and crashes drawn from a tape.

It keeps no state of its own that a driver would lose with its process but what a store has: the ledger and the draft.
Every promise of the loop is checked where it could first be broken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, assert_never

from msgspec.structs import replace

from tests.loop.stories import fold
from ullage.context.exchanges import in_view
from ullage.events import (
    ApprovalAsked,
    ApprovalGiven,
    CallEnded,
    CallHeld,
    CallStarted,
    CancelAsked,
    Cancelled,
    CompactAsked,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    MessageAdded,
    ModelChanged,
    Pruned,
    Queued,
    QueueEdited,
    QueueLeft,
    Rewound,
    SettingsChanged,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from ullage.messages import Message, Part, TextPart, ToolCallPart, ToolResultPart
from ullage.turns.closing import (
    UnfinishedWork,
    after_cancel,
    after_crash,
    closed,
    handed_back,
)
from ullage.turns.loop import Loop, OpenCall, apply
from ullage.usage import Usage
from ullage_agent.loop.budgets import Budget
from ullage_agent.loop.decide import Headroom, LoopRules, LoopSituation, decide
from ullage_agent.loop.steps import (
    AskApproval,
    CallModel,
    CloseCalls,
    Compact,
    Deliver,
    DropAttempt,
    EndTurn,
    FallBack,
    FetchAnswer,
    NextStep,
    Pause,
    Rest,
    Resume,
    RunTools,
    Settle,
)

MOST_STEPS = 1_500
"""More than any tape here can ask for: who comes so far runs in a circle."""

TOOLS = ("read", "write", "alone", "guarded")
"""``read`` may run twice, ``alone`` runs alone, ``guarded`` needs a person's word."""

FAILURES = ("Overflow", "ServerError", "BadKey", "BodyTooLarge", "")
STOPS = ("stop", "tool_calls", "length", "refused", "paused", "context_full", "other")


class Crash(Exception):
    """The process dies here."""


@dataclass
class Tape:
    """Choices, one byte each. At its end every choice is 0, the quiet one."""

    data: bytes
    place: int = 0

    def choose(self, most: int) -> int:
        """A number below ``most``."""
        if self.place >= len(self.data):
            return 0
        self.place += 1
        return self.data[self.place - 1] % most

    def happens(self, one_in: int) -> bool:
        return self.choose(one_in) == one_in - 1

    @property
    def is_over(self) -> bool:
        return self.place >= len(self.data)


@dataclass
class World:
    tape: Tape
    rules: LoopRules = field(init=False)
    keeps_queue: bool = field(init=False)
    limit: int | None = field(init=False)
    ledger: list[Event] = field(default_factory=list)
    loop: Loop = field(default_factory=Loop)
    draft: tuple[Part, ...] = ()
    high: int = 0
    is_hopeless: bool = False
    """The last compaction changed nothing, and nothing was added since."""
    ids: Iterator[int] = field(default_factory=lambda: iter(range(10**6)))
    view: list[Message] = field(default_factory=list)
    ran: dict[str, int] = field(default_factory=dict)
    steps: list[NextStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        choose = self.tape.choose
        calls = choose(7) or None
        self.rules = LoopRules(
            max_steps=1 + (choose(8) or 9),
            max_repeats=1 + (choose(4) or 4),
            drop_retries=choose(3),
            sequential_tools=self.tape.happens(4),
            budget=Budget(calls=calls),
        )
        self.keeps_queue = self.tape.happens(3)
        self.limit = 100 if self.tape.happens(2) else None

    # -- the ledger --

    def write(self, events: Iterable[Event]) -> None:
        for each in events:
            event = replace(each, seq=len(self.ledger) + 1)
            self.ledger.append(event)
            self.loop = apply(self.loop, event)
            self._follow(event)

    def _follow(self, event: Event) -> None:
        match event:
            case MessageAdded():
                self.view.append(event.message)
                self.high += 10
                self.is_hopeless = False
            case Rewound():
                ids = [message.id for message in self.view]
                assert event.to in ids, (
                    "a retry takes back its own answer and nothing else"
                )
                del self.view[ids.index(event.to) + 1 :]
            case ToolStarted():
                self.ran[event.call_id] = self.ran.get(event.call_id, 0) + 1
                assert self.ran[event.call_id] == 1 or event.idempotent, (
                    "no tool runs twice"
                )
            case _:
                pass

    def name(self, kind: str) -> str:
        return f"{kind}{next(self.ids)}"

    # -- driving --

    def live(self) -> None:
        """Until the session rests and nobody has anything more to say."""
        while len(self.steps) < MOST_STEPS:
            try:
                if self.advance() and self.tape.is_over:
                    return
            except Crash:
                self.loop = self.after_death()
                self.revive()
        raise AssertionError(f"It goes round in circles: {self.steps[-12:]}")

    def advance(self) -> bool:
        """One decision and what comes of it; True where the session rests."""
        self.commands()
        situation = self.situation()
        step = decide(situation)
        assert step == decide(situation)
        self.steps.append(step)
        self.perform(step)
        return isinstance(step, Rest)

    def after_death(self) -> Loop:
        """What the next driver finds: the ledger alone."""
        found = fold(self.ledger)
        assert found == self.loop, "the state is the fold of the ledger"
        return found

    def revive(self) -> None:
        was_abandoned = self.loop.is_abandoned
        step = decide(self.situation())
        settles = isinstance(step, Settle | FetchAnswer)
        assert settles == (was_abandoned or bool(self.loop.cancel))
        if isinstance(step, FetchAnswer):
            return
        if isinstance(step, Settle):
            self.settle(step)
        assert not self.loop.is_abandoned

    def may_die(self) -> None:
        if self.tape.happens(40):
            raise Crash

    def situation(self) -> LoopSituation:
        loop = self.loop
        budget: Any = loop.settings.get("budget", {"calls": self.rules.budget.calls})
        calls = budget["calls"]
        assert calls is None or isinstance(calls, int)
        return LoopSituation(
            loop=loop,
            rules=LoopRules(
                max_steps=self.rules.max_steps,
                max_repeats=self.rules.max_repeats,
                drop_retries=self.rules.drop_retries,
                sequential_tools=self.rules.sequential_tools,
                budget=Budget(calls=calls),
            ),
            room=Headroom(
                high=self.high,
                input_limit=self.limit,
                is_due=bool(self.limit) and self.high >= 80,
            ),
            needs_approval=frozenset(
                call.call_id
                for call in loop.open
                if call.name == "guarded" and call.state in ("waiting", "approved")
            ),
            sequential=frozenset(
                call.call_id for call in loop.open if call.name == "alone"
            ),
            may_compact=loop.compact_asked is not None or not self.is_hopeless,
        )

    # -- other people --

    def commands(self) -> None:
        """What others write into the ledger at this moment; mostly nothing."""
        if not self.ledger:
            self.send("steer")
        while self.tape.happens(8):
            self.command()

    def command(self) -> None:
        loop, tape = self.loop, self.tape
        waiting = [one.message.id for one in loop.queue]
        match tape.choose(12):
            case 0 | 1 | 2:
                self.send("steer")
            case 3:
                self.send("follow_up")
            case 4 if waiting:
                chosen = waiting[tape.choose(len(waiting))]
                self.write([QueueEdited(message=said_by_person(chosen, "Edited."))])
            case 5 if waiting:
                self.write(
                    [
                        QueueLeft(
                            message_id=waiting[tape.choose(len(waiting))], how="withdrawn"
                        )
                    ]
                )
            case 6:
                self.write([CancelAsked(tools="finish" if tape.happens(2) else "stop")])
            case 7 | 8:
                for call in loop.open:
                    if call.state == "asked":
                        self.write(
                            [
                                ApprovalGiven(
                                    call_id=call.call_id,
                                    approved=not tape.happens(3),
                                    note="Hm.",
                                    digest=call.digest,
                                )
                            ]
                        )
            case 9:
                self.write(
                    [TurnResumed(turn=loop.turn)]
                    if loop.paused
                    else [ModelChanged(model="other")]
                )
            case 10:
                self.write([CompactAsked()])
            case 11:
                more = tape.choose(9)
                own = {"calls": more} if more else None
                self.write([SettingsChanged(settings={"budget": own})])
            case _:
                pass

    def send(self, kind: Any) -> None:
        self.write(
            [
                Queued(
                    message=said_by_person(self.name("m"), "Do it."),
                    kind=kind,
                    position=1,
                )
            ]
        )

    # -- carrying out --

    def perform(self, step: NextStep) -> None:
        match step:
            case CallModel():
                self.call_model()
            case FetchAnswer():
                self.answer(self.loop.call)
            case RunTools():
                self.run_tools(step)
            case AskApproval():
                self.write(
                    [
                        ApprovalAsked(call_id=call.call_id, digest=call.digest)
                        for call in step.calls
                    ]
                )
            case CloseCalls():
                self.write(closed(step.calls, step.outcome, step.why))
            case Settle():
                self.settle(step)
            case DropAttempt():
                assert self.view[-1].id == step.message
                assert self.view[-1].interrupted == "dropped"
                self.write([Rewound(to=self.view[-2].id)])
            case Compact():
                self.compact(step)
            case Deliver():
                self.deliver(step)
            case Pause():
                self.write(
                    [TurnPaused(turn=self.loop.turn, reason=step.reason, note=step.note)]
                )
            case Resume():
                raise AssertionError("no quota is set")
            case EndTurn():
                assert not self.loop.open, "what is open is closed before the turn ends"
                assert (
                    step.reason not in ("finished", "refused", "loop") or self.is_heard()
                )
                self.commands()
                self.write(
                    [
                        TurnEnded(
                            turn=self.loop.turn, reason=step.reason, steps=self.loop.steps
                        )
                    ]
                )
            case FallBack():
                raise AssertionError("no fallback model is set")
            case Rest():
                self.check_rest()
                if not self.tape.is_over:
                    self.command()
            case _ as never:
                assert_never(never)
        self.may_die()

    def check_rest(self) -> None:
        loop = self.loop
        assert not loop.cancel
        assert loop.paused or not loop.turn, "a turn under way is never left alone"
        assert loop.paused or not loop.queue, "nothing waits at rest"
        assert loop.turn or not loop.open

    def check_call(self) -> None:
        """What holds before every request."""
        loop, situation = self.loop, self.situation()
        assert loop.turn
        assert not (loop.paused or loop.cancel or loop.open)
        assert loop.steps < situation.rules.max_steps
        most = situation.rules.budget.calls
        assert most is None or loop.calls < most
        assert self.limit is None or self.high <= self.limit
        goes_on = loop.outcome == "finished" and loop.stop == "paused"
        assert goes_on or not loop.steers, "what steers comes before the next call"
        check_pairs(in_view(self.view))
        assert self.is_new_request(), (
            "what was answered, if with nothing, is not asked again"
        )
        assert self.view[-1].role != "assistant" or self.view[-1].interrupted is None

    def is_heard(self) -> bool:
        """Whether the model has answered what a person said last."""
        for event in reversed(self.ledger):
            match event:
                case CallEnded(purpose="main"):
                    return True
                case MessageAdded(message=message) if message.role == "user":
                    return False
                case _:
                    pass
        return False

    def is_new_request(self) -> bool:
        """Whether anything was said since the last answer, or that one is to be asked for again."""
        for event in reversed(self.ledger):
            match event:
                case MessageAdded() | Rewound():
                    return True
                case CallEnded(purpose="main"):
                    return event.outcome != "finished"
                case _:
                    pass
        return True

    def call_model(self) -> None:
        self.check_call()
        call = self.name("c")
        self.draft = ()
        self.write([CallStarted(call=call)])
        self.may_die()
        if self.tape.happens(3):
            self.write([CallHeld(call=call, response=f"resp_{call}")])
        self.answer(call)

    def answer(self, call: str) -> None:
        parts: tuple[Part, ...] = ()
        kind, content = self.tape.choose(8), self.tape.choose(8)
        if kind != 6 and content != 7:
            parts = (TextPart(id=f"{call}.text", text="Well."),)
            parts += tuple(self.tool_call() for _ in range(self.tape.choose(4)))
        self.draft = parts
        self.commands()
        if self.loop.cancel:
            return  # the driver ends the call; it is settled next
        self.may_die()
        self.write(self.ending(call, kind, parts))
        self.draft = ()

    def ending(self, call: str, kind: int, parts: tuple[Part, ...]) -> list[Event]:
        used = Usage(input=self.high, output=5)
        if kind == 6:
            failure = FAILURES[self.tape.choose(len(FAILURES))]
            return [
                CallEnded(
                    call=call, outcome="failed", error="It failed.", error_kind=failure
                )
            ]
        message = Message(id=f"{call}.answer", role="assistant", parts=parts, call=call)
        if kind == 7:
            broken = (
                [MessageAdded(message=replace(message, interrupted="dropped"))]
                if parts
                else []
            )
            return [CallEnded(call=call, outcome="dropped", usage=used), *broken]
        stop = STOPS[self.tape.choose(len(STOPS))] if kind == 5 else "stop"
        whole = [MessageAdded(message=message)] if parts else []
        return [CallEnded(call=call, stop=stop, usage=used), *whole]

    def tool_call(self) -> ToolCallPart:
        name = self.name("t")
        arguments = '{"n":1}' if self.tape.happens(3) else "{}"
        tool = TOOLS[self.tape.choose(len(TOOLS))]
        return ToolCallPart(
            id=f"{name}.part", call_id=name, name=tool, arguments=arguments
        )

    def run_tools(self, step: RunTools) -> None:
        is_open = {call.call_id: call for call in self.loop.open}
        assert step.calls
        for call in step.calls:
            assert is_open[call.call_id] == call
            assert call.is_approved or call.name != "guarded"
            assert call.state in ("approved", "waiting")
        assert self.loop.outcome == "finished"
        assert self.loop.stop not in ("length", "context_full", "refused"), (
            "what may be cut is not run"
        )
        if self.rules.sequential_tools or step.calls[0].name == "alone":
            assert step.calls[0] == self.loop.open[0], (
                "what runs alone waits for those before it"
            )
        assert len(step.calls) == 1 or not any(
            call.name == "alone" for call in step.calls
        )
        assert len(step.calls) == 1 or not self.rules.sequential_tools
        self.write(
            ToolStarted(
                call_id=call.call_id, name=call.name, idempotent=call.name == "read"
            )
            for call in step.calls
        )
        running = list(step.calls)
        while running:
            self.may_die()
            self.commands()
            if self.loop.cancel:
                if not self.loop.cancel_answered:
                    returned = [] if self.keeps_queue else handed_back(self.loop)
                    self.write([*returned, Cancelled(persisted="tools_in_progress")])
                if self.loop.cancel == "stop":
                    return
            self.end_tool(running.pop(self.tape.choose(len(running))))

    def end_tool(self, call: OpenCall) -> None:
        if self.tape.happens(6):
            self.write(
                [
                    CallEnded(
                        call=self.name("child"),
                        purpose="child",
                        usage=Usage(input=1, output=1),
                    )
                ]
            )
        part = ToolResultPart(
            id=f"{call.part}.result", call_id=call.call_id, name=call.name
        )
        message = Message(id=f"{part.id}.message", role="tool", parts=(part,))
        self.write([ToolEnded(call_id=call.call_id), MessageAdded(message=message)])

    def settle(self, step: Settle) -> None:
        loop = self.loop
        partial = None
        if loop.call and self.draft:
            partial = Message(
                id=f"{loop.call}.answer",
                role="assistant",
                parts=self.draft,
                call=loop.call,
            )
        left = UnfinishedWork(loop, partial, f"note-{loop.seq + 1}")
        if step.how == "crash":
            self.write(after_crash(left))
        else:
            asked = next(
                each.seq
                for each in reversed(self.ledger)
                if isinstance(each, CancelAsked)
            )
            after = {
                each.message.id
                for each in self.ledger[asked:]
                if isinstance(each, Queued)
            }
            events = after_cancel(left, None, returns_queue=not self.keeps_queue)
            assert not any(
                isinstance(each, QueueLeft) and each.message_id in after
                for each in events
            )
            self.write(events)
            assert not self.loop.turn, "a cancel ends the turn"
            assert not self.loop.open
            assert not self.loop.cancel
        assert not self.loop.is_abandoned
        assert after_crash(UnfinishedWork(self.loop, partial, "again")) == [], (
            "settled once is settled"
        )

    def compact(self, step: Compact) -> None:
        name = self.name("x")
        if self.tape.happens(4):
            self.write([Pruned(parts=("p",))])
            self.high = min(self.high, 30)
            return
        self.write([CompactionStarted(compaction=name, trigger=step.trigger)])
        if self.tape.happens(2):
            call = self.name("s")
            self.write([CallStarted(call=call, purpose="summary")])
            self.may_die()
            self.commands()
            if self.loop.cancel:
                return
            self.write(
                [CallEnded(call=call, purpose="summary", usage=Usage(input=5, output=5))]
            )
            if self.tape.happens(2):
                self.write(
                    [
                        CompactionRolledBack(
                            compaction=name, reason="failed", rung="summary"
                        )
                    ]
                )
        self.may_die()
        if self.tape.happens(3):
            self.is_hopeless = True
            self.write([CompactionRolledBack(compaction=name, reason="no_gain")])
        else:
            self.high = min(self.high, 30)
            self.write([CompactionCommitted(compaction=name)])

    def deliver(self, step: Deliver) -> None:
        before = len(self.ledger)
        self.commands()
        if len(self.ledger) != before:
            return  # somebody wrote in between: nothing of it is stored, and it is decided again
        assert step.begins_turn == (not self.loop.turn)
        assert not self.loop.open
        events: list[Event] = (
            [TurnStarted(turn=f"turn-{self.loop.turns + 1}")] if step.begins_turn else []
        )
        waiting = {one.message.id: one.message for one in self.loop.queue}
        for name in step.messages:
            events += [
                QueueLeft(message_id=name, how="delivered"),
                MessageAdded(message=waiting[name]),
            ]
        self.write(events)

    # -- afterwards --

    def check_queue(self) -> None:
        """Each message that was sent waits or has left once, those of a kind in their order, with their last words."""
        kinds, words, left = dict[str, str](), dict[str, Message](), dict[str, str]()
        delivered: dict[str, list[str]] = {"steer": [], "follow_up": []}
        for event in self.ledger:
            match event:
                case Queued():
                    kinds[event.message.id], words[event.message.id] = (
                        event.kind,
                        event.message,
                    )
                case QueueEdited():
                    words[event.message.id] = event.message
                case QueueLeft():
                    assert event.message_id not in left, "a message leaves the queue once"
                    left[event.message_id] = event.how
                    if event.how == "delivered":
                        delivered[kinds[event.message_id]].append(event.message_id)
                case MessageAdded(message=message) if (
                    message.role == "user" and message.origin == "said"
                ):
                    assert message == words[message.id]
                case _:
                    pass
        assert set(kinds) == set(left) | {one.message.id for one in self.loop.queue}
        sent = list(kinds)
        for ids in delivered.values():
            found = [sent.index(each) for each in ids]
            assert found == sorted(sent.index(each) for each in ids)

    def check_ledger(self) -> None:
        """Whatever prefix of the ledger a driver finds, it knows what to do; and results came once."""
        loop, results = Loop(), set[str]()
        for event in self.ledger:
            loop = apply(loop, event)
            decide(LoopSituation(loop=loop, rules=self.rules))
            if isinstance(event, MessageAdded):
                for part in event.message.of_type(ToolResultPart):
                    assert part.call_id not in results
                    results.add(part.call_id)
        assert loop == self.loop

    def check_turns(self) -> None:
        """Turns begin and end in pairs, and none begins before a cancel is answered."""
        is_cancelled = False
        for event in self.ledger:
            match event:
                case CancelAsked():
                    is_cancelled = True
                case Cancelled() | TurnEnded(reason="cancelled"):
                    is_cancelled = False
                case TurnStarted():
                    assert not is_cancelled
                case _:
                    pass
        marks = [
            event for event in self.ledger if isinstance(event, TurnStarted | TurnEnded)
        ]
        assert all(type(one) is not type(other) for one, other in pairwise(marks))
        assert all(
            one.turn == other.turn
            for one, other in pairwise(marks)
            if isinstance(other, TurnEnded)
        )


def said_by_person(name: str, words: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.1", text=words),))


def check_pairs(view: tuple[Message, ...]) -> None:
    """Each answer with calls is followed by exactly their results, in the order of the calls."""
    expected: list[str] = []
    for message in view:
        if message.role == "tool":
            for part in message.of_type(ToolResultPart):
                assert expected
                assert part.call_id == expected.pop(0)
            continue
        assert not expected, f"{expected} have no result"
        expected = [part.call_id for part in message.of_type(ToolCallPart)]
    assert not expected
