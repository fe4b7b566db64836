"""Opens a session: the folds from the last checkpoint, the events behind it, and what carrying out its steps needs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from ullage.agent.loop import Loop, apply
from ullage.agent.memory import LoopMemory, remember
from ullage.errors import UnreadableInput
from ullage.events import Event
from ullage.meter import snapshot
from ullage.meter.meter import Meter
from ullage.runtime.compactions import Compactions
from ullage.runtime.hooks import Hook
from ullage.runtime.ledger import Ledger
from ullage.runtime.work import Shared, Work
from ullage.store.store import Checkpoint, Store

log = logging.getLogger("ullage.runtime")

MADE_BY: Final = f"runtime-2 {snapshot.MADE_BY}"
"""Names the code that can read a session's checkpoint. Raised when ``Loop`` or ``LoopMemory`` fold otherwise."""


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The two small folds of a checkpoint; the meter's stands behind them."""

    loop: Loop
    memory: LoopMemory


_of_stored: Final = msgspec.json.Decoder(_Stored)


def pack(loop: Loop, memory: LoopMemory, meter: bytes) -> bytes:
    """The three folds as bytes. The small ones are JSON, as they hold JSON of providers."""
    small = msgspec.json.encode(_Stored(loop=loop, memory=memory))
    return len(small).to_bytes(4) + small + meter


class Folds(NamedTuple):
    """What a session's events come to. ``covered`` is the event up to which a checkpoint stands."""

    meter: Meter
    loop: Loop
    memory: LoopMemory
    covered: int


async def opened(shared: Shared, session: str) -> Work:
    """The session as the ledger has it. Raises ``SessionNotFound``, ``StoreUnavailable``, ``SettingError``."""
    folds = await folded(shared.store, session, estimator=shared.resolve({}).settings.estimator)
    if damaged := folds.loop.damaged:
        rows = ", ".join(f"{seq:,}" for seq in damaged)
        log.warning("Events of the session %s can't be read and are left out: %s.", session, rows)
    settings = shared.resolve(folds.loop.settings).settings
    ledger = Ledger(shared.store, session, folds.meter, folds.loop)
    work = Work(
        shared=shared,
        ledger=ledger,
        settings=settings,
        tools=shared.tools(settings),
        memory=folds.memory,
        checkpointed=folds.covered,
        compactions=Compactions(strategies=shared.strategies),
    )
    ledger.listeners.append(work.note)
    if shared.hooks:
        ledger.listeners.append(partial(_tell, shared.hooks, ledger))
    return work


def _tell(hooks: Sequence[Hook], ledger: Ledger, event: Event) -> None:
    """Tell the hooks what was stored while the session is driven from here; none of them can break the folding."""
    if ledger.lease is None:
        return
    for hook in hooks:
        try:
            hook.on_event(event)
        except Exception:
            log.exception("A hook failed at an event of the session %s", ledger.session)


async def folded(store: Store, session: str, *, estimator: str | Callable[[str], float] = "auto") -> Folds:
    """All three folds of a session, from its checkpoint where there is one that this code can read."""
    folds = await _from_checkpoint(store, session, estimator)
    if folds is None:
        folds = Folds(Meter(estimator=estimator, session=session), Loop(), LoopMemory(), 0)
    meter, loop, memory, covered = folds
    for event in await store.read(session, after=covered):
        meter.apply(event)
        loop = apply(loop, event)
        memory = remember(memory, event)
    return Folds(meter, loop, memory, covered)


async def _from_checkpoint(store: Store, session: str, estimator: str | Callable[[str], float]) -> Folds | None:
    kept = await store.checkpoint(session, MADE_BY)
    if kept is None:
        return None
    try:
        end = 4 + int.from_bytes(kept.data[:4])
        stored = _of_stored.decode(kept.data[4:end])
        meter = Meter.restore(kept.data[end:], ledger=partial(store.read_now, session), estimator=estimator)
    except (msgspec.MsgspecError, UnreadableInput, UnicodeDecodeError):
        return None  # written by other code or with another estimator: the ledger is folded instead
    return Folds(meter, stored.loop, stored.memory, kept.seq)


async def save_if_due(work: Work) -> None:
    """Store a checkpoint where enough has happened since the last one. Raises ``LeaseLost``, ``StoreUnavailable``."""
    ledger = work.ledger
    if not snapshot.should_checkpoint(ledger.loop.seq - work.checkpointed, len(ledger.meter)):
        return
    async with ledger.still():
        seq = ledger.loop.seq
        data = pack(ledger.loop, work.memory, ledger.meter.snapshot())
        await ledger.store.save_checkpoint(ledger.held, Checkpoint(seq, MADE_BY, data))
    work.checkpointed = seq
