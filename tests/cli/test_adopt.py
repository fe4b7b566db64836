import subprocess
import sys
from pathlib import Path

from tests.hostile.stores import forge
from ullage.directories import data_directory
from ullage.store.sqlite.store import SqliteStore


def adopt(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ullage", "adopt", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False
    )


async def test_a_store_that_was_refused_can_be_used_by_the_command_that_the_error_names(
    tmp_path: Path,
) -> None:
    path = tmp_path / "their store.db"
    await forge(path, tmp_path / "theirs", "true")
    chat = [sys.executable, "-m", "ullage", "chat", "--simulate", "--store", str(path)]
    refused = subprocess.run(
        chat, capture_output=True, text=True, timeout=120, check=False, input="hi"
    )
    assert refused.returncode == 2 and f"`ullage adopt '{path}'`" in refused.stderr
    done = adopt(str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{path} is yours now: 1 session, all at rest.",
        "  forged does not have: an open call of shell; an unfinished turn; the grant for shell touch",
    ]
    store = SqliteStore(path, data=data_directory())
    assert len(await store.sessions()) == 1
    await store.close()


async def test_a_store_of_ones_own_is_taken_over_as_it_is(tmp_path: Path) -> None:
    await forge(tmp_path / "s.db", tmp_path / "theirs", "true")
    assert (
        "Unfinished work in it is resumed"
        in adopt("--unfinished", str(tmp_path / "s.db")).stdout
    )
    assert adopt(str(tmp_path / "missing.db")).returncode == 2
