"""What tools do to files, as steps of a session: looked at before and after the calls, recorded, and taken back."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import structs

from ullage.display.text import counted, quoted
from ullage.errors import CommandRefused, SessionNotFound
from ullage.events import (
    ChildStarted,
    CompactionCommitted,
    Event,
    FilesChanged,
    MessageAdded,
    Rewound,
    SessionStarted,
    ToolEnded,
    Uncompacted,
)
from ullage.messages import Message
from ullage.store.store import SessionStore
from ullage.tasks import to_completion
from ullage.threads import in_thread
from ullage.turns.loop import OpenCall
from ullage_agent.file_history.changes import FileChange, UndoPlan
from ullage_agent.file_history.history import FileHistory, HistoryFailed
from ullage_agent.file_history.policy import NAMED
from ullage_agent.file_history.report import FileChanges, NotCovered, report
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.tools.sandbox import Sandbox

log = logging.getLogger("ullage.agent")

ELSEWHERE: Final = (
    "were made on another machine or in another directory, or are no longer kept"
)


class Histories:
    """The histories of the trees that an agent works in. Call it with a root for its history, or why there is none."""

    def __init__(self, directory: Path, store: str, owner: str, sandbox: Sandbox) -> None:
        self._directory = directory
        self._store = store
        self._owner = owner
        self._sandbox = sandbox
        self._open: dict[Path, FileHistory] = {}

    def __call__(self, root: Path) -> FileHistory | str:
        if not self._store:
            return "the session is stored in memory alone"
        root = root.resolve()
        if self._sandbox.home.resolve().is_relative_to(root):
            return f"{root} holds the home directory"
        if root not in self._open:
            own = (*self._sandbox.hidden, *self._sandbox.stores)
            self._open[root] = FileHistory(
                root, self._directory, self._store, self._owner, own
            )
        return self._open[root]

    def close(self) -> None:
        """Close all that were given."""
        for history in self._open.values():
            history.close()


def history_of(runtime: SessionRuntime) -> FileHistory | str:
    """The history of the session's root, or why there is none."""
    if not runtime.settings.file_history:
        return "the setting file_history is off"
    if all(tool.read_only is not False for tool in runtime.tools.values()):
        return "none of the session's tools changes files"
    return runtime.first.histories(runtime.root)


@asynccontextmanager
async def file_step(
    runtime: SessionRuntime, calls: Sequence[OpenCall]
) -> AsyncIterator[None]:
    """A block in which these calls run; what they change is recorded at its end, also after a cancel."""
    history = history_of(runtime)
    if isinstance(history, str) or all(
        runtime.tools[each.name].read_only for each in calls
    ):
        yield
        return
    step, ids = secrets.token_hex(16), [call.call_id for call in calls]
    try:
        with _told():
            session = runtime.ledger.session
            await to_completion(in_thread(history.begin, step, session, ids))
        yield
    finally:
        await to_completion(_end(runtime, history, step, ids))


async def _end(
    runtime: SessionRuntime, history: FileHistory, step: str, calls: Sequence[str]
) -> None:
    with _told():
        if changes := await in_thread(history.end, step):
            await _record(runtime, history, step, calls, changes)


async def _record(
    runtime: SessionRuntime,
    history: FileHistory,
    step: str,
    calls: Sequence[str],
    changes: Sequence[FileChange],
) -> None:
    changed = FilesChanged(
        step=step,
        calls=tuple(calls),
        root=history.root,
        count=len(changes),
        paths=tuple(change.path for change in changes[:NAMED]),
    )
    await runtime.ledger.write([changed], durable=True)
    await in_thread(history.recorded, step)


@contextmanager
def _told() -> Iterator[None]:
    """A block whose failure is no failure of the calls: they run, and what they change can't be taken back."""
    try:
        yield
    except HistoryFailed as problem:
        log.warning("%s What tools change now can't be restored by a rewind.", problem)


async def look_ahead(runtime: SessionRuntime) -> None:
    """Store the contents that later steps may change, and let go those of sessions that were deleted."""
    history = history_of(runtime)
    if isinstance(history, str) or not history.is_pending:
        return
    with _told():
        gone: list[str] = []
        for session in await in_thread(history.sessions):
            try:
                await runtime.ledger.store.about(session)
            except SessionNotFound:
                gone.append(session)
        if gone:
            await in_thread(history.forget, gone)
        while await in_thread(history.look_ahead):
            pass


