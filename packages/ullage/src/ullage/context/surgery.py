"""Takes what a person names out of the view: one result, an image, a message, or a stretch of them.

    surgery = planned(situation, ("m12.result", "m3..m9"))
    surgery.freed, surgery.cache_lost, surgery.usd      # before anything is done
    surgery.events                                      # to append, unless surgery.refused says why not

The change is one event, so that ``Uncompacted`` brings back the exact view before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.context.cache_prices import price_of
from ullage.context.keeping import must_stay
from ullage.context.policy import NAME_SHOWN
from ullage.context.proof import ProofResult, prove
from ullage.context.rendering import line_of
from ullage.context.situation import Situation
from ullage.events import (
    CompactionCommitted,
    DroppedMessage,
    EpochChanged,
    Event,
    Pruned,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ResultContent,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.rows import PartEstimate, largest
from ullage.meter.view import cleared
from ullage.similar import similar

BY_PERSON: Final = "dropped by a person"

STRATEGY: Final = "surgery"
"""In the place of a strategy's name, in events."""

RESULT_NOTICE: Final = "[The user removed this result from the conversation.]"

STRETCH: Final = ".."
"""Between the first and the last message of a stretch."""


class Surgery(msgspec.Struct, frozen=True, kw_only=True):
    """What dropping these places does, in tokens and US dollars; all of it, or with ``refused`` nothing.

    ``freed`` is what the next request is smaller by. ``cache_lost`` is what the provider's cache has to store again for
    it, which costs ``usd`` once; each later call saves ``saves_usd``. Both are ``None`` where the model's prices are
    unknown.
    """

    places: tuple[str, ...]
    label: str = ""
    """What it is, for a person: ``Read src/app.py``."""
    messages: tuple[str, ...] = ()
    """The messages that leave, or lose a part of their content."""
    before: int = 0
    after: int = 0
    cache_lost: int = 0
    usd: float | None = None
    saves_usd: float | None = None
    reasoning_lost: int = 0
    """Reasoning behind the cut that the model would no longer accept."""
    refused: str = ""
    """Why it can't be done, and what can; empty where it can."""
    id: str = ""
    """Undoes it once it is done (``uncompact``); empty before."""
    freed: int = 0


class SurgeryPlan(NamedTuple):
    """What is shown to a person, and the events that do it: none where it is refused."""

    surgery: Surgery
    events: tuple[Event, ...] = ()


class _Refused(Exception):
    """A place can't be dropped, and the reason."""


def planned(
    situation: Situation, places: Sequence[str], *, loses_reasoning: bool = False
) -> SurgeryPlan:
    """What dropping these places does, and how.

    Args:
        situation: The session; its ``compaction`` names the change.
        places: Ids of messages or parts, or ``FIRST..LAST`` for a stretch of messages.
        loses_reasoning: Whether reasoning behind the cut may get lost.
    """
    try:
        event = _event(situation, places)
    except _Refused as problem:
        return SurgeryPlan(Surgery(places=tuple(places), refused=str(problem)))
    verdict = prove(situation, event, any_size=True)
    price = price_of(situation, verdict)
    surgery = Surgery(
        places=tuple(places),
        messages=tuple(_touched(situation, event)),
        before=verdict.before,
        after=verdict.after,
        freed=verdict.before - verdict.after,
        cache_lost=verdict.rewritten,
        usd=price.usd,
        saves_usd=price.saves_usd,
        reasoning_lost=verdict.lost,
    )
    if refused := _refusal(situation, verdict, loses_reasoning=loses_reasoning):
        return SurgeryPlan(replace(surgery, refused=refused))
    epoch = EpochChanged(
        epoch=situation.epoch + 1,
        reason=STRATEGY,
        rewritten=verdict.rewritten,
        reasoning_lost=verdict.lost,
    )
    counted = replace(event, before=verdict.before, after=verdict.after)
    return SurgeryPlan(surgery, (counted, epoch))


def droppable(situation: Situation, count: int) -> tuple[Surgery, ...]:
    """What dropping each of the largest parts would do, the largest first.

    A tool call or reasoning goes with its whole message. Goes through the view for each of them.
    """
    found: dict[str, Surgery] = {}
    for part in largest(situation.fold, count):
        place = _place_of(situation, part)
        if part.tokens > 0 and place not in found:
            surgery = planned(situation, (place,)).surgery
            message = situation.fold.view.entries[part.message].message
            is_named = " " in part.label  # by what it was about, beside its tool
            label = part.label if is_named else line_of(message)
            found[place] = replace(surgery, label=label)
    return tuple(sorted(found.values(), key=lambda each: -each.freed))


def _place_of(situation: Situation, largest: PartEstimate) -> str:
    for part in situation.fold.view.entries[largest.message].message.parts:
        if part.id == largest.part and isinstance(part, _SINGLE):
            return part.id
    return largest.message


_SINGLE: Final = (ToolResultPart, TextPart, ImagePart, FilePart)
"""Parts that can go alone, with a notice in their place."""


def _refusal(situation: Situation, verdict: ProofResult, *, loses_reasoning: bool) -> str:
    if verdict.reason is not None:
        return verdict.note
    if verdict.lost <= 0 or loses_reasoning:
        return ""
    return (
        f"{verdict.lost:,} tokens of reasoning behind it would be lost: {situation.fold.model} accepts reasoning only "
        "behind the messages that it was written behind. Drop something newer, or allow that it is lost."
    )


