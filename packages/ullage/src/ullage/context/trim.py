"""Cuts single messages that are too large: a huge result, a huge request, old images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ullage.context.budget import Aim, aim_of
from ullage.context.costs import count_images
from ullage.context.keeping import cut_unread, must_stay
from ullage.context.policy import (
    OVERSIZED,
    REQUEST_SHARE,
    UNREAD_RESULTS,
)
from ullage.context.proof import prove
from ullage.context.shorten import shortened, with_newest_media, without_media
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined, Proposal, Strategy, SummaryAnswer
from ullage.events import CompactionCommitted
from ullage.messages import Message


@dataclass(frozen=True, slots=True)
class Trim(Strategy):
    """Cuts large results to head, tail and a handle, and the newest request if necessary. If the request has too many
    bytes or images, a notice replaces old images and files.

    No message leaves: the ids stay, the revisions grow.
    """

    name: str = "trim"

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if situation.is_only_asked or situation.is_partial:
            return Declined("nothing_to_do", "A summary was asked for.")
        aim = aim_of(situation)
        changed = {message.id: message for message in _without_old_media(situation)}
        for message in situation.messages:
            cut = _trimmed(situation, aim, changed.get(message.id, message))
            if cut is not None:
                changed[message.id] = cut
        if not changed:
            return Declined("nothing_to_do", "No single message is too large.")
        event = CompactionCommitted(
            compaction=situation.compaction,
            rung=self.name,
            replaced=tuple(changed.values()),
        )
        verdict = prove(situation, event)
        could_leave = len(must_stay(situation)) < len(situation.messages)
        if (
            verdict.is_proved
            and verdict.after > aim.goal
            and could_leave
            and not situation.is_over_bytes
        ):
            return Declined(
                "above_point",
                f"It would leave {verdict.after:,} tokens, more than {aim.goal:,.0f}.",
            )
        return Candidate(event)


def _without_old_media(situation: Situation) -> Iterator[Message]:
    """Messages without their images and files, oldest first, until bytes and images fit."""
    if not (situation.is_over_bytes or situation.is_over_images):
        return
    stays = must_stay(situation)
    size = situation.all_bytes
    images = situation.images
    for message in situation.messages:
        enough_bytes = situation.bytes_limit is None or size <= situation.bytes_limit // 2
        enough_images = (
            situation.image_limit is None or images <= situation.image_limit // 2
        )
        if enough_bytes and enough_images:
            return
        if message is situation.request:
            over = 0 if situation.image_limit is None else images - situation.image_limit
            if over > 0 and message.id not in situation.pins:
                yield with_newest_media(message, max(0, count_images(message) - over))
            return
        bare = without_media(message)
        if message.id in stays or bare is message:
            continue
        size -= situation.bytes[message.id]
        images -= count_images(message)
        yield bare


def _trimmed(situation: Situation, aim: Aim, message: Message) -> Message | None:
    """The message cut to leave room for others; ``None`` if it is not too large or must not be cut."""
    limit = aim.limit or situation.sizes.used
    size = situation.weigh((message.id,))
    if message.id in situation.pins or size <= OVERSIZED * limit:
        return None
    room = max(0.0, aim.goal - situation.sizes.fixed)
    if message.role == "tool":
        most = UNREAD_RESULTS * room
    elif message is situation.request and aim.bar is not None:
        most = REQUEST_SHARE * (aim.bar - situation.sizes.fixed)
    else:
        return None
    if size <= most or most <= 0:
        return None
    ratio = situation.cost(message) / size
    return shortened(message, most * ratio, situation.cost, can_read=situation.can_read)


@dataclass(frozen=True, slots=True)
class CutUnread(Strategy):
    """Cuts the results that no model has read until the request fits: the last resort of whoever kept them whole."""

    name: str = "trim"

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        aim, sizes = aim_of(situation), situation.sizes
        limit = aim.goal if aim.limit is None else aim.limit
        cut = cut_unread(situation, sizes.sure * limit - sizes.fixed)
        if not cut:
            return Declined("nothing_to_do", "No result can be cut that is still unread.")
        event = CompactionCommitted(
            compaction=situation.compaction, rung=self.name, replaced=cut
        )
        return Candidate(event)
