"""Retention: what goes, what is left, and what comes back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.store.sessions import said
from ullage.errors import CommandRefused, SessionNotFound, UnreadableInput
from ullage.events import Imported, MessageAdded
from ullage.store.archiving import PrunedSession, archive_file, prune
from ullage.store.export import check_file, import_file
from ullage.store.store import SessionRow, SessionStore


async def fill(store: SessionStore) -> None:
    """One session of each kind."""
    for name in ("old", "kept", "parent", "parent/call"):
        await store.create(name, [MessageAdded(message=said(f"m-{name}", "Hello."))])
    await store.keep("kept", b"long" * 400_000)
    await store.create("acme:theirs", tenant="acme")
    await store.create("driven")
    await store.acquire("driven", "driver", ttl_s=600)
    await store.create("due")
    await store.send("due", said("m-due"), "steer")


async def pruned(
    store: SessionStore, *, before: float, archive: Path | None = None, tenant: str = ""
) -> dict[str, PrunedSession]:
    found = prune(store, before=before, archive=archive, tenant=tenant)
    return {each.session: each async for each in found}


async def test_archived_sessions_come_back_whole(
    store: SessionStore, tmp_path: Path
) -> None:
    await fill(store)
    done = await pruned(store, before=time.time() + 60, archive=tmp_path)
    outcomes = {name: each.outcome for name, each in done.items()}
    assert outcomes == {
        "old": "archived",
        "kept": "archived",
        "parent": "archived",
        "parent/call": "archived",
        "acme:theirs": "archived",
        "driven": "driven",
        "due": "due",
    }
    assert {row.id for row in await store.sessions()} == {"driven", "due"}
    file = done["kept"].file
    assert file is not None
    assert file.parent == tmp_path / "default"
    assert done["kept"].size == file.stat().st_size < 100_000
    taken = await import_file(store, file)
    assert (taken.session, taken.events, taken.kept, taken.skipped) == ("kept", 1, 1, ())
    first, last = await store.read("kept")
    assert isinstance(first, MessageAdded)
    assert first.message == said("m-kept", "Hello.")
    assert isinstance(last, Imported)
    (handle,) = await store.handles("kept")
    assert await store.kept("kept", handle) == b"long" * 400_000


async def test_young_and_others_sessions_are_left(
    store: SessionStore, tmp_path: Path
) -> None:
    await fill(store)
    assert await pruned(store, before=time.time() - 60) == {}
    done = await pruned(store, before=time.time() + 60, tenant="acme")
    assert list(done) == ["acme:theirs"]
    assert done["acme:theirs"].outcome == "deleted"
    child = await store.about("parent/call")
    await store.command("parent", [])
    parent = await store.about("parent")
    if parent.changed > child.changed:
        done = await pruned(store, before=parent.changed)
        assert done["parent/call"].outcome == "child"


async def test_a_dry_run_changes_nothing(store: SessionStore) -> None:
    await fill(store)
    before = await store.sessions()
    found = [each async for each in prune(store, before=time.time() + 60, dry_run=True)]
    assert {each.session for each in found if each.outcome == "found"} == {
        "old",
        "kept",
        "parent",
        "parent/call",
        "acme:theirs",
    }
    assert await store.sessions() == before


async def test_a_session_that_changed_is_not_deleted(store: SessionStore) -> None:
    await store.create("s")
    changed = (await store.about("s")).changed
    with pytest.raises(CommandRefused, match="changed meanwhile"):
        await store.delete("s", changed_before=changed)
    await store.delete("s", changed_before=changed + 1)
    with pytest.raises(SessionNotFound):
        await store.delete("s", changed_before=changed + 1)


async def test_more_sessions_than_a_page_are_all_looked_at(store: SessionStore) -> None:
    for number in range(430):
        await store.create(f"s{number}")
    done = await pruned(store, before=time.time() + 60)
    assert len(done) == 430
    assert await store.sessions() == []


async def test_an_incomplete_archive_is_refused(
    store: SessionStore, tmp_path: Path
) -> None:
    await fill(store)
    done = await pruned(store, before=time.time() + 60, archive=tmp_path)
    file = done["kept"].file
    assert file is not None
    whole = file.read_bytes()
    check_file(file)
    for size in (len(whole) // 2, len(whole) - 1, 25):
        file.write_bytes(whole[:size])
        with pytest.raises(UnreadableInput):
            check_file(file)


def test_names_of_files_are_safe_and_told_apart(tmp_path: Path) -> None:
    def file(session: str) -> Path:
        return archive_file(tmp_path, SessionRow(session, "", "", 0.0, 1.5, 3))

    for session in ("../../etc/passwd", ".", "a/b", "x" * 500, "\n", "ü" * 300):
        assert file(session).parent == tmp_path / "default"
        assert len(file(session).name) < 255
    assert file("x" * 500) != file("x" * 501)
    assert file("s").name == "s@3-1.jsonl.gz"
