"""The last resort: drops the oldest exchanges, each with a reason, and leaves an omission notice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ullage.context.budget import Aim, aim_of
from ullage.context.keeping import KeptMessages, keep
from ullage.context.plan import SHARES, kept_for, place_behind
from ullage.context.policy import DROP_MARGIN
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined, Proposal, Strategy, SummaryAnswer
from ullage.context.summary_message import summary_message
from ullage.events import CompactionCommitted, DroppedMessage
from ullage.messages import Message

OLDEST: Final = "oldest of what may leave, dropped to make room"


@dataclass(frozen=True, slots=True)
class DropOldest(Strategy):
    """Drops the oldest exchanges until the rest fits, if necessary all that may leave. Needs no model call.

    What code copies of them stays if there is room for it.
    """

    name: str = "drop"

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if situation.is_only_asked:
            return Declined("nothing_to_do", "The request fits, so nothing is dropped.")
        aim = aim_of(situation)
        best: Candidate | None = None
        newest = situation.rules.keep_unread
        for share in SHARES:
            event = _dropping(
                situation,
                aim,
                kept_for(situation, aim, 0.0, newest, share),
                with_note=True,
            )
            if event is None:
                continue
            best = Candidate(event)
            if prove(situation, event).is_proved:
                return best
        fits_only = situation.is_urgent
        for with_note in (True, False):
            event = _dropping(situation, aim, least(situation), with_note=with_note)
            if event is None:
                break
            best = Candidate(event)
            if prove(situation, event, must_fit_only=fits_only).is_proved:
                break
        return best or Declined("nothing_to_do", "Every message has to stay as it is.")


def least(situation: Situation) -> KeptMessages:
    """The messages that must stay, with the newest request cut to head and tail if it is too large."""
    aim = aim_of(situation)
    limit = aim.limit if aim.limit is not None else aim.bar
    if limit is None:
        return keep(situation, room=0.0, tail=0.0)
    request = {situation.request.id} if situation.request is not None else set()
    stays = keep(situation, room=0.0, tail=0.0)
    others = situation.weigh(stays.why.keys() - request)
    # The limit applies to the reading's upper end, so an uncertain reading leaves the request less room.
    room = DROP_MARGIN * (situation.sizes.sure * limit - situation.sizes.fixed - others)
    if situation.is_over_bytes:
        room = min(room, 0.5 * situation.sizes.messages - others)
    return keep(situation, room=0.0, tail=0.0, request_room=max(room, 1.0))


def _dropping(
    situation: Situation, aim: Aim, kept: KeptMessages, *, with_note: bool
) -> CompactionCommitted | None:
    """The event; ``None`` if nothing would change."""
    leaving = tuple(
        message for message in situation.messages if message.id not in kept.why
    )
    if not leaving and not kept.replaced:
        return None
    dropped = tuple(DroppedMessage(id=message.id, reason=OLDEST) for message in leaving)
    note = _note(situation, aim, leaving) if with_note and leaving else None
    return CompactionCommitted(
        compaction=situation.compaction,
        summary=note,
        dropped=dropped,
        rung="drop",
        replaced=kept.replaced,
        behind=place_behind(situation, leaving) if note is not None else "",
    )


def _note(situation: Situation, aim: Aim, leaving: Sequence[Message]) -> Message | None:
    text = f"{len(leaving)} earlier messages were left out here, without a summary."
    made = summary_message(situation, text, leaving, window=aim.window).message
    only_new = [message for message in leaving if message.origin != "summary"]
    _prefix, *copied, _text = made.parts
    return made if only_new or copied else None
