"""The proof a change of the view has to pass before it is committed.

The change is made on a branch of the fold, so the result's ``after`` is the next reading.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.codec.repair import Repair, repair
from ullage.context.budget import Aim, aim_of
from ullage.context.costs import after as fold_after
from ullage.context.costs import count_images, size_bytes, sizes_of
from ullage.context.exchanges import in_view
from ullage.context.keeping import must_stay
from ullage.context.situation import Situation
from ullage.context.strategy import Reason
from ullage.events import CompactionCommitted, EpochChanged, Event, Pruned
from ullage.messages import (
    Message,
    Part,
    ReasoningPart,
    Request,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.fold import Fold
from ullage.meter.same_content import same_content
from ullage.meter.view import ContentLocation, Entry

PAIRING: Final = frozenset(
    {
        "missing_result",
        "moved_result",
        "extra_result",
        "misplaced",
        "partial_reasoning",
        "orphan_reasoning",
    }
)
"""Repairs that a compaction must not make necessary: they mean that a call lost its result or reasoning."""


WITH_MARKS: Final = frozenset({"messages"})
"""Wires whose requests mark where the provider's cache may end (``codec.blocks.CacheMarks``)."""


class ProofResult(NamedTuple):
    """``reason`` is empty where the change may be committed. All numbers are tokens of the reading.

    ``before`` and ``after`` are the reading's middle, ``high`` its upper end afterwards. ``rewritten`` is what the
    provider's cache has to store because of the change; ``lost`` the reasoning that stays in view and could no longer
    be sent.
    """

    reason: Reason | None
    note: str
    before: int
    after: int
    high: int
    rewritten: int = 0
    lost: int = 0

    @property
    def is_proved(self) -> bool:
        """Whether it may be committed."""
        return self.reason is None


def committing(
    situation: Situation,
    event: Pruned | CompactionCommitted,
    verdict: ProofResult,
    strategy: str,
) -> tuple[Event, ...]:
    """The events that make a proved change: itself, with the reading before and after it, and the new epoch."""
    epoch = EpochChanged(
        epoch=situation.epoch + 1,
        reason=strategy,
        rewritten=verdict.rewritten,
        reasoning_lost=verdict.lost,
    )
    return replace(event, before=verdict.before, after=verdict.after), epoch


def prove(
    situation: Situation,
    event: Pruned | CompactionCommitted,
    *,
    must_fit_only: bool = False,
    any_size: bool = False,
) -> ProofResult:
    """Whether the event may be committed, and the reading after it.

    ``must_fit_only`` waives the bar and the least saving: for the last resort if the request can't be sent. With
    ``any_size`` every smaller request is good enough: a person chose what leaves.
    """
    sizes = situation.sizes
    branch = fold_after(situation.fold, (event,))
    forecast = branch.forecast()
    rewritten = _rewritten(situation, branch)

    def verdict(reason: Reason | None, note: str = "") -> ProofResult:
        return ProofResult(
            reason,
            note,
            sizes.used,
            forecast.tokens,
            forecast.proven_high,
            rewritten,
            branch.reasoning_lost - situation.fold.reasoning_lost,
        )

    wrong = (
        _untouchable(situation, event)
        if isinstance(event, Pruned)
        else _unaccounted(situation, event, branch)
    )
    if wrong is not None:
        return verdict(*wrong)
    if any_size:
        is_smaller = forecast.tokens < sizes.used
        short = None if is_smaller else _Wrong("no_progress", "It would free nothing.")
    else:
        short = _too_large(
            situation,
            aim_of(situation),
            forecast.tokens,
            forecast.proven_high,
            must_fit_only=must_fit_only,
        ) or _over_limits(situation, branch)
    wrong = short or _torn_by(situation, branch)
    return verdict(*wrong) if wrong is not None else verdict(None)


def _rewritten(situation: Situation, branch: Fold) -> int:
    """Tokens that the next request stores in the cache because of the change: what was sent behind it, and new ones."""
    fold = situation.fold
    if _is_uncached(fold):
        return 0
    has_marks = fold.wire in WITH_MARKS and bool(fold.bound.sent)
    ended_at = branch.bound.was_sent(branch.prefix_head, branch.view)
    before = iter(fold.view)
    is_same = True
    behind: list[str] = []
    for entry, has_ended in zip(branch.view, ended_at, strict=True):
        old = next(before, None) if is_same else None
        is_same = old is not None and _place_of(old) == _place_of(entry)
        if has_ended or (is_same and not has_marks):
            behind.clear()
            continue
        is_new = entry.id not in fold.view.entries
        if is_new or fold.anchor is None or fold.is_anchored(entry):
            behind.append(entry.id)
    return round(sizes_of(branch).of(behind))


def _is_uncached(fold: Fold) -> bool:
    """Whether nothing was sent yet, or the provider said of the last request that it is in no cache."""
    if fold.anchor is None:
        return not fold.track.steps
    usage = fold.anchor.usage
    return usage.cache_write == 0 and not usage.cache_read


def _place_of(entry: Entry) -> tuple[str, ContentLocation]:
    """What a message in view is, and where in the ledger its present content is."""
    return entry.id, entry.facts.origin


class _Wrong(NamedTuple):
    reason: Reason
    note: str


def _untouchable(situation: Situation, event: Pruned) -> _Wrong | None:
    results = {
        part.id: message
        for message in situation.messages
        for part in message.of_type(ToolResultPart)
        if not part.cleared
    }
    if not event.parts:
        return _Wrong("nothing_to_do", "No result is named.")
    for part_id in event.parts:
        if part_id not in results:
            return _Wrong(
                "touched", f"{part_id} is not an uncleared tool result in view."
            )
        if results[part_id].id in situation.pins:
            return _Wrong(
                "touched", f"{part_id} is in the pinned message {results[part_id].id}."
            )
        if results[part_id].id in situation.unnamed:
            return _Wrong("touched", f"{part_id} is outside of the part that was named.")
    return None


