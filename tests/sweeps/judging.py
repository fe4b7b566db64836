"""What must hold for a session whose process was killed, once another process has gone on with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from tests.promises.stage import of_kind
from tests.sweeps.orders import Piece, Report, Shown
from ullage.encoding import decode_event
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from ullage.messages import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ullage_simulators.server import Exchange

IDEMPOTENT = ("look",)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """All that is known of one run: what the first process showed, what the second found, and how it ended."""

    shown: Sequence[Shown]
    found: Report
    ledger: Sequence[Event]
    effects: Sequence[str]
    exchanges: Sequence[Exchange]
    sent: Sequence[str]
    """Ids of the messages, in the order they were sent."""

    @property
    def before(self) -> list[Event]:
        return [decode_event(line) for line in self.found.before]

    def messages(self) -> list[Message]:
        return [event.message for event in of_kind(self.ledger, MessageAdded)]


def judge(trace: Trace) -> None:
    """Raises ``AssertionError`` for the first promise that is not kept."""
    assert not trace.found.error, trace.found.error
    assert trace.found.reason == "finished", (trace.found.reason, trace.found.note)
    judge_ledger(trace.before, trace.ledger)
    judge_requests(trace)
    judge_turns(trace.ledger)
    judge_tools(trace)
    judge_queue(trace)
    judge_shown(trace)
    judge_drafts(trace)


def what_happened(trace: Trace) -> Counter[str]:
    """What the kill led to, so that a sweep can show that it met all there is to meet."""
    outcomes = [event.outcome for event in of_kind(trace.ledger, ToolEnded)]
    started = Counter(event.call_id for event in of_kind(trace.ledger, ToolStarted))
    kept = [
        event for event in of_kind(trace.before, ToolEnded) if event.outcome == "finished"
    ]
    return Counter(
        {
            "answer cut": any(message.interrupted for message in trace.messages()),
            "call unknown": "unknown" in outcomes,
            "call not started": "not_started" in outcomes,
            "call run again": max(started.values(), default=0) > 1,
            "result kept": bool(kept) and not isinstance(trace.before[-1], TurnEnded),
            "nothing stored": not trace.before,
        }
    )


def judge_ledger(before: Sequence[Event], ledger: Sequence[Event]) -> None:
    """Events were only added, and each has the number behind the last one's."""
    assert [event.seq for event in ledger] == list(range(1, len(ledger) + 1)), (
        "the ledger has gaps or doubles"
    )
    assert list(ledger[: len(before)]) == list(before), "what had been stored changed"
    ids = Counter(event.id for event in ledger)
    assert not [name for name, times in ids.items() if times > 1], (
        "two events have one id"
    )
    messages = Counter(event.message.id for event in of_kind(ledger, MessageAdded))
    assert not [name for name, times in messages.items() if times > 1], (
        f"a message was added twice: {messages}"
    )


def judge_requests(trace: Trace) -> None:
    """The provider took every request, and each is a call in the ledger."""
    for exchange in trace.exchanges:
        assert exchange.status == 200 and not exchange.rule, (
            f"refused: {exchange.rule} {exchange.said}"
        )
    calls = [event.call for event in of_kind(trace.ledger, CallStarted)]
    ended = [event.call for event in of_kind(trace.ledger, CallEnded)]
    assert sorted(calls) == sorted(ended) and len(set(calls)) == len(calls), (
        f"calls {calls} ended {ended}"
    )
    # A process that died after it had stored the call and before it had sent it whole has none for it.
    assert len(calls) - 1 <= len(trace.exchanges) <= len(calls), (
        f"{len(trace.exchanges)} requests, {len(calls)} calls"
    )


def judge_turns(ledger: Sequence[Event]) -> None:
    """One turn at a time, and each came to its end."""
    under_way = ""
    for event in ledger:
        match event:
            case TurnStarted():
                assert not under_way, f"{event.turn} began inside {under_way}"
                under_way = event.turn
            case TurnEnded():
                assert under_way == event.turn, f"{event.turn} ended inside {under_way}"
                under_way = ""
            case _:
                pass
    assert not under_way, f"{under_way} never ended"


def judge_tools(trace: Trace) -> None:
    """Each call has one result; none ran twice that may not; what is said of it is what happened."""
    calls = {
        part.call_id: part
        for message in trace.messages()
        for part in message.of_type(ToolCallPart)
        if part.call_id
    }
    results = Counter(
        part.call_id
        for message in trace.messages()
        for part in message.of_type(ToolResultPart)
    )
    assert results == Counter(list(calls)), f"results {results} for calls {set(calls)}"
    started = Counter(event.call_id for event in of_kind(trace.ledger, ToolStarted))
    effects = Counter(line.split()[1] for line in trace.effects)
    assert set(effects) <= set(started), "a tool ran that no row says was started"
    outcomes: dict[str, list[str]] = {}
    for event in trace.ledger:
        if isinstance(event, ToolEnded):
            outcomes.setdefault(event.call_id, []).append(event.outcome)
    said = {
        part.call_id: part
        for message in trace.messages()
        for part in message.of_type(ToolResultPart)
    }
    for call_id, part in calls.items():
        outcome, text = outcomes[call_id], said[call_id].text
        if part.name in IDEMPOTENT:
            assert len(outcome) <= 2 and outcome[:-1] in ([], ["unknown"]), outcome
            assert outcome[-1] != "unknown", (
                f"{call_id} does no harm when it runs twice, and was given up"
            )
            assert effects[call_id] <= started[call_id] <= 2, f"{call_id} ran too often"
        else:
            assert len(outcome) == 1, outcome
            assert effects[call_id] <= 1 and started[call_id] <= 1, (
                f"{call_id} ran {effects[call_id]} times"
            )
        match outcome[-1]:
            case "finished":
                assert effects[call_id] >= 1, (
                    f"{call_id} is said to have finished and did nothing"
                )
                assert not said[call_id].is_error
            case "unknown":
                assert started[call_id] == 1 and "unknown" in text, text
            case "not_started":
                assert not effects[call_id] and not started[call_id], (
                    f"{call_id} ran and is said not to have"
                )
                assert "Not run" in text, text
            case other:
                raise AssertionError(f"{call_id} ended as {other}")


