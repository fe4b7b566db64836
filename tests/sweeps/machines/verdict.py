"""What must hold for each session once all machines are back: judged by the ledger, and by what its person was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.promises.stage import of_kind
from tests.sweeps.judging import judge_ledger, judge_turns
from tests.sweeps.machines.people import Person
from ullage.events import (
    ApprovalGiven,
    CallEnded,
    CallStarted,
    CancelAsked,
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
    ToolEnded,
    ToolStarted,
    TurnPaused,
)
from ullage.messages import ToolCallPart, ToolResultPart


def judge_session(person: Person, ledger: Sequence[Event]) -> None:
    """Raises ``AssertionError`` for the first promise that is not kept."""
    try:
        judge_ledger([], ledger)
        judge_turns(ledger)
        judge_calls(ledger)
        judge_messages(person, ledger)
        judge_commands(person, ledger)
        judge_stream(person, ledger)
        judge_failures(ledger)
    except AssertionError as problem:
        problem.add_note(f"the session {person.session}: {_words(ledger)}")
        raise


def _words(ledger: Sequence[Event]) -> str:
    words = []
    for event in ledger:
        names = ("turn", "call", "call_id", "message_id", "outcome", "how", "reason")
        given = [str(getattr(event, name)) for name in names if hasattr(event, name)]
        words.append(f"{event.seq} {event.__struct_config__.tag} {' '.join(given)}")
    return "; ".join(words)


def judge_calls(ledger: Sequence[Event]) -> None:
    """One model call at a time, each ended; a tool call has one result, and is repeated only if that does no harm."""
    under_way = ""
    for event in ledger:
        if isinstance(event, CallStarted):
            assert not under_way, f"{event.call} began inside {under_way}"
            under_way = event.call
        elif isinstance(event, CallEnded):
            assert under_way == event.call, f"{event.call} ended inside {under_way}"
            under_way = ""
    assert not under_way, f"{under_way} never ended"
    started = of_kind(ledger, ToolStarted)
    harmful = Counter(event.call_id for event in started if not event.idempotent)
    assert all(many == 1 for many in harmful.values()), f"begun again: {harmful}"
    ended = Counter(event.call_id for event in of_kind(ledger, ToolEnded))
    asked: list[str] = []
    answered: list[str] = []
    for event in ledger:
        if isinstance(event, MessageAdded):
            asked += [part.call_id for part in event.message.of_type(ToolCallPart)]
            answered += [part.call_id for part in event.message.of_type(ToolResultPart)]
    assert sorted(asked) == sorted(answered) == sorted(ended), (
        f"asked {asked}, answered {answered}, ended {ended}"
    )


def judge_messages(person: Person, ledger: Sequence[Event]) -> None:
    """What was acknowledged is there; each message was queued once, left the queue once, and was added at most once."""
    queued = Counter(event.message.id for event in of_kind(ledger, Queued))
    assert set(person.said) <= set(queued), (
        f"acknowledged and lost: {set(person.said) - set(queued)}"
    )
    assert set(queued) <= set(person.sent), (
        f"never sent: {set(queued) - set(person.sent)}"
    )
    assert all(many == 1 for many in queued.values()), f"queued twice: {queued}"
    left = of_kind(ledger, QueueLeft)
    assert Counter(event.message_id for event in left) == queued, "left the queue"
    delivered = {event.message_id for event in left if event.how == "delivered"}
    added = [event.message.id for event in of_kind(ledger, MessageAdded)]
    assert sorted(name for name in added if name in queued) == sorted(delivered)
    assert not person.returned & delivered, "given back, and delivered all the same"


def judge_commands(person: Person, ledger: Sequence[Event]) -> None:
    """What was acknowledged is there. A request whose answer was lost may be there too."""
    cancels = sum(isinstance(event, CancelAsked) for event in ledger)
    assert person.cancels <= cancels, f"{person.cancels} acknowledged, {cancels} there"
    given = {event.call_id for event in of_kind(ledger, ApprovalGiven)}
    assert person.approved <= given, f"lost: {person.approved - given}"


def judge_stream(person: Person, ledger: Sequence[Event]) -> None:
    """From its last reset on, the stream gave each event once, in order, and all of them."""
    seqs = [each.seq for each in person.seen]
    first = seqs[0]
    assert first == 1 or person.seen[0].name == "reset", f"begins with {first}"
    assert seqs == list(range(first, len(ledger) + 1)), f"gaps or doubles: {seqs}"
    for each in person.seen:
        stored = ledger[each.seq - 1].__struct_config__.tag
        assert each.name in ("reset", stored), f"{each} is {stored} in the ledger"


def judge_failures(ledger: Sequence[Event]) -> None:
    """No driver met an error that it did not expect."""
    failed = [event for event in of_kind(ledger, TurnPaused) if event.reason == "failed"]
    assert not failed, f"an unexpected error: {failed[0].note}"