def _unaccounted(
    situation: Situation, event: CompactionCommitted, branch: Fold
) -> _Wrong | None:
    before = {message.id: message for message in situation.messages}
    gone = [*event.summarised, *(dropped.id for dropped in event.dropped)]
    if len(set(gone)) != len(gone):
        return _Wrong("uncovered", "A message is named twice.")
    if not before.keys() >= set(gone):
        return _Wrong(
            "uncovered",
            f"Not in view: {', '.join(sorted(set(gone) - before.keys())[:3])}.",
        )
    if event.summarised and event.summary is None:
        return _Wrong(
            "uncovered",
            f"{len(event.summarised)} messages are listed as summarised without a summary.",
        )
    if any(not dropped.reason for dropped in event.dropped):
        return _Wrong("uncovered", "A message is dropped without a reason.")
    kept = before.keys() - set(gone)
    messages = in_view(entry.message for entry in branch.view)
    if [message.id for message in messages] != _expected_order(situation, event, kept):
        return _Wrong(
            "uncovered",
            "The kept messages, in their order, and the summary in its place are not the messages in view.",
        )
    stays = must_stay(situation)
    request = situation.request
    if request is not None and any(same_content(request, each) for each in event.added):
        stays.pop(request.id, None)
    if torn := sorted(stays.keys() & set(gone)):
        return _Wrong("touched", f"{torn[0]} must stay: {stays[torn[0]]}.")
    for message in event.replaced:
        is_fixed = bool(situation.from_) and message.id in situation.unnamed
        if (
            message.id not in kept
            or is_fixed
            or not _may_replace(before[message.id], message, situation.pins)
        ):
            return _Wrong("touched", f"{message.id} may not be changed in this way.")
    return None


def _expected_order(
    situation: Situation, event: CompactionCommitted, kept: AbstractSet[str]
) -> list[str]:
    """The messages afterwards: the summary of a part that goes on to the end stands there, any other in front.

    What was added is at the end.
    """
    order: list[str] = []
    place = 0
    is_leading = True
    for message in situation.messages:
        if situation.from_:
            is_leading = is_leading and message.id in kept
        else:
            is_leading = is_leading and message.role == "system"
        if message.id in kept:
            order.append(message.id)
            place += is_leading
    if event.summary is not None:
        order.insert(place, event.summary.id)
    return [*order, *(message.id for message in event.added)]


def _may_replace(
    old: Message,
    new: Message,
    pins: frozenset[str],
) -> bool:
    """Calls and reasoning stay as they are, results answer the same calls, pinned messages are not changed at all."""
    if old.id in pins or old.role != new.role or new.revision <= old.revision:
        return False
    return _fixed_content(old) == _fixed_content(new)


def _fixed_content(message: Message) -> tuple[list[Part], list[str]]:
    """The content of a message that no compaction changes: calls and reasoning, and the calls that results answer."""
    parts: list[Part] = [
        part for part in message.parts if isinstance(part, ToolCallPart | ReasoningPart)
    ]
    return parts, [part.call_id for part in message.of_type(ToolResultPart)]


def _too_large(
    situation: Situation, aim: Aim, tokens: int, high: int, *, must_fit_only: bool
) -> _Wrong | None:
    used = situation.sizes.used
    if aim.limit is not None and high > aim.limit:
        return _Wrong(
            "too_large",
            f"The result would be up to {high:,} tokens, and only {aim.limit:,} fit.",
        )
    if must_fit_only and aim.limit is not None:
        return None
    if aim.bar is not None and high >= aim.bar:
        return _Wrong(
            "above_point",
            f"The result would be up to {high:,} tokens, and has to be below {aim.bar:,.0f}.",
        )
    is_about_bytes = situation.is_over_bytes or situation.is_over_images
    if not is_about_bytes and used - tokens < aim.least:
        saved = f"save {used - tokens:,} tokens" if tokens < used else "save nothing"
        return _Wrong(
            "no_progress",
            f"The change would {saved}, and a compaction has to save {aim.least:,.0f} or more.",
        )
    return None


def _over_limits(situation: Situation, branch: Fold) -> _Wrong | None:
    """Whether the provider takes the result's bytes and images."""
    messages = in_view(entry.message for entry in branch.view)
    if situation.bytes_limit is not None:
        size = situation.fixed_bytes + sum(size_bytes(message) for message in messages)
        if size > situation.bytes_limit:
            return _Wrong(
                "bytes",
                f"It would have {size:,} bytes; at most {situation.bytes_limit:,} are accepted.",
            )
    if situation.image_limit is not None:
        images = sum(count_images(message) for message in messages)
        if images > situation.image_limit:
            return _Wrong(
                "images",
                f"It would have {images} images; at most {situation.image_limit} are accepted.",
            )
    return None


def _torn_by(situation: Situation, branch: Fold) -> _Wrong | None:
    """Whether the wire needs a repair of the result that it did not need before."""
    messages = in_view(entry.message for entry in branch.view)
    known = {
        (each.kind, each.message) for each in _torn(situation.fold, situation.messages)
    }
    for each in _torn(branch, messages):
        if (each.kind, each.message) not in known:
            return _Wrong(
                "invalid", f"The wire would need a repair at {each.message}: {each.what}."
            )
    return None


def _torn(fold: Fold, messages: tuple[Message, ...]) -> list[Repair]:
    request = Request(
        wire=fold.wire, model=fold.model, provider=fold.provider, messages=messages
    )
    return [each for each in repair(request).repairs if each.kind in PAIRING]
