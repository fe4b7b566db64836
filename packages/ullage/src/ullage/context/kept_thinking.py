"""Plans a compaction by the provider behind which the thinking of the answers that stay is still valid.

The conditions are those of https://platform.claude.com/docs/en/build-with-claude/compaction-thinking-blocks: what stays
follows directly on what was summarised, unchanged, begins with another speaker and with no system message, and nothing
is put between the provider's block and it. So the front of the view leaves in one piece. What the summary does not
hold word for word stands at the end of the view, where no thinking is behind it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.context.budget import aim_of
from ullage.context.exchanges import HistoryExchange
from ullage.context.keeping import KeptMessages, must_stay
from ullage.context.kept_texts import copies
from ullage.context.plan import SHARES, Plan, committed, room_for
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.context.summary_message import summary_id
from ullage.events import CompactionCommitted
from ullage.messages import (
    COMPACTION,
    Message,
    ProviderData,
    ProviderItem,
    TextPart,
    ToolCallPart,
)

REPEATED: Final = (
    "The last request, which the summary at the beginning covers, stands once more at the end of this message, word "
    "for word. It is the same request, and not a new one."
)


def plan_with_thinking(situation: Situation) -> Plan | None:
    """The plan that keeps the newest part of the view with its thinking; ``None`` where there is none of it to keep."""
    return situation.once(plan_with_thinking, lambda: _best_plan(situation))


def _best_plan(situation: Situation) -> Plan | None:
    if not binds(situation) or situation.from_:
        return None
    thinking = situation.fold.reasoning.sent(situation.fold.policy).keys()
    for share in SHARES:
        place = _boundary(situation, share)
        if place is None:
            return None
        plan = _plan(situation, place)
        if thinking.isdisjoint(plan.kept.why):
            return None
        if plan.verdict.is_proved:
            return None if plan.verdict.lost else plan
    return None


def binds(situation: Situation) -> bool:
    """Whether the session's model refuses thinking behind a changed prefix."""
    binding = situation.fold.binding
    return binding is not None and binding.refuses


def _boundary(situation: Situation, share: float) -> int | None:
    """The first exchange that stays: as many of the newest as a plan keeps, all that must stay, and the last request.

    A request too far back leaves, and is repeated.
    """
    groups = situation.exchanges
    stays = must_stay(situation)
    request = situation.request
    if request is not None and may_repeat(situation) and not situation.up_to:
        stays.pop(request.id, None)
    last = _first_of(groups, stays)
    places: list[int] = []
    for place in range(1, last + 1):
        if _may_begin(groups, place) and (place == last or not situation.up_to):
            places.append(place)
    if not places:
        return None
    behind = _sizes_from(situation, groups)
    aim = aim_of(situation)
    keep = situation.rules.keep
    room, tail = room_for(situation, aim, aim.summary, keep, share)
    chosen = places[-1]
    for place in reversed(places):
        if behind[place] <= tail:
            chosen = place
        is_of_request = request is not None and request.id in groups[place].ids
        if is_of_request and behind[place] <= room:
            chosen = place
    fits = behind[chosen] <= room or bool(situation.up_to)
    return chosen if fits else None


def _first_of(groups: Sequence[HistoryExchange], ids: Container[str]) -> int:
    """The first exchange with one of these messages; the last without any."""
    for place, exchange in enumerate(groups):
        if any(name in ids for name in exchange.ids):
            return place
    return len(groups) - 1


def _sizes_from(situation: Situation, groups: Sequence[HistoryExchange]) -> list[float]:
    """By exchange, the weight of it and all behind it."""
    sizes: list[float] = []
    total = 0.0
    for exchange in reversed(groups):
        total += situation.weigh(exchange.ids)
        sizes.append(total)
    sizes.reverse()
    return sizes


def _may_begin(groups: Sequence[HistoryExchange], place: int) -> bool:
    """Whether what stays may begin with this exchange: the API would join it to a neighbour of the same speaker."""
    left = groups[place - 1].messages[-1]
    first = groups[place].messages[0]
    if first.role == "system":
        return False
    was_answer = left.role == "assistant"
    is_answer = first.role == "assistant"
    return was_answer != is_answer


