"""Opens a session: folds its last checkpoint and the events after it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec

from ullage.checkpoint.checkpoint import Checkpoints, made_by, should_checkpoint
from ullage.errors import UnreadableInput
from ullage.events import Event
from ullage.meter.meter import Meter
from ullage.store.store import Checkpoint, SessionStore
from ullage.turns.loop import Loop, apply
from ullage_agent.loop.memory import LoopMemory, remember
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.ledger import Ledger, load_for
from ullage_agent.runtime.session_runtime import (
    AgentRuntime,
    ResolvedFrom,
    SessionRuntime,
    answering,
)
from ullage_agent.runtime.turn_log import TurnLog

log = logging.getLogger("ullage.agent")

VERSION: Final = "runtime-12"
"""Increased whenever ``Loop`` or ``LoopMemory`` fold differently."""


def written_by() -> str:
    """Identifies the code that can read a session's checkpoint."""
    return f"{VERSION} {made_by()}"


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The two small folds of a checkpoint; the meter's follows them."""

    loop: Loop
    memory: LoopMemory


_of_stored: Final = msgspec.json.Decoder(_Stored)


def pack(loop: Loop, memory: LoopMemory, meter: bytes) -> bytes:
    """The three folds as bytes. The small ones are JSON, since they hold JSON of providers."""
    small = msgspec.json.encode(_Stored(loop=loop, memory=memory))
    return len(small).to_bytes(4) + small + meter


class Folds(NamedTuple):
    """The folds of a session's events. ``checkpointed`` is the last event that a checkpoint covers."""

    meter: Meter
    loop: Loop
    memory: LoopMemory
    checkpointed: int
    checkpoints: Checkpoints
    at: float = 0.0
    """The time of the last event, if it is behind the checkpoint."""


async def opened(
    shared: AgentRuntime, session: str, deps: object = None
) -> SessionRuntime:
    """The session by its ledger, with ``deps`` for its tools.

    Raises ``SessionNotFound``, ``StoreUnavailable``, ``SettingError``."""
    folds = await folded(shared.store, session, estimator=shared.settings.estimator)
    if damaged := folds.loop.damaged:
        rows = ", ".join(f"{seq:,}" for seq in damaged)
        log.warning(
            "Events of the session %s can't be read and are left out: %s.", session, rows
        )
    loop = folds.loop
    acting = shared.acting(loop)
    if acting is None:  # whoever drives the session is told
        resolved, known = shared.resolve(loop.settings), None
    else:
        resolved = shared.resolve_for(loop)
        known = ResolvedFrom(loop.settings, answering(loop), resolved)
    ledger = Ledger(shared.store, session, folds.meter, folds.loop)
    ledger.at = folds.at
    runtime = SessionRuntime(
        first=shared,
        ledger=ledger,
        settings=resolved.settings,
        resolved=known,
        tools=(acting or shared).tools(resolved.settings),
        memory=folds.memory,
        checkpointed=folds.checkpointed,
        checkpoints=folds.checkpoints,
        deps=deps,
    )
    ledger.listeners += [runtime.note, TurnLog(runtime)]
    if shared.hooks:
        ledger.listeners.append(partial(_tell, shared.hooks, ledger))
    return runtime


def _tell(hooks: Sequence[Hook], ledger: Ledger, event: Event) -> None:
    """Call the hooks for an event stored while this process drives; their exceptions don't break the fold."""
    if ledger.lease is None:
        return
    for hook in hooks:
        try:
            hook.on_event(event)
        except Exception:
            log.exception("A hook failed at an event of the session %s", ledger.session)


def tell_driven(hooks: Sequence[Hook], runtime: SessionRuntime) -> None:
    """Call the hooks for a session that this process drives from here on."""
    ledger = runtime.ledger
    trace = ledger.loop.trace if ledger.loop.turn else ""
    for hook in hooks:
        try:
            hook.on_driven(ledger.session, trace, runtime)
        except Exception:
            log.exception("A hook failed as it was told of %s", ledger.session)


async def folded(
    store: SessionStore, session: str, *, estimator: str | Callable[[str], float] = "auto"
) -> Folds:
    """All three folds of a session, from its checkpoint if this code can read it."""
    folds = await _from_checkpoint(store, session, estimator)
    if folds is None:
        folds = Folds(
            Meter(estimator=estimator, session=session),
            Loop(),
            LoopMemory(),
            0,
            Checkpoints(),
        )
    meter, loop, memory = folds.meter, folds.loop, folds.memory
    at = 0.0
    for event in await store.read(session, after=folds.checkpointed):
        await load_for(event, store, session, meter)
        meter.apply(event)
        loop = apply(loop, event)
        memory = remember(memory, event)
        at = event.at
    return folds._replace(loop=loop, memory=memory, at=at)


async def _from_checkpoint(
    store: SessionStore, session: str, estimator: str | Callable[[str], float]
) -> Folds | None:
    stored = await store.checkpoint(session, written_by())
    if stored is None:
        return None
    checkpoints = Checkpoints()
    try:
        end = 4 + int.from_bytes(stored.data[:4])
        small = _of_stored.decode(stored.data[4:end])
        fold = checkpoints.load(stored.data[end:], estimator=estimator)
    except (msgspec.MsgspecError, UnreadableInput, UnicodeDecodeError):
        return None  # written by other code or with another estimator: the ledger is folded instead
    return Folds(Meter._of(fold), small.loop, small.memory, stored.seq, checkpoints)


async def save_if_due(runtime: SessionRuntime) -> None:
    """Store a checkpoint if enough events have followed the last one. Raises ``LeaseLost``, ``StoreUnavailable``."""
    ledger = runtime.ledger
    if not should_checkpoint(ledger.loop.seq - runtime.checkpointed, len(ledger.meter)):
        return
    async with ledger.still():
        seq = ledger.loop.seq
        data = pack(ledger.loop, runtime.memory, runtime.checkpoints.save(runtime.fold))
        await ledger.store.save_checkpoint(
            ledger.held, Checkpoint(seq, written_by(), data)
        )
    runtime.checkpointed = seq
