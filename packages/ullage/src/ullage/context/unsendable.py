"""The error for a request that can't be sent and that no strategy could make smaller, with the true reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ullage.context.budget import aim_of
from ullage.context.drop import least
from ullage.context.keeping import KeptMessages
from ullage.context.policy import DECLARED_AT_MOST, LARGEST_NAMED, LONGEST_NOTE
from ullage.context.situation import Situation
from ullage.context.strategy import Reason
from ullage.errors import ContextUnfixable
from ullage.meter.fold import Fold

LAST_RESORT: Final = "drop"
"""The strategy that leaves out whatever may go: where it failed, no other choice of strategies would help."""


class FailedStrategy(NamedTuple):
    """A strategy that was tried without success, and the reason."""

    name: str
    reason: Reason
    note: str


def unsendable(
    situation: Situation, failures: Sequence[FailedStrategy]
) -> ContextUnfixable | None:
    """The error after these strategies have failed; ``None`` if the request can be sent as it is."""
    aim, sizes = aim_of(situation), situation.sizes
    limit = aim.limit if aim.limit is not None else sizes.used
    excess = _excess(situation, aim.limit)
    if not excess:
        return None
    kept = least(situation)
    needed = round((sizes.fixed + kept.tokens) / sizes.sure)
    largest = _largest(situation, kept)
    if needed > limit:
        parts = ", ".join(f"{name} {tokens:,}" for name, tokens in largest)
        message = (
            f"The content that must stay needs up to {needed:,} tokens, but only {limit:,} fit: {parts}. Unpin "
            "something, shorten the system prompt, offer fewer tools, or use a model with a larger window."
        )
    else:
        needed = max(sizes.high, needed)
        message = f"{excess} {_reasons(failures)} {_advice(failures)}"
    return ContextUnfixable(message, needed=needed, limit=limit, largest=largest)


def confirmed_high(fold: Fold) -> int:
    """The reading's upper end, or less where nothing has confirmed it: then the provider says whether the request fits.

    Of a surprising report that no second one has confirmed it is the lower end; of a count, no more than the
    estimate's upper end.
    """
    forecast = fold.forecast()
    if fold.anchor is not None and fold.anchor.beyond < 0:
        return forecast.low
    if fold.counted is None:
        return forecast.proven_high
    return min(forecast.proven_high, fold.estimate().high)


def _excess(situation: Situation, limit: int | None) -> str:
    """A sentence about what the request has too much of; empty if it can be sent."""
    high = confirmed_high(situation.fold)
    if limit is not None and high > limit:
        return f"The request needs up to {high:,} tokens, and {limit:,} fit."
    if situation.is_over_bytes:
        size = situation.all_bytes
        return f"The request has {size:,} bytes, and {situation.bytes_limit:,} fit."
    if situation.is_over_images:
        return (
            f"The request has {situation.images:,} images and files, and "
            f"{situation.image_limit:,} fit."
        )
    return ""


def _reasons(failures: Sequence[FailedStrategy]) -> str:
    """What was tried and why it did not help."""
    names: list[str] = []
    reasons: list[str] = []
    for failure in failures:
        names.append(failure.name)
        if failure.reason != "nothing_to_do":
            reasons.append(_reason(failure))
    if not reasons:
        return f"The chosen strategies ({', '.join(names)}) found nothing to do."
    return f"No chosen strategy made it smaller: {'; '.join(reasons)}."


def _reason(failure: FailedStrategy) -> str:
    note = failure.note.rstrip(". ")[:LONGEST_NOTE]
    return f"{failure.name} ({note or failure.reason})"


def _advice(failures: Sequence[FailedStrategy]) -> str:
    if any(failure.name == LAST_RESORT for failure in failures):
        return "Use a model with a larger window, or begin a new session."
    return (
        "Choose further strategies in the setting `strategy` (hybrid has all), use a model with a larger window, or "
        "begin a new session."
    )


def _largest(situation: Situation, kept: KeptMessages) -> tuple[tuple[str, int], ...]:
    """What takes most of what must stay, with its tokens."""
    sizes = situation.sizes
    named = list(_named_fixed(situation.fold, sizes.fixed))
    for name, why in kept.why.items():
        named.append((f"{name} ({why})", round(sizes.each.get(name, 0.0))))
    named.sort(key=lambda entry: -entry[1])
    return tuple(named[:LARGEST_NAMED])


def _named_fixed(fold: Fold, fixed: float) -> Iterator[tuple[str, int]]:
    """What no message holds: the system prompt and the tools, and what nothing but the provider's number holds."""
    declared = fixed if fold.missing else min(fixed, DECLARED_AT_MOST * fold.fixed.tokens)
    yield "system prompt and tools", round(declared)
    if fixed > declared:
        source = "counted" if fold.anchor is None else "reported"
        yield f"{source} by the provider and not in the session", round(fixed - declared)
