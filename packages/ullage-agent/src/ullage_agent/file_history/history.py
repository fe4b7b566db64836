"""The history of one tree of files: what steps changed, and the contents before and after.

It is an SQLite file of the user's data directory, one for each tree, that no other user can read. All methods block;
any thread may call them, and any number of processes may use one tree. They raise ``HistoryFailed``.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import zlib
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from hashlib import sha256
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.errors import StoreUnavailable
from ullage.store.leases import is_dead
from ullage_agent.file_history.changes import (
    FileChange,
    UndoPlan,
    content_of,
    joined,
    path_of,
    undone,
    why_unknown,
)
from ullage_agent.file_history.policy import (
    LARGEST_STORE,
    LOCKED_S,
    RACY_NS,
    STORED_S,
    WAIT_S,
)
from ullage_agent.file_history.restoring import (
    NOT_YET,
    Unkept,
    read_content,
    restore,
    state,
)
from ullage_agent.file_history.tree import RACY, SeenTree, Stamp, is_same, look

PENDING: Final = f"-{NOT_YET}"
"""The content of a path whose own will be stored later."""

_changes: Final = msgspec.json.Decoder(list[FileChange])


class HistoryFailed(StoreUnavailable):
    """The history of a tree of files can't be read or written."""


class LeftStep(NamedTuple):
    """A step that the ledger may lack, since its process ended. One without calls is a rewind."""

    step: str
    calls: tuple[str, ...]
    changes: tuple[FileChange, ...]


