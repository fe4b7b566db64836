from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.chat.simulator import talking
from ullage.cli.chat.start import _tidied, is_full_screen, require_textual, run
from ullage.cli.parser import parser
from ullage.errors import SessionNotFound, SettingError


def test_a_dumb_or_unnamed_terminal_and_a_pipe_get_no_full_screen() -> None:
    assert not is_full_screen({"TERM": "dumb"})
    assert not is_full_screen({})


def test_the_full_screens_package_is_here() -> None:
    require_textual()


def test_a_script_needs_the_simulator() -> None:
    with pytest.raises(SettingError, match="--simulate"):
        run(parser().parse_args(["chat", "--scenario", "x"]))


async def test_a_session_in_which_nothing_was_said_is_not_kept(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.host.forget("test")
        assert not await _tidied(talk.store, "test")
        with pytest.raises(SessionNotFound):
            await talk.store.about("test")
        session = await talk.host.begin("kept", {"model": "anthropic:claude-sonnet-4-6"})
        await session.ask("hello")
        await talk.host.forget("kept")
        assert await _tidied(talk.store, "kept")
