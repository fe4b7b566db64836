"""A store that somebody else made, met by programs that would run its command if they believed it."""

import os
from pathlib import Path

import pytest

from tests.hostile.stores import forge
from tests.other_user import OTHER, needs_root
from tests.processes import run_python


def started(command: str, store: Path) -> str:
    """What a command on this store says when it refuses it."""
    model = ("--model", "anthropic:claude-haiku-4-5", "--tools", "shell")
    words = (command, "--store", str(store), *model)
    done = run_python("-m", "ullage", *words, input="hi", timeout=120)
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize("command", ["chat", "serve"])
async def test_a_store_of_a_checkout_is_refused(tmp_path: Path, command: str) -> None:
    marker = tmp_path / "made"
    await forge(tmp_path / "sessions.db", f"touch {marker}")
    assert "`chmod 600 " in started(command, tmp_path / "sessions.db")
    assert not marker.exists()


@needs_root
async def test_a_store_that_another_user_put_in_the_place_of_ones_own_is_refused(
    tmp_path: Path,
) -> None:
    marker = tmp_path / "made"
    path = tmp_path / "sessions.db"
    await forge(path, f"touch {marker}")
    path.chmod(0o600)
    os.chown(path, OTHER, OTHER)
    assert "`chown " in started("serve", path)
    assert not marker.exists()