class FileHistory:
    """See the head of the file.

    Args:
        root: The directory of the tree.
        directory: Where the histories of all trees are.
        store: Names the database of the sessions.
        owner: The process, as leases name it.
        skipped: Files and directories that are Ullage's own, with what begins with their names.
    """

    def __init__(
        self,
        root: Path,
        directory: Path,
        store: str,
        owner: str,
        skipped: Iterable[Path] = (),
    ) -> None:
        self.root = os.path.realpath(root)
        self.file = directory / f"{sha256(os.fsencode(self.root)).hexdigest()[:32]}.db"
        self._store, self._owner = store, owner
        own = [
            os.path.relpath(os.path.realpath(path), self.root)
            for path in (directory, *skipped)
        ]
        self._own = tuple(path for path in own if not path.startswith(".."))
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._tree = SeenTree({}, {})
        self._contents: dict[str, str] = {}
        self._open: dict[str, dict[str, FileChange]] = {}
        """The changes since each step that this object has begun."""

    # -- steps --

    def look_ahead(self) -> bool:
        """Store contents for a while. True if there are more."""
        with self._working() as database:
            return self._update(database, STORED_S)

    def begin(self, step: str, session: str, calls: Sequence[str]) -> None:
        """A step of this name begins, which may change files."""
        with self._working() as database:
            if _used_bytes(database) > LARGEST_STORE:
                database.execute(
                    "delete from steps where number < (select avg(number) from steps)"
                )
                _sweep(database)
            self._update(database, WAIT_S)
            self._insert(database, step, session, calls)
            self._open[step] = {}

    def end(self, step: str) -> tuple[FileChange, ...]:
        """What has changed since the step began. ``recorded`` follows once the ledger has it."""
        with self._working() as database:
            self._update(database)
            changes = tuple(sorted(self._open.pop(step, {}).values(), key=path_of))
            _set_changes(database, step, changes)
        return changes

    def recorded(self, step: str) -> None:
        """The ledger has this step."""
        with self._working() as database:
            database.execute("update steps set is_recorded = 1 where step = ?", (step,))

    def left_over(self, session: str) -> list[LeftStep]:
        """The steps of a session whose process ended before it called ``recorded``."""
        if not self.file.exists():
            return []
        with self._working() as database:
            if _abandoned(database):
                self._update(database)
            rows = database.execute(
                "select step, owner, calls, changes from steps "
                "where session = ? and store = ? and not is_recorded order by number",
                (session, self._store),
            ).fetchall()
        return [
            LeftStep(
                step,
                tuple(msgspec.json.decode(calls)),
                tuple(_changes.decode(changes)),
            )
            for step, owner, calls, changes in rows
            if changes is not None and (calls != "[]" or is_dead(owner))
        ]

    # -- undoing --

    def plan(self, steps: Collection[str]) -> tuple[UndoPlan, int]:
        """What undoes these steps as the tree is now, and how many of them are not known here."""
        if not self.file.exists():
            return UndoPlan(), len(steps)
        with self._working() as database:
            self._update(database)
            rows = database.execute(
                "select step, changes from steps order by number"
            ).fetchall()
            known = [
                _changes.decode(changes)
                for step, changes in rows
                if step in steps and changes
            ]
            found = undone(known)
            moves: list[FileChange] = []
            edited, not_covered = dict.fromkeys(found.edited), dict(found.not_covered)
            for move in found.moves:
                if content_of(move.new) and not _has(database, content_of(move.new)):
                    not_covered[move.path] = "its content is no longer kept"
                elif self._state(self._tree, move.path) == move.old:
                    moves.append(move)
                else:
                    edited[move.path] = None
        return UndoPlan(tuple(moves), tuple(edited), not_covered), len(steps) - len(known)

    def content(self, sha: str) -> bytes:
        """A stored content. Raises ``Unkept``."""
        with self._working() as database:
            return _content(database, sha)

    def prepare(self, step: str, session: str, moves: Sequence[FileChange]) -> None:
        """A step of this name is to bring paths to another state; ``carry_out`` or ``drop`` follows."""
        with self._working() as database:
            self._insert(database, step, session, ())
            _set_changes(database, step, moves, due=1)

    def carry_out(self, step: str) -> dict[str, str]:
        """Do what was prepared: the ledger has it. A kill leaves it to the next process that uses the tree.

        Gives the reasons for the paths that were left alone.
        """
        with self._working() as database:
            database.execute(
                "update steps set is_recorded = 1, due = 2 where step = ?", (step,)
            )
        with self._working() as database:
            return self._restore(database, step)

    def drop(self, step: str) -> None:
        """Do not do what was prepared."""
        with self._working() as database:
            database.execute("delete from steps where step = ? and due = 1", (step,))

    # -- letting go --

    def sessions(self) -> list[str]:
        """The sessions of this store that have steps here."""
        if not self.file.exists():
            return []
        with self._working() as database:
            query = "select distinct session from steps where store = ?"
            return [name for (name,) in database.execute(query, (self._store,))]

    def forget(self, sessions: Iterable[str]) -> None:
        """Let these sessions' steps go, and the contents that nothing else needs."""
        with self._working() as database:
            for session in sessions:
                database.execute(
                    "delete from steps where store = ? and session = ?",
                    (self._store, session),
                )
            _sweep(database)

    @property
    def left_out(self) -> Mapping[str, str]:
        """The directories that the last look left out, each with the reason."""
        return self._tree.left_out

    @property
    def is_pending(self) -> bool:
        """Whether contents are to be stored that no step has waited for, as before the first look."""
        return self._database is None or PENDING in self._contents.values()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    # -- the database --

    @contextmanager
    def _working(self) -> Iterator[sqlite3.Connection]:
        """The database in a transaction, for one thread at a time."""
        try:
            with self._lock:
                database = self._database or self._opened()
                database.execute("begin immediate")
                try:
                    yield database
                except BaseException:
                    database.rollback()
                    self._database = None  # what was seen is read again
                    database.close()
                    raise
                database.commit()
        except (OSError, sqlite3.Error) as problem:
            raise HistoryFailed(
                f"The file history of {self.root} in {self.file} can't be used ({problem}). Check who may write there "
                "and whether there is room, or set file_history to false."
            ) from problem

    def _opened(self) -> sqlite3.Connection:
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        database = sqlite3.connect(
            self.file,
            timeout=LOCKED_S,
            check_same_thread=False,
            isolation_level=None,
        )
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = normal")
        database.executescript(
            (files("ullage_agent.file_history") / "contents.sql").read_text()
        )
        stamps = dict[str, Stamp]()
        self._tree, self._contents = SeenTree(stamps, {}), {}
        for path, *stamp, content in database.execute("select * from seen"):
            stamps[path], self._contents[path] = tuple(stamp), content
        self._database = database
        query = "select step, owner from steps where due = 2"
        for step, owner in database.execute(query).fetchall():
            if is_dead(owner):
                self._restore(database, step)
        return database

    def _insert(
        self,
        database: sqlite3.Connection,
        step: str,
        session: str,
        calls: Sequence[str],
    ) -> None:
        database.execute(
            "insert into steps (step, store, session, calls, owner) values (?, ?, ?, ?, ?)",
            (
                step,
                self._store,
                session,
                msgspec.json.encode(calls).decode(),
                self._owner,
            ),
        )

    def _restore(self, database: sqlite3.Connection, step: str) -> dict[str, str]:
        ((changes,),) = database.execute(
            "select changes from steps where step = ?", (step,)
        )
        moves = _changes.decode(changes)
        left = restore(self.root, moves, lambda sha: _content(database, sha))
        _set_changes(database, step, [move for move in moves if move.path not in left])
        return left

    # -- looking --

    def _update(self, database: sqlite3.Connection, for_s: float | None = None) -> bool:
        """Look at the tree, store what has changed, and note it in each step that is open.

        With ``for_s`` what is pending is stored too, and what is not within so many seconds is pending again. True if
        the time was too short.
        """
        settled = time.time_ns() - RACY_NS
        before = tree = self._tree
        if not is_same(self.root, before):
            tree = look(self.root, self._own)
        until = inf if for_s is None else time.monotonic() + for_s
        changes = list[FileChange]()
        if tree is not before or (for_s and self.is_pending):
            gone = before.stamps.keys() - tree.stamps.keys()
            for path in gone:
                if tree.covers(path):
                    changes.append(FileChange(path, self._state(before, path), ""))
                del self._contents[path]
            rows = list[tuple[object, ...]]()
            for path, stamp in tree.stamps.items():
                is_new = before.stamps.get(path) != stamp
                if not is_new and not (for_s and self._contents[path] == PENDING):
                    continue
                old = self._state(before, path)
                self._contents[path] = content = self._kept(database, path, stamp, until)
                new = self._state(tree, path)
                if is_new and (
                    (old != new or why_unknown(old)) if old else before.covers(path)
                ):
                    changes.append(FileChange(path, old, new))
                if stamp[1] > settled and not why_unknown(new):
                    tree.stamps[path] = (*RACY, stamp[4])
                rows.append((path, *tree.stamps[path], content))
            database.executemany(
                "delete from seen where path = ?", [(path,) for path in gone]
            )
            database.executemany(
                "insert or replace into seen values (?, ?, ?, ?, ?, ?, ?)", rows
            )
            if tree.top and tree.top[1] > settled:
                tree = tree._replace(top=None)
            self._tree = tree
        for path in before.left_out.keys() ^ tree.left_out.keys():
            old, new = before.left_out.get(path, ""), tree.left_out.get(path, "")
            changes.append(FileChange(path, old and f"0 -{old}", new and f"0 -{new}"))
        for step in _abandoned(database):
            _set_changes(database, step, changes)
        for step, known in self._open.items():
            self._open[step] = joined(known, changes)
        return time.monotonic() > until

    def _state(self, tree: SeenTree, path: str) -> str:
        stamp = tree.stamps.get(path)
        return "" if stamp is None else state(stamp[4], self._contents[path])

    def _kept(
        self, database: sqlite3.Connection, path: str, stamp: Stamp, until: float
    ) -> str:
        """The content of a path as it stands in a state, stored."""
        if stat.S_ISDIR(stamp[4]):
            return ""
        if time.monotonic() > until:
            return PENDING
        try:
            return _store(database, read_content(f"{self.root}/{path}", stamp))
        except Unkept as problem:
            return f"-{problem}"
        except FileNotFoundError:
            return PENDING
        except OSError as problem:
            return f"-{problem.strerror}"


