"""Plans which messages stay and which leave, and builds the event that commits the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.context.budget import Aim, aim_of
from ullage.context.keeping import KeptMessages, keep, must_stay
from ullage.context.kept_texts import copies_room
from ullage.context.policy import COPIES_EXPECTED, REQUEST_SHARE, UNREAD_RESULTS
from ullage.context.proof import ProofResult, prove
from ullage.context.situation import Situation
from ullage.context.summary_message import own_tokens, summary_message
from ullage.events import CompactionCommitted, DroppedMessage
from ullage.messages import Message, TextPart
from ullage.usage import Usage

SHARES: Final = (1.0, 0.6, 0.3, 0.0)
"""Shares of the room for kept messages, tried in this order until the proof holds."""


class Plan(NamedTuple):
    """The messages that stay and leave, and the proof of the result with a summary of full length."""

    kept: KeptMessages
    leaving: tuple[Message, ...]
    verdict: ProofResult


def plan_for(situation: Situation, share: float | None = None) -> Plan:
    """The plan that keeps most and passes the proof with a summary of full length; the smallest plan if none passes.

    ``share`` is the share of the messages' tokens that the newest may take (``CompactionRules.keep``). The plan is made
    before any model call, so that no call is made in vain.
    """
    newest = situation.rules.keep if share is None else share
    return situation.once((plan_for, newest), lambda: _best_plan(situation, newest))


def _best_plan(situation: Situation, newest: float) -> Plan:
    aim = aim_of(situation)
    plan = _plan(situation, aim, newest, SHARES[0])
    for share in SHARES[1:]:
        if plan.verdict.is_proved:
            return plan
        plan = _plan(situation, aim, newest, share)
    return plan


def _plan(situation: Situation, aim: Aim, newest: float, share: float) -> Plan:
    length = aim.summary
    kept = kept_for(situation, aim, length, newest, share)
    leaving = tuple(
        message for message in situation.messages if message.id not in kept.why
    )
    event = committed(situation, kept, leaving, text="")
    assert event.summary is not None, "what leaves has a message in its place"
    around = own_tokens(situation, event.summary.of_type(TextPart))
    whole = replace(event, summary_tokens=round(length + around))
    return Plan(kept, leaving, prove(situation, whole))


class KeptRoom(NamedTuple):
    """Tokens for all messages that stay, and for the newest of them alone."""

    whole: float
    newest: float


def room_for(
    situation: Situation, aim: Aim, length: float, newest: float, share: float
) -> KeptRoom:
    """The room beside a summary of that length, a ``share`` of it; the newest exchanges may take ``newest`` of all."""
    around = situation.sizes.fixed + length + COPIES_EXPECTED * copies_room(aim.window)
    room = share * max(0.0, aim.goal - around)
    every = (message.id for message in situation.messages)
    return KeptRoom(room, min(room, newest * situation.weigh(every)))


def unread_room(situation: Situation) -> float:
    """Tokens of a further result that stays whole in a compaction of this session; 0 or less if none does."""
    aim = aim_of(situation)
    room, _ = room_for(situation, aim, aim.summary, 0.0, 1.0)
    return UNREAD_RESULTS * (room - situation.weigh(must_stay(situation)))


def kept_for(
    situation: Situation, aim: Aim, length: float, newest: float, share: float = 1.0
) -> KeptMessages:
    """The messages that stay beside a summary of that length, in ``share`` of the room; ``newest`` limits the tail."""
    room, tail = room_for(situation, aim, length, newest, share)
    request_room = None
    if aim.bar is not None:
        pinned = situation.weigh(
            message.id for message in situation.messages if message.id in situation.pins
        )
        below_bar = situation.sizes.sure * aim.bar - situation.sizes.fixed
        request_room = max(0.0, REQUEST_SHARE * below_bar - pinned - length)
    return keep(situation, room=room, tail=tail, request_room=request_room)


def committed(
    situation: Situation,
    kept: KeptMessages,
    leaving: Sequence[Message],
    *,
    text: str,
    rung: str = "",
    dropped: Sequence[DroppedMessage] = (),
    usage: Usage | None = None,
) -> CompactionCommitted:
    """The event that replaces ``leaving`` by ``text``; the text does not cover the messages in ``dropped``.

    ``usage`` is that of the call whose whole visible answer the text is.
    """
    aim = aim_of(situation)
    made = summary_message(
        situation, text, leaving, window=aim.window, longest=aim.summary, usage=usage
    )
    lost = {each.id for each in dropped}
    return CompactionCommitted(
        compaction=situation.compaction,
        summary=made.message,
        summarised=tuple(message.id for message in leaving if message.id not in lost),
        dropped=tuple(dropped),
        summary_tokens=made.tokens,
        rung=rung,
        replaced=kept.replaced,
        behind=place_behind(situation, leaving),
    )


def place_behind(situation: Situation, leaving: Sequence[Message]) -> str:
    """Id of the message that the summary stands behind, so that it stands where ``leaving`` stood; empty: in front."""
    if not situation.from_ or not leaving:
        return ""
    ids = [message.id for message in situation.messages]
    head = set(ids[: ids.index(leaving[0].id)])
    # The view holds results in the order in which their tools ended.
    last = ""
    for entry in situation.fold.view:
        if entry.id in head:
            last = entry.id
    return last
