"""Takes what a person names out of the view: one result, an image, a message, or a stretch of them.

    surgery = planned(situation, ("m12.result", "m3..m9"))
    surgery.freed, surgery.cache_lost, surgery.usd      # before anything is done
    surgery.events                                      # to append, unless surgery.refused says why not

The change is one event, so that ``Uncompacted`` brings back the exact view before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import asdict, replace

from ullage.context.cache_prices import ChangePrice, price_of
from ullage.context.keeping import must_stay
from ullage.context.policy import NAME_SHOWN
from ullage.context.proof import committing, prove
from ullage.context.rendering import line_of
from ullage.context.situation import Situation
from ullage.events import CompactionCommitted, DroppedMessage, Event
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.rows import PartEstimate, largest
from ullage.meter.view import cleared
from ullage.similar import similar

AnyPart = TypeVar("AnyPart", bound=Part)

BY_PERSON: Final = "dropped by a person"

STRATEGY: Final = "surgery"
"""In the place of a strategy's name, in events."""

RESULT_NOTICE: Final = "[The user removed this result from the conversation.]"

STRETCH: Final = ".."
"""Between the first and the last message of a stretch."""


class Surgery(ChangePrice, frozen=True, kw_only=True):
    """What dropping these places does; all of it, or with ``refused`` nothing."""

    places: tuple[str, ...]
    label: str = ""
    """What it is, for a person: ``Read src/app.py``."""
    messages: tuple[str, ...] = ()
    """The messages that leave, or lose a part of their content."""
    refused: str = ""
    """Why it can't be done, and what can; empty where it can."""
    id: str = ""
    """Undoes it once it is done (``uncompact``); empty before."""


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
    changed = {each.id for each in event.dropped}
    changed.update(each.id for each in event.replaced)
    surgery = Surgery(
        **asdict(price_of(situation, verdict)),
        places=tuple(places),
        messages=tuple(each.id for each in situation.messages if each.id in changed),
        refused=verdict.note,
    )
    if verdict.lost > 0 and not (verdict.note or loses_reasoning):
        refused = (
            f"{verdict.lost:,} tokens of reasoning behind it would be lost: {situation.fold.model} accepts reasoning "
            "only behind the messages that it was written behind. Drop something newer, or allow that it is lost."
        )
        surgery = replace(surgery, refused=refused)
    if surgery.refused:
        return SurgeryPlan(surgery)
    return SurgeryPlan(surgery, committing(situation, event, verdict, STRATEGY))


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


class _Chosen(NamedTuple):
    """What the places stand for: ids of messages that leave whole, and of parts that leave a notice."""

    gone: AbstractSet[str]
    parts: AbstractSet[str]


def _chosen(situation: Situation, places: Sequence[str]) -> _Chosen:
    """Raises ``_Refused`` for a place that there is not."""
    messages = {message.id: message for message in situation.messages}
    known: set[str] = set()
    for message in situation.messages:
        known.update(_ids_in(message))
    gone, parts = set[str](), set[str]()
    for place in places:
        first, is_stretch, last = place.partition(STRETCH)
        if place in messages and messages[place].role == "tool":
            parts.update(part.id for part in messages[place].parts)
        elif place in known:
            parts.add(place)
        elif first in messages and (last in messages or not is_stretch):
            gone |= _stretch(situation, list(messages), first, last or first)
        else:
            meant = similar(place, [*messages, *known], cutoff=0.6)
            hint = f" Did you mean {meant}?" if meant else ""
            raise _Refused(
                f"There is no message or part {place[:NAME_SHOWN]!r} in view.{hint} Name the id of one, or a stretch "
                f"of messages as FIRST{STRETCH}LAST."
            )
    return _Chosen(gone, parts)


def _stretch(situation: Situation, ids: list[str], first: str, last: str) -> set[str]:
    """All exchanges from that of the first message to that of the last."""
    named = set(ids[ids.index(first) : ids.index(last) + 1])
    if not named:
        raise _Refused(
            f"{last} stands before {first}. Name the earlier message first: {last}{STRETCH}{first}."
        )
    found: set[str] = set()
    for exchange in situation.exchanges:
        if not named.isdisjoint(exchange.ids):
            found.update(exchange.ids)
    return found


def _event(situation: Situation, places: Sequence[str]) -> CompactionCommitted:
    """The change, unproved. Raises ``_Refused``."""
    if not places:
        raise _Refused("No place is named. Name the id of a message or part.")
    gone, parts = _chosen(situation, places)
    stays = must_stay(situation)
    dropped: list[DroppedMessage] = []
    replaced: list[Message] = []
    for message in situation.messages:
        why = stays.get(message.id, "")
        is_kept = why in ("system prompt", "pinned")
        if message.id in gone:
            is_kept = bool(why)
            dropped.append(DroppedMessage(id=message.id, reason=BY_PERSON))
        elif parts.isdisjoint(_ids_in(message)):
            continue
        else:
            if why == "latest request":
                texts = message.of_type(TextPart)
                is_kept = any(part.id in parts for part in texts)
            if not is_kept:
                replaced.append(_without(message, parts))
        if is_kept:
            raise _Refused(f"{message.id} must stay: {_WHY.get(why, why)}.")
    return CompactionCommitted(
        compaction=situation.compaction,
        rung=STRATEGY,
        dropped=tuple(dropped),
        replaced=tuple(replaced),
    )


_WHY: Final = {
    "system prompt": "it is part of the system prompt",
    "pinned": "it is pinned; unpin it first",
    "latest request": "it is the newest request; rewind to leave it out",
    "open call": "a call in it waits for its result",
}


def _ids_in(message: Message) -> Iterator[str]:
    """Of the parts of a message, and of what its results hold."""
    for part in message.parts:
        yield part.id
        if isinstance(part, ToolResultPart):
            yield from (inner.id for inner in part.content)


def _without(message: Message, wanted: AbstractSet[str]) -> Message:
    """The message with notices in the place of these parts. Raises ``_Refused`` for one that can't go alone."""
    parts: list[Part] = []
    for old, part in zip(
        message.parts, cleared(message, wanted, RESULT_NOTICE).parts, strict=True
    ):
        if isinstance(old, ToolResultPart) and isinstance(part, ToolResultPart):
            if old.cleared and old.id in wanted:
                raise _Refused(f"{part.id} has left the view already.")
            content = tuple(_notice(inner, wanted) for inner in part.content)
            parts.append(replace(part, content=content))
        else:
            notice = _notice(part, wanted)
            if notice is part and part.id in wanted:
                what = "a call" if isinstance(part, ToolCallPart) else "reasoning"
                raise _Refused(
                    f"{part.id} is {what}, which can't go alone. Drop its whole message: {message.id}."
                )
            parts.append(notice)
    return replace(message, revision=message.revision + 1, parts=tuple(parts))


def _notice(part: AnyPart, wanted: AbstractSet[str]) -> AnyPart | TextPart:
    """A notice for a wanted part that can go alone; any other part as it is."""
    if part.id not in wanted or not isinstance(part, TextPart | ImagePart | FilePart):
        return part
    kind = type(part).__name__.removesuffix("Part").lower()
    text = f"[The user removed this {kind} from the conversation.]"
    return TextPart(id=part.id, text=text, revision=part.revision + 1)