def judge_queue(trace: Trace) -> None:
    """Each message was queued once and delivered once, in order; what was acknowledged was there."""
    queued = [event.message.id for event in of_kind(trace.ledger, Queued)]
    left = [(event.message_id, event.how) for event in of_kind(trace.ledger, QueueLeft)]
    added = [message.id for message in trace.messages() if message.id in trace.sent]
    assert sorted(queued) == sorted(trace.sent), f"queued: {queued}"
    assert left == [(name, "delivered") for name in trace.sent], f"left: {left}"
    assert added == list(trace.sent), f"added: {added}"
    receipts = [line.receipt for line in trace.shown if line.receipt]
    had = {event.message.id for event in of_kind(trace.before, Queued)}
    assert set(receipts) <= had, f"{set(receipts) - had} was acknowledged and lost"


def judge_shown(trace: Trace) -> None:
    """What a display was given was stored, in the same order, and is what the history says."""
    seqs = [line.seq for line in trace.shown if line.seq]
    before = trace.before
    assert seqs == list(range(1, len(seqs) + 1)), f"shown: {seqs}"
    assert len(seqs) <= len(before), "an event was shown that was not stored"
    for line in trace.shown:
        if line.seq:
            assert type(before[line.seq - 1]).__name__ == line.tag
    answers = {
        event.message.call: event.message for event in of_kind(trace.ledger, MessageAdded)
    }
    shown: dict[str, list[Piece]] = {}
    for line in trace.shown:
        if line.piece is not None:
            shown.setdefault(line.piece.call, []).append(line.piece)
    for call, pieces in shown.items():
        assert [piece.offset for piece in pieces] == list(range(len(pieces))), (
            "pieces of an answer were left out"
        )
        assert call in answers, f"what was shown of {call} is in no answer"
        stored = texts_of_message(answers[call])
        for part, text in texts_of(pieces).items():
            assert stored[part].startswith(text), (
                f"shown {text!r}, stored {stored[part]!r}"
            )


def judge_drafts(trace: Trace) -> None:
    """An answer that was cut holds exactly what was stored of it, says so, and the model is told."""
    pieces: dict[str, list[Piece]] = {}
    for piece in trace.found.drafts:
        pieces.setdefault(piece.call, []).append(piece)
    assert len(pieces) <= 1, "two answers were under way"
    cut = [message for message in trace.messages() if message.interrupted]
    assert len(cut) == len(pieces), (
        f"{len(cut)} answers are marked, {len(pieces)} were under way"
    )
    for message in cut:
        assert message.call in pieces
        assert message.interrupted == "crash"
        stored = texts_of(pieces[message.call])
        assert texts_of_message(message) == stored, (
            "the answer that was cut is not what was stored"
        )
        judge_told(trace, message)


def judge_told(trace: Trace, cut: Message) -> None:
    """The first request behind an answer that was cut says that it was."""
    unseen = sum(1 for event in of_kind(trace.before, CallStarted))
    later = trace.exchanges[min(unseen, len(trace.exchanges) - 1) :]
    assert later, "nothing was sent after the answer was cut"
    body = json.dumps(later[-1].body)
    tells = (
        "Not run: the program stopped"
        if list(cut.of_type(ToolCallPart))
        else "The answer above is incomplete"
    )
    assert tells in body, f"the model is not told: {body[-1_500:]}"
    for part in cut.of_type(TextPart):
        assert json.dumps(part.text)[1:-1] in body, (
            "the model does not see what was shown"
        )


def texts_of(pieces: Iterable[Piece]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for piece in pieces:
        if piece.kind == "done":
            texts.setdefault(piece.part, _whole(piece.text))
        else:
            texts[piece.part] = texts.get(piece.part, "") + piece.text
    return texts


def texts_of_message(message: Message) -> dict[str, str]:
    texts: dict[str, str] = {}
    for part in message.parts:
        match part:
            case TextPart() | ReasoningPart():
                texts[part.id] = part.text
            case ToolCallPart():
                texts[part.id] = part.arguments
            case _:
                texts[part.id] = ""
    return texts


def _whole(encoded: str) -> str:
    part = msgspec.json.decode(encoded)
    return str(part.get("text") or part.get("arguments") or "")
