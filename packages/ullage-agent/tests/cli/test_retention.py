"""``ullage admin store prune`` and ``ullage admin store restore``."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.store.sessions import said
from ullage.cli import main
from ullage.events import MessageAdded
from ullage.store.sqlite.store import SqliteStore
from ullage.store.sqlite.transaction import Transaction
from ullage_agent.cli.retention import TOLD_EACH


def age(inside: Transaction) -> None:
    """Make all sessions two days older."""
    inside.database.execute(
        "UPDATE sessions SET changed = changed - 172800, listed = listed - 172800"
    )


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A store with sessions that nothing was written to for two days."""
    path = tmp_path / "s.db"

    async def fill() -> None:
        store = SqliteStore(path)
        for name, tenant in (("old", "default"), ("acme:old", "acme")):
            await store.create(
                name, [MessageAdded(message=said(f"m-{name}", "Hi."))], tenant=tenant
            )

        await store._writer.perform(age)
        await store.create("young")
        await store.close()

    asyncio.run(fill())
    return path


def ids(path: Path) -> set[str]:
    async def read() -> set[str]:
        store = SqliteStore(path)
        try:
            return {f"{row.tenant} {row.id}" for row in await store.sessions()}
        finally:
            await store.close()

    return asyncio.run(read())


def test_old_sessions_are_listed_archived_and_brought_back(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prune = ["admin", "store", "prune", str(place), "--unchanged", "1d"]
    assert main([*prune, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert (
        said.splitlines()[-1]
        == "2 sessions would go. Newer sessions stay. Nothing was changed."
    )
    assert len(ids(place)) == 3

    archive = tmp_path / "archive"
    assert main([*prune, "--archive", str(archive)]) == 0
    assert "2 sessions archived to" in capsys.readouterr().out
    assert ids(place) == {"default young"}

    files = sorted(str(file) for file in archive.glob("*/*.jsonl.gz"))
    assert main(["admin", "store", "restore", str(place), *files]) == 0
    assert ids(place) == {"default young", "default old", "acme acme:old"}
    assert main(["admin", "store", "restore", str(place), *files, __file__]) != 0
    said = capsys.readouterr().err
    assert said.count("There is a session") == said.count("`--as ID`") == 2
    assert said.count(__file__) == 1


def test_a_session_is_restored_beside_the_one_that_has_its_id(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "archive"
    prune = ["admin", "store", "prune", str(place), "--unchanged", "1d"]
    assert main([*prune, "--archive", str(archive)]) == 0
    restore = ["admin", "store", "restore", str(place)]
    (own,) = (str(file) for file in archive.glob("default/*.jsonl.gz"))
    (of_acme,) = (str(file) for file in archive.glob("acme/*.jsonl.gz"))
    assert main([*restore, own, of_acme]) == 0
    capsys.readouterr()

    assert main([*restore, own, of_acme, "--as", "second"]) != 0
    assert "one by one" in capsys.readouterr().err
    assert main([*restore, own, "--as", "acme:second"]) != 0
    assert "a colon ends the name of a tenant" in capsys.readouterr().err
    assert main([*restore, of_acme, "--as", "second"]) != 0
    assert "begin with 'acme:'" in capsys.readouterr().err
    assert ids(place) == {"default young", "default old", "acme acme:old"}

    assert main([*restore, own, "--as", "second"]) == 0
    assert capsys.readouterr().out.startswith("second: ")
    assert main([*restore, of_acme, "--as", "acme:second"]) == 0
    assert ids(place) >= {"default old", "default second", "acme acme:second"}


def test_a_file_that_can_t_be_restored_is_named_once(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(b"\x1f\x8b and no more")
    missing = tmp_path / "missing.jsonl.gz"
    for file in (damaged, missing):
        assert main(["admin", "store", "restore", str(place), str(file)]) != 0
        assert capsys.readouterr().err.count(str(file)) == 1


def test_what_is_restored_counts_for_no_quota(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "archive"
    prune = [
        "admin",
        "store",
        "prune",
        str(place),
        "--unchanged",
        "1d",
        "--tenant",
        "acme",
    ]
    assert main([*prune, "--archive", str(archive)]) == 0
    at = ["--store", str(place)]
    assert main(["admin", "quota", "set", "acme", "--sessions", "0", *at]) == 0
    (file,) = (str(file) for file in archive.glob("acme/*.jsonl.gz"))
    assert main(["admin", "store", "restore", str(place), file]) == 0
    capsys.readouterr()
    assert main(["admin", "quota", "list", *at]) == 0
    assert "0 of 0 sessions" in capsys.readouterr().out


def test_a_long_removal_says_how_far_it_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fill() -> None:
        store = SqliteStore(place)
        for number in range(2 * TOLD_EACH):
            await store.create(f"s{number}")
        await store._writer.perform(age)
        await store.close()

    asyncio.run(fill())
    prune = ["admin", "store", "prune", str(place), "--unchanged", "1d", "--delete"]
    assert main(prune) == 0
    assert capsys.readouterr().err.splitlines() == ["100 sessions", "200 sessions"]


def test_sessions_are_deleted_only_by_that_word(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["admin", "store", "prune", str(place), "--unchanged", "1d"]) != 0
    assert "--archive --delete --dry-run is required" in capsys.readouterr().err
    assert len(ids(place)) == 3
    prune = [
        "admin",
        "store",
        "prune",
        str(place),
        "--unchanged",
        "1d",
        "--tenant",
        "acme",
    ]
    assert main([*prune, "--delete"]) == 0
    assert "1 session deleted.\n" in capsys.readouterr().out
    assert ids(place) == {"default young", "default old"}