class _Chosen:
    """What the places stand for: messages that leave whole, and parts to be replaced, by their message."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.gone: dict[str, None] = {}
        self.parts: dict[str, list[str]] = {}
        self._messages = {message.id: message for message in situation.messages}
        self._holders: dict[str, Message] = {}
        for message in situation.messages:
            for part in message.parts:
                self._holders[part.id] = message
                if isinstance(part, ToolResultPart):
                    self._holders |= {inner.id: message for inner in part.content}

    def take(self, place: str) -> None:
        """Add a place. Raises ``_Refused`` for one that there is not."""
        message = self._messages.get(place)
        if message is not None and message.role == "tool":
            self.parts.setdefault(place, []).extend(part.id for part in message.parts)
        elif message is not None:
            self._take_stretch(place, place)
        elif place in self._holders:
            self.parts.setdefault(self._holders[place].id, []).append(place)
        else:
            first, _, last = place.partition(STRETCH)
            if first not in self._messages or last not in self._messages:
                raise _Refused(self._unknown(place))
            self._take_stretch(first, last)

    def _take_stretch(self, first: str, last: str) -> None:
        """All exchanges from that of the first message to that of the last."""
        is_inside = False
        for exchange in self.situation.exchanges:
            is_inside = is_inside or first in exchange.ids
            if is_inside:
                self.gone |= dict.fromkeys(exchange.ids)
            if last in exchange.ids:
                if not is_inside:
                    raise _Refused(
                        f"{last} stands before {first}. Name the earlier message first: {last}{STRETCH}{first}."
                    )
                return

    def _unknown(self, place: str) -> str:
        meant = similar(place, [*self._messages, *self._holders], cutoff=0.6)
        hint = f" Did you mean {meant}?" if meant else ""
        return (
            f"There is no message or part {place[:NAME_SHOWN]!r} in view.{hint} Name the id of one, or a stretch of "
            f"messages as FIRST{STRETCH}LAST."
        )


def _event(situation: Situation, places: Sequence[str]) -> Pruned | CompactionCommitted:
    """The change, unproved. Raises ``_Refused``."""
    if not places:
        raise _Refused("No place is named. Name the id of a message or part.")
    chosen = _Chosen(situation)
    for place in places:
        chosen.take(place)
    stays = must_stay(situation)
    for name in chosen.gone:
        if name in stays:
            raise _Refused(f"{name} must stay: {_WHY.get(stays[name], stays[name])}.")
    replaced: list[Message] = []
    results: list[str] = []
    for message in situation.messages:
        if message.id in chosen.parts and message.id not in chosen.gone:
            wanted = chosen.parts[message.id]
            why = stays.get(message.id, "")
            is_request = why == "latest request" and any(
                part.id in wanted for part in message.of_type(TextPart)
            )
            if is_request or why in ("system prompt", "pinned"):
                raise _Refused(f"{message.id} must stay as it is: {_WHY[why]}.")
            results += [part.id for part in _results(message) if part.id in wanted]
            replaced.append(_without(message, wanted))
    if not chosen.gone and len(results) == sum(map(len, chosen.parts.values())):
        return Pruned(
            parts=tuple(results),
            reason=BY_PERSON,
            notice=RESULT_NOTICE,
            prune=situation.compaction,
        )
    return CompactionCommitted(
        compaction=situation.compaction,
        rung=STRATEGY,
        dropped=tuple(DroppedMessage(id=name, reason=BY_PERSON) for name in chosen.gone),
        replaced=tuple(replaced),
    )


_WHY: Final = {
    "system prompt": "it is part of the system prompt",
    "pinned": "it is pinned; unpin it first",
    "latest request": "it is the newest request; rewind to leave it out",
    "open call": "a call in it waits for its result",
}


def _results(message: Message) -> Iterator[ToolResultPart]:
    return (part for part in message.of_type(ToolResultPart) if not part.cleared)


def _without(message: Message, wanted: Sequence[str]) -> Message:
    """The message with notices in the place of these parts. Raises ``_Refused`` for one that can't go alone."""
    whole = [part.id for part in _results(message) if part.id in wanted]
    changed = cleared(message, whole, RESULT_NOTICE)
    parts: list[Part] = []
    for part in changed.parts:
        if part.id not in wanted or part.id in whole:
            parts.append(_without_inner(part, wanted))
        elif isinstance(part, ToolResultPart):
            raise _Refused(f"{part.id} has left the view already.")
        elif isinstance(part, TextPart | ImagePart | FilePart):
            parts.append(_notice(part))
        else:
            what = "a call" if isinstance(part, ToolCallPart) else "reasoning"
            raise _Refused(
                f"{part.id} is {what}, which can't go alone. Drop its whole message: {message.id}."
            )
    return replace(changed, parts=tuple(parts))


def _without_inner(part: Part, wanted: Sequence[str]) -> Part:
    """A result without these of its images, files and texts."""
    if not isinstance(part, ToolResultPart):
        return part
    content: list[ResultContent] = []
    for inner in part.content:
        if inner.id in wanted and isinstance(inner, TextPart | ImagePart | FilePart):
            content.append(_notice(inner))
        else:
            content.append(inner)
    return replace(part, content=tuple(content))


def _notice(part: TextPart | ImagePart | FilePart) -> TextPart:
    kind = type(part).__name__.removesuffix("Part").lower()
    text = f"[The user removed this {kind} from the conversation.]"
    return TextPart(id=part.id, text=text, revision=part.revision + 1)


def _touched(situation: Situation, event: Pruned | CompactionCommitted) -> Iterator[str]:
    """Ids of the messages that the event removes or changes, in order."""
    if isinstance(event, Pruned):
        named = set(situation.fold.view.holders(event.parts))
    else:
        named = {each.id for each in event.dropped}
        named.update(each.id for each in event.replaced)
    return (message.id for message in situation.messages if message.id in named)
