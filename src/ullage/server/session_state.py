"""Where a session stands, in the words of the API."""

from __future__ import annotations

from typing import Any

from ullage.agent.loop import Loop
from ullage.errors import UllageError
from ullage.runtime.outcome import INTERRUPTED_NOTE
from ullage.runtime.session import Session
from ullage.runtime.status import status_of
from ullage.server.api_types import AgentState, OpenToolCall, SessionLine, SessionState
from ullage.store.store import SessionRow


def line_of(row: SessionRow) -> SessionLine:
    """A session's row in a list."""
    return SessionLine(**_shown(row))


def _shown(row: SessionRow) -> dict[str, Any]:
    return {name: value for name, value in row._asdict().items() if name != "drivers"}


async def session_state(session: Session, row: SessionRow) -> SessionState:
    """Where the session stands at its newest event. Raises as looking does."""
    is_interrupted = await session.is_interrupted()
    work = await session._look()
    loop = work.ledger.loop
    stopped = _stopped(session)
    line = _shown(row) | {"seq": loop.seq, "model": work.settings.model or row.model}
    return SessionState(
        **line,
        state=_state(loop, is_stopped=bool(stopped), is_interrupted=is_interrupted),
        turn=loop.turn,
        paused=loop.paused,
        ended=loop.ended,
        note=stopped or loop.note or (INTERRUPTED_NOTE if is_interrupted else ""),
        open=tuple(
            OpenToolCall(
                call_id=call.call_id, name=call.name, arguments=call.arguments, state=call.state, digest=call.digest
            )
            for call in loop.open
        ),
        queued=len(loop.queue),
        damaged=loop.damaged,
        status=None if work.memory.taken is None else status_of(work.memory.taken),
    )


def _stopped(session: Session) -> str:
    """What keeps the session's driver from working, in words; empty where nothing does."""
    failure = session.failure
    if failure is None or not session.is_idle:
        return ""
    return str(failure) if isinstance(failure, UllageError) else f"{type(failure).__name__}: {failure}"


def _state(loop: Loop, *, is_stopped: bool, is_interrupted: bool) -> AgentState:
    if is_stopped and not _rests(loop):
        return "waiting"
    if is_interrupted and not _rests(loop):
        return "interrupted"
    return state_of(loop)


def state_of(loop: Loop) -> AgentState:
    """What the agent is doing, where a driver works on it."""
    if loop.paused:
        return "waiting"
    if _rests(loop):
        return "idle"
    if loop.compaction or loop.compact_asked is not None:
        return "compacting"
    if loop.open and not loop.call:
        return "executing_tools"
    return "streaming"


def _rests(loop: Loop) -> bool:
    return not (loop.turn or loop.queue or loop.compaction or loop.compact_asked is not None)