def _abandoned(database: sqlite3.Connection) -> list[str]:
    """The steps whose process ended during them."""
    rows = database.execute(
        "select step, owner from steps where changes is null"
    ).fetchall()
    return [step for step, owner in rows if is_dead(owner)]


def _set_changes(
    database: sqlite3.Connection,
    step: str,
    changes: Sequence[FileChange],
    due: int = 0,
) -> None:
    """What the step has changed; one that changed nothing is no step."""
    if not changes:
        database.execute("delete from steps where step = ?", (step,))
        return
    database.execute(
        "update steps set changes = ?, due = ? where step = ?",
        (msgspec.json.encode(changes).decode(), due, step),
    )


def _store(database: sqlite3.Connection, data: bytes) -> str:
    """The name of a content, stored. Raises ``Unkept`` where there is no room."""
    sha = sha256(data).hexdigest()
    if not _has(database, sha):
        if _used_bytes(database) > LARGEST_STORE:
            raise Unkept(f"the file history is full, at {LARGEST_STORE:,} bytes")
        packed = zlib.compress(data, 1)
        database.execute("insert into contents values (?, ?)", (sha, packed))
    return sha


def _used_bytes(database: sqlite3.Connection) -> int:
    pages, free, size = (
        database.execute(f"pragma {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _has(database: sqlite3.Connection, sha: str) -> bool:
    return bool(
        database.execute("select 1 from contents where sha = ?", (sha,)).fetchone()
    )


def _content(database: sqlite3.Connection, sha: str) -> bytes:
    found = database.execute("select data from contents where sha = ?", (sha,)).fetchone()
    if found is None:
        raise Unkept("its content is no longer kept")
    return zlib.decompress(found[0])


def _sweep(database: sqlite3.Connection) -> None:
    """Delete the contents that neither the tree nor a step has any more, unless a step is open that may have some."""
    if database.execute("select 1 from steps where changes is null").fetchone():
        return
    used = {content for (content,) in database.execute("select content from seen")}
    for (changes,) in database.execute(
        "select changes from steps where changes is not null"
    ):
        for change in _changes.decode(changes):
            used |= {content_of(change.old), content_of(change.new)}
    stored = database.execute("select sha from contents").fetchall()
    database.executemany(
        "delete from contents where sha = ?",
        [row for row in stored if row[0] not in used],
    )
