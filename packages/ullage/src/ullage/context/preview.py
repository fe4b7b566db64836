"""A compaction that is shown before it is made: what leaves, what stays, what would be lost, and the price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from ullage.context.cache_prices import ChangePrice, price_of
from ullage.context.costs import after, sizes_of
from ullage.context.exchanges import in_view
from ullage.context.keeping import must_stay
from ullage.context.policy import LARGEST_SEQ, NAME_SHOWN
from ullage.context.proof import committing, prove
from ullage.context.rendering import line_of
from ullage.context.situation import Situation
from ullage.context.summary_message import text_part_id
from ullage.context.values import LostValue, lost_values
from ullage.errors import CommandRefused
from ullage.events import (
    CallEnded,
    CompactAsked,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    Event,
    Pruned,
)
from ullage.messages import Message, ProviderItem, TextPart
from ullage.meter.fingerprint import EMPTY, roll
from ullage.meter.limits import lookup
from ullage.meter.spend import Spend, with_call

PREFIX: Final = "preview-"


class PreviewedMessage(msgspec.Struct, frozen=True):
    """A message in view, its tokens, and a line with its role and how it begins.

    ``why`` it has to stay, or ``shortened``; empty for other messages.
    """

    id: str
    tokens: int
    line: str
    why: str = ""


class CompactionPreview(ChangePrice, frozen=True, kw_only=True):
    """What a compaction would do; nothing of it is done.

    ``spent`` tokens and ``spent_usd`` are what the preview itself has cost; ``None`` where prices are unknown.
    """

    id: str
    """Names it for ``accept``, and for ``uncompact`` afterwards."""
    strategy: str
    """What found it: ``clear``, ``summary``, ``drop``, …"""
    leaves: tuple[PreviewedMessage, ...]
    stays: tuple[PreviewedMessage, ...]
    summary: str
    """The text in the place of what leaves, as ``accept`` takes it; empty without one."""
    is_editable: bool
    """Whether ``accept`` takes another text: not where the provider itself has written it."""
    lost: tuple[LostValue, ...]
    """Paths, addresses, ids and numbers that no message would hold any more, those in use first."""
    spent: int
    spent_usd: float | None


class PastPreview(NamedTuple):
    """A preview, as the ledger holds it."""

    asked: CompactAsked
    history: str
    proposed: Pruned | CompactionCommitted
    strategy: str
    calls: tuple[CallEnded, ...]


def preview_name(seq: int) -> str:
    """The name of the compaction that is shown to whoever asked for it by the event with this number."""
    return f"{PREFIX}{seq}"


def asked_at(name: str) -> int:
    """The number of the event that asked for a preview. Raises ``CommandRefused`` for another name."""
    number = name.removeprefix(PREFIX)
    if number == name or not (number.isascii() and number.isdecimal()):
        raise CommandRefused(
            f"{name[:NAME_SHOWN]!r} is no preview. Make one first; its id begins with {PREFIX}."
        )
    return min(int(number[:NAME_SHOWN]), LARGEST_SEQ)


def find_preview(name: str, events: Iterable[Event]) -> PastPreview:
    """The preview of this name.

    Args:
        name: As ``preview_name`` gives it.
        events: Those of the session, from the one that asked for it on.

    Raises:
        CommandRefused: The session has none of this name, or it found nothing.
    """
    asked, history = CompactAsked(), ""
    calls: list[CallEnded] = []
    for event in events:
        match event:
            case CompactAsked():
                asked = event if event.seq == asked_at(name) else asked
            case CompactionStarted(compaction=found) if found == name:
                history = event.history
            case CallEnded(purpose="summary"):
                calls.append(event)
            case CompactionRolledBack(compaction=found, rung="") if found == name:
                if event.proposed is None:
                    why = event.note or f"it was ended ({event.reason})"
                    raise CommandRefused(f"There is nothing to preview: {why}")
                return PastPreview(
                    asked, history, event.proposed, event.strategy, tuple(calls)
                )
            case _:
                continue
    raise CommandRefused(
        f"The session has no preview {name[:NAME_SHOWN]!r}: it was not made, or another compaction was asked for "
        "meanwhile. Make a new one."
    )


def shown(situation: Situation, past: PastPreview) -> CompactionPreview:
    """What a person sees of a preview.

    Args:
        situation: The session as it was previewed, with the preview's name.
        past: The preview.
    """
    event = past.proposed
    verdict = prove(situation, event, any_size=True)
    branch = after(situation.fold, (event,))
    then = in_view(entry.message for entry in branch.view)
    sizes = sizes_of(branch)
    known = {message.id: message for message in situation.messages}
    gone = set(known) - {message.id for message in then}
    reasons = must_stay(situation)
    leaving: list[Message] = []
    leaves: list[PreviewedMessage] = []
    for message in situation.messages:
        if message.id in gone:
            leaves.append(_line(message, situation.sizes.each))
        if message.id in gone or branch.view.entries[message.id].content is not message:
            leaving.append(message)
    stays: list[PreviewedMessage] = []
    for message in then:
        is_changed = known.get(message.id) not in (None, message)
        why = "shortened" if is_changed else reasons.get(message.id, "")
        stays.append(_line(message, sizes.each, why))
    spend = Spend()
    for call in past.calls:
        known_model = lookup(call.provider, call.model)
        spend = with_call(spend, call, call.usage, known_model, call.provider)
    return CompactionPreview(
        **asdict(price_of(situation, verdict)),
        id=situation.compaction,
        strategy=past.strategy,
        leaves=tuple(leaves),
        stays=tuple(stays),
        summary=_text_of(event),
        is_editable=_text_part(event) is not None,
        lost=lost_values(leaving, then),
        spent=spend.all.in_budget,
        spent_usd=None if spend.money.unpriced else spend.money.usd,
    )


def accepted(
    situation: Situation, past: PastPreview, summary: str | None = None
) -> tuple[Event, ...]:
    """The events that make a previewed compaction, proved against the session as it is now.

    Args:
        situation: The session, with the preview's name and the part that was named.
        past: The preview.
        summary: A text in the place of its summary; ``None`` keeps that.

    Raises:
        CommandRefused: The messages of the preview have changed, or the change can't be made.
    """
    event = past.proposed
    grown = _grown_since(situation, past.history)
    is_repeating = isinstance(event, CompactionCommitted) and bool(event.added)
    if grown is None or (grown and is_repeating):
        raise CommandRefused(
            "The conversation has changed since this preview was made: messages of it were compacted, dropped, edited "
            "or rewound. Nothing was changed. Make a new preview, or undo what changed it."
        )
    if summary is not None:
        event = _with_text(event, summary)
    verdict = prove(situation, event)
    if not verdict.is_proved:
        raise CommandRefused(
            f"This preview can't be accepted: {verdict.note} Nothing was changed. Make a new preview."
        )
    return committing(situation, event, verdict, past.strategy)


def _grown_since(situation: Situation, history: str) -> int | None:
    """How many messages came behind the view with this digest; ``None`` where it is no longer the beginning."""
    rolled = EMPTY
    left = len(situation.fold.view)
    for entry in situation.fold.view:
        if rolled == history:
            return left
        rolled = roll(rolled, entry.message)
        left -= 1
    return left if rolled == history else None


def _line(
    message: Message, sizes: Mapping[str, float], why: str = ""
) -> PreviewedMessage:
    tokens = round(sizes.get(message.id, 0.0))
    return PreviewedMessage(message.id, tokens, line_of(message), why)


def _text_part(event: Pruned | CompactionCommitted) -> str | None:
    """The id of the part of the summary that a model or a digest wrote; ``None`` without one."""
    if isinstance(event, Pruned) or event.summary is None:
        return None
    wanted = text_part_id(event.summary.id)
    return wanted if any(part.id == wanted for part in event.summary.parts) else None


def _text_of(event: Pruned | CompactionCommitted) -> str:
    """The text in the place of what leaves."""
    if isinstance(event, Pruned) or event.summary is None:
        return ""
    wanted = _text_part(event)
    texts: list[str] = []
    for part in event.summary.parts:
        if wanted in (None, part.id) and isinstance(part, TextPart | ProviderItem):
            texts.append(part.text)
    return "\n\n".join(filter(None, texts))


def _with_text(
    event: Pruned | CompactionCommitted, summary: str
) -> Pruned | CompactionCommitted:
    """The change with another text. Its length is counted: the call reported that of the old one."""
    if not summary.strip():
        raise CommandRefused(
            "The summary is empty. Write what the model has to know, or reject the preview. Nothing was changed."
        )
    wanted = _text_part(event)
    if wanted is None or isinstance(event, Pruned) or event.summary is None:
        raise CommandRefused(
            "The summary of this compaction can't be edited. Nothing was changed. Use it as it is, or reject it."
        )
    text = TextPart(id=wanted, text=summary)
    parts = tuple(text if part.id == wanted else part for part in event.summary.parts)
    made = replace(event.summary, parts=parts)
    return replace(event, summary=made, summary_tokens=None)