def _plan(situation: Situation, place: int) -> Plan:
    why: dict[str, str] = {}
    for exchange in situation.exchanges[place:]:
        why |= dict.fromkeys(exchange.ids, "newest part")
    kept = KeptMessages(why, (), situation.weigh(why))
    leaving: list[Message] = []
    for message in situation.messages:
        if message.id not in why:
            leaving.append(message)
    # in the place of the provider's block, with as many tokens as it may have
    wire = situation.fold.wire
    data = ProviderData(data=msgspec.Raw(b"{}"), provider="", wire=wire)
    name = summary_id(situation.compaction)
    block = ProviderItem(id=f"{name}.0", kind=COMPACTION, provider=data)
    event = _with_block(situation, kept, leaving, (block,))
    whole = replace(event, summary_tokens=round(aim_of(situation).summary))
    verdict = prove(situation, whole)
    return Plan(kept, tuple(leaving), verdict)


def with_block(
    situation: Situation, plan: Plan, items: tuple[ProviderItem, ...], *, strategy: str
) -> CompactionCommitted:
    """The event that puts these items of the provider alone in the place of what leaves, and the rest at the end."""
    event = _with_block(situation, plan.kept, plan.leaving, items)
    return replace(event, rung=strategy)


def _with_block(
    situation: Situation,
    kept: KeptMessages,
    leaving: Sequence[Message],
    items: tuple[ProviderItem, ...],
) -> CompactionCommitted:
    event = committed(situation, kept, leaving, text="")
    name = summary_id(situation.compaction)
    summary = Message(id=name, role="user", origin="summary", parts=items)
    event = replace(event, summary=summary, added=_repeated(situation, leaving))
    return with_texts(
        situation, event, copies_beside(situation, leaving, items, notice_id(situation))
    )


def copies_beside(
    situation: Situation,
    leaving: Sequence[Message],
    items: Iterable[ProviderItem],
    message: str,
) -> tuple[TextPart, ...]:
    """The parts of ``message`` with what code keeps and the provider's items don't hold word for word."""
    held = "\n".join(item.text for item in items)
    window = aim_of(situation).window
    return copies(situation, leaving, message, window=window, held=held)


def may_repeat(situation: Situation) -> bool:
    """Whether the last request may be repeated behind what stays: while it is worked on, and has no answer yet."""
    last = situation.messages[-1]
    request = situation.request
    if request is None or request.id in situation.pins:
        return False
    calls = next(last.of_type(ToolCallPart), None)
    return last.role != "assistant" or calls is not None


def _repeated(situation: Situation, leaving: Iterable[Message]) -> tuple[Message, ...]:
    request = situation.request
    if request is None or all(each.id != request.id for each in leaving):
        return ()
    name = notice_id(situation)
    notice = TextPart(id=f"{name}.prefix", text=REPEATED)
    return (
        Message(id=name, role="user", origin="summary", parts=(notice,)),
        replace(request, id=f"{situation.compaction}.request"),
    )


def notice_id(situation: Situation) -> str:
    """Id of the message at the end of the view with what the provider's summary does not hold word for word."""
    return f"{situation.compaction}.added"


def with_texts(
    situation: Situation, event: CompactionCommitted, texts: Sequence[TextPart]
) -> CompactionCommitted:
    """The event with these texts in the message at the end of the view."""
    if not texts:
        return event
    name = notice_id(situation)
    added = list(event.added)
    if not added or added[0].id != name:
        added.insert(0, Message(id=name, role="user", origin="summary", parts=()))
    added[0] = replace(added[0], parts=(*added[0].parts, *texts))
    return replace(event, added=tuple(added))


def has_block_alone(situation: Situation, event: CompactionCommitted) -> bool:
    """Whether a provider's block stands alone in front of what stays, so that nothing may be added to it."""
    parts = () if event.summary is None else event.summary.parts
    if len(parts) != 1 or not binds(situation):
        return False
    return isinstance(parts[0], ProviderItem) and parts[0].kind == COMPACTION