async def settle_steps(runtime: SessionRuntime) -> None:
    """Record the steps, and finish the rewinds, whose process ended before. The session's lease is needed."""
    history = history_of(runtime)
    if isinstance(history, str):
        return
    with _told():
        session = runtime.ledger.session
        left = await in_thread(history.left_over, session)
        known = step_names(await runtime.ledger.store.read(session)) if left else set()
        for one in left:
            if not one.calls:
                finish = history.carry_out if one.step in known else history.drop
                await in_thread(finish, one.step)
            elif one.step in known:
                await in_thread(history.recorded, one.step)
            else:
                await _record(runtime, history, one.step, one.calls, one.changes)


# -- taking back --


class FileUndo(NamedTuple):
    """What takes steps back, and what of it a person is told."""

    history: FileHistory
    plan: UndoPlan
    unknown: tuple[NotCovered, ...] = ()

    def told(self) -> FileChanges:
        """What is to be taken back. Blocks. Raises ``HistoryFailed``."""
        return report(self.plan, self.history.content, self.unknown)

    def carried_out(self, step: str) -> FileChanges:
        """Take it back; what was prepared has this name. Blocks. Raises ``HistoryFailed``."""
        told = self.told()
        left = self.history.carry_out(step)
        return structs.replace(
            told,
            files=tuple(one for one in told.files if one.path not in left),
            not_covered=(
                *(NotCovered(path=path, reason=left[path]) for path in left),
                *told.not_covered,
            ),
        )


def step_names(events: Iterable[Event]) -> set[str]:
    """The steps that these events name."""
    names: set[str] = set()
    for event in events:
        if isinstance(event, FilesChanged):
            names.add(event.step)
        elif isinstance(event, Rewound | Uncompacted) and event.files:
            names.add(event.files)
    return names


async def undo_since(runtime: SessionRuntime, message: str) -> FileUndo:
    """What takes back all that tools have done to files since this message; empty: since the session began.

    Raises ``CommandRefused`` for a message that the session never had, and where its files have no history here.
    """
    store, session = runtime.ledger.store, runtime.ledger.session
    events = await store.read(session)
    since: Event | None = None if message else SessionStarted()
    for event in events:
        match event:
            case MessageAdded() if event.message.id == message:
                since = event
            case CompactionCommitted(summary=Message(id=name)) if name == message:
                since = event
    if since is None:
        raise CommandRefused(
            f"The session has no message {quoted(message)}. Name one of its messages."
        )
    return await undo_of(runtime, await _steps_since(store, events, since))


async def _steps_since(
    store: SessionStore, events: Iterable[Event], since: Event
) -> set[str]:
    """The steps of a session and of its subagents. A step counts from the last result of its calls on."""
    ended: dict[str, int] = {}
    after: list[Event] = []
    names: set[str] = set()
    for event in events:
        is_after = event.seq > since.seq
        match event:
            case ToolEnded():
                ended[event.call_id] = event.seq
            case FilesChanged() if event.calls:
                is_after = (
                    max(ended.get(call, event.seq) for call in event.calls) > since.seq
                )
            case ChildStarted() if is_after:
                with suppress(SessionNotFound):
                    names |= await _steps_since(
                        store, await store.read(event.child), SessionStarted()
                    )
        if is_after:
            after.append(event)
    return names | step_names(after)


async def undo_of(runtime: SessionRuntime, steps: Collection[str]) -> FileUndo:
    """What takes back these steps. Raises ``CommandRefused`` where the files have no history here."""
    place = (await runtime.ledger.store.about(runtime.ledger.session)).place
    history = history_of(runtime)
    if place != runtime.first.place:
        history = f"they are at the place {place or '(none)'}, and this process is not"
    if isinstance(history, str):
        raise CommandRefused(
            f"What tools did to files can't be seen or restored here: {history}. Rewind without files, or where they "
            "are."
        )
    plan, missing = await in_thread(history.plan, steps)
    unknown = [
        NotCovered(path=path, reason=reason)
        for path, reason in islice(history.left_out.items(), NAMED)
        if path not in plan.not_covered
    ]
    if missing:
        reason = f"the changes of {counted(missing, 'step')} {ELSEWHERE}"
        unknown.append(NotCovered(path="", reason=reason))
    return FileUndo(history, plan, tuple(unknown))
