"""What two sessions learnt about one model at the same time, in one state."""

from __future__ import annotations

from msgspec.structs import replace

from ullage.tokens.calibration import Learnt, learn_again
from ullage.tokens.regression import KeptObservation


def joined(stored: Learnt, mine: Learnt) -> Learnt:
    """``stored`` with all that ``mine`` saw beside it.

    Mostly one of them continued the other, and is the result. Otherwise ``stored`` learns again what only ``mine``
    saw, of which it keeps ``calibration.MEMORY`` observations at most.
    """
    if mine.binds != stored.binds:
        mine, stored = replace(mine, binds=True), replace(stored, binds=True)
    lacking, others = _beside(mine, stored), _beside(stored, mine)
    if not others:
        return mine if lacking or mine.n > stored.n else stored
    if not lacking:
        return stored
    state = stored
    for kept in lacking:
        state = learn_again(state, kept)
    share = len(lacking) / (stored.n + len(lacking))
    newer = stored if stored.n >= mine.n else mine
    return replace(
        state,
        before=stored.before + share * (mine.before - stored.before),
        after=stored.after + share * (mine.after - stored.after),
        flipped=newer.flipped,
        settled=tuple(dict.fromkeys((*stored.settled, *mine.settled))),
    )


def _beside(one: Learnt, other: Learnt) -> list[KeptObservation]:
    """The observations of one that the other lacks: what comes before all that both have, the other had and forgot."""
    known = {_identity(kept) for kept in other.known}
    has = [_identity(kept) in known for kept in one.known]
    first = has.index(True) if True in has else 0
    return [
        kept
        for kept, is_known in zip(one.known[first:], has[first:], strict=True)
        if not is_known
    ]


def _identity(kept: KeptObservation) -> tuple[object, ...]:
    """What tells observations apart. Not the residual: it changes when a rule is found to be reversed."""
    counted = (kept.content, kept.text_kinds, kept.results, kept.calls)
    return (*counted, kept.kind, kept.below, kept.above, kept.text)
