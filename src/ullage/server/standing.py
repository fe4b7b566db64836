"""Where a session stands, in the words of the API."""

from __future__ import annotations

from ullage.agent.loop import Loop
from ullage.errors import UllageError
from ullage.runtime.session import Session
from ullage.runtime.status import status_of
from ullage.server.answers import OpenToolCall, SessionLine, SessionState, State
from ullage.store.store import SessionRow


def line_of(row: SessionRow) -> SessionLine:
    """A session's row in a list."""
    return SessionLine(**row._asdict())


async def standing(session: Session, row: SessionRow) -> SessionState:
    """Where the session stands at its newest event. Raises as looking does."""
    work = await session.look()
    loop = work.ledger.loop
    failure = session.failure
    stopped = str(failure) if isinstance(failure, UllageError) and session.is_idle else ""
    line = row._asdict() | {"seq": loop.seq, "model": work.settings.model or row.model}
    return SessionState(
        **line,
        state="waiting" if stopped and not _rests(loop) else state_of(loop),
        turn=loop.turn,
        paused=loop.paused,
        ended=loop.ended,
        note=stopped or loop.note,
        open=tuple(
            OpenToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments, state=call.state)
            for call in loop.open
        ),
        queued=len(loop.queue),
        status=None if work.memory.taken is None else status_of(work.memory.taken),
    )


def state_of(loop: Loop) -> State:
    """What the agent is doing."""
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
