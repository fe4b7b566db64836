"""Rewinding a session with the files that its tools changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import ullage
from ullage.cli.screenplay import Screenplay
from ullage.display.glyphs import UNICODE
from ullage.display.text import plain
from ullage.errors import CommandRefused
from ullage.events import FilesChanged, Rewound
from ullage.store.leases import new_owner
from ullage.testing import ScriptedModel, tool_call
from ullage_agent.chat.commands import Acting, parse
from ullage_agent.file_history.history import FileHistory
from ullage_agent.runtime.file_steps import history_of
from ullage_agent.runtime.session import Session

Answer = object


def changed(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir() if path.is_file()}


@asynccontextmanager
async def session_of(
    tmp_path: Path, answers: list[Answer], **settings: object
) -> AsyncIterator[Session]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    agent = ullage.Agent(
        ScriptedModel(answers),
        tools=["write", "edit", "read"],
        root=root,
        store=tmp_path / "sessions.db",
        environment={
            "ULLAGE_DATA": str(tmp_path / "data"),
            "HOME": str(tmp_path / "home"),
        },
        **settings,  # type: ignore[arg-type]
    )
    async with agent.session("s") as session:
        yield session


TWO_TURNS: list[Answer] = [
    tool_call("write", path="a.txt", content="one"),
    "Written.",
    [
        tool_call("edit", path="a.txt", old="one", new="two"),
        tool_call("write", path="b.txt", content="b"),
    ],
    "Done.",
]


async def said(session: Session, text: str) -> str:
    """Ask, and give the id of the last message in view before that."""
    messages = await session.messages()
    await session.ask(text)
    return messages[-1].id if messages else ""


async def test_a_rewind_restores_what_tools_changed_and_is_itself_undone(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    async with session_of(tmp_path, TWO_TURNS) as session:
        first = await said(session, "Write")
        second = await said(session, "More")
        assert changed(root) == {"a.txt": "two", "b.txt": "b"}
        view = await session.messages()
        told = await session.changed_files(second)
        assert [(one.path, one.change) for one in told.files] == [
            ("a.txt", "changed"),
            ("b.txt", "added"),
        ]
        assert "-one" in told.files[0].diff and "+two" in told.files[0].diff
        done = await session.rewind(second, files=True)
        assert done.files == told.files
        assert changed(root) == {"a.txt": "one"}
        again = await session.rewind(first, files=True)
        assert changed(root) == {}
        await session.uncompact(again.rewind)
        assert changed(root) == {"a.txt": "one"}
        await session.uncompact(done.rewind)
        assert changed(root) == {"a.txt": "two", "b.txt": "b"}
        assert await session.messages() == view


async def test_a_file_that_a_person_changed_since_is_left_alone_and_named(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    async with session_of(tmp_path, TWO_TURNS) as session:
        await said(session, "Write")
        second = await said(session, "More")
        (root / "b.txt").write_text("mine")
        (root / "own.txt").write_text("never the agent's")
        (root / ".git").mkdir()
        told = await session.changed_files(second)
        assert ".git" in [one.path for one in told.not_covered]
        assert told.edited_since == ("b.txt",)
        await session.rewind(second, files=True)
        assert changed(root) == {
            "a.txt": "one",
            "b.txt": "mine",
            "own.txt": "never the agent's",
        }


async def test_the_ledger_names_each_step_and_a_rewind_without_files_leaves_them(
    tmp_path: Path,
) -> None:
    async with session_of(tmp_path, TWO_TURNS) as session:
        first = await said(session, "Write")
        await said(session, "More")
        steps = [one for one in await session.history() if isinstance(one, FilesChanged)]
        assert [one.paths for one in steps] == [("a.txt",), ("a.txt",), ("b.txt",)]
        await session.rewind(first)
        (rewound,) = [one for one in await session.history() if isinstance(one, Rewound)]
        assert not rewound.files
        assert len((await session.changed_files()).files) == 2


async def test_the_history_is_the_users_alone(tmp_path: Path) -> None:
    async with session_of(tmp_path, TWO_TURNS[:2]) as session:
        await said(session, "Write")
        directory = tmp_path / "data" / "files"
        assert directory.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


async def test_where_nothing_is_kept_the_reason_is_told(tmp_path: Path) -> None:
    async with session_of(tmp_path, TWO_TURNS[:2], file_history=False) as session:
        await said(session, "Write")
        with pytest.raises(CommandRefused, match="file_history is off"):
            await session.rewind("", files=True)
        assert len(await session.messages()) == 4
        with pytest.raises(CommandRefused, match="has no message"):
            await session.changed_files("nowhere")
    assert not (tmp_path / "data" / "files").exists()


async def test_the_chat_shows_the_files_first_and_restores_them_when_asked_again(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    async with session_of(tmp_path, TWO_TURNS) as session:
        await said(session, "Write")
        await said(session, "More")
        acting = Acting(session._open.store, session, {})

        async def perform(text: str) -> tuple[str, str]:
            typed = parse(text)
            assert typed is not None
            transcript = Screenplay()
            transcript.apply_all(await session.history())
            done = await acting.run(typed, transcript, 80, UNICODE)
            return "\n".join(plain(line) for line in done.lines), done.text

        shown, back = await perform("/rewind #5 --files")
        assert "changed  a.txt" in shown and "  +two" in shown and "added  b.txt" in shown
        assert back.startswith("/rewind ") and back.endswith(" --files")
        assert len(changed(root)) == 2
        (root / "b.txt").write_text("mine")
        shown, back = await perform(back)
        assert "left alone" in shown and back.endswith(" --files")
        shown, back = await perform(back)
        assert back == "More" and changed(root) == {"a.txt": "one", "b.txt": "mine"}
        assert "restored  a.txt" in shown and "what calls did elsewhere" not in shown
        shown, _ = await perform("/uncompact")
        assert "restored  a.txt" in shown
        assert changed(root) == {"a.txt": "two", "b.txt": "mine"}
        (root / "b.txt").write_text("b")
        _, back = await perform("/rewind #5 --files")
        shown, _ = await perform(back)
        assert "removed  b.txt" in shown and changed(root) == {"a.txt": "one"}
        shown, _ = await perform("/uncompact")
        assert "brought back  b.txt" in shown
        (root / "a.txt").write_text("mine")
        (root / "b.txt").write_text("mine")
        shown, _ = await perform("/rewind #5 --files")
        assert "No file would be restored" in shown


async def test_what_a_subagent_changed_is_restored_with_the_parents_steps(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    environment = {"ULLAGE_DATA": str(tmp_path / "data"), "HOME": "/nowhere"}
    child = ullage.Agent(
        ScriptedModel([tool_call("write", path="child.txt", content="c"), "Done."]),
        tools=["write"],
        root=root,
        environment=environment,
    )
    parent = ullage.Agent(
        ScriptedModel(
            [
                [
                    tool_call("helper", task="Write"),
                    tool_call("write", path="parent.txt", content="p"),
                ],
                "Done.",
            ]
        ),
        tools=[ullage.subagent(child, name="helper", description="Helps."), "write"],
        root=root,
        store=tmp_path / "sessions.db",
        environment=environment,
    )
    async with parent.session("s") as session:
        await session.ask("Work")
        assert changed(root) == {"child.txt": "c", "parent.txt": "p"}
        told = await session.changed_files()
        assert [one.path for one in told.files] == ["child.txt", "parent.txt"]
        await session.rewind("", files=True)
        assert changed(root) == {}


async def test_a_step_in_a_killed_process_is_in_the_ledger_after_the_next_start(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    async with session_of(tmp_path, [*TWO_TURNS[:2], "Hello."]) as session:
        first = await said(session, "Write")
        history = history_of(await session._look())
        assert not isinstance(history, str)
        machine, *_ = new_owner().split(":")
        killed = FileHistory(
            root, history.file.parent, history._store, f"{machine}:4194303:1:dead"
        )
        killed.begin("killed", "s", ["call"])
        (root / "half.txt").write_text("half")
        await said(session, "Hello")
        steps = [one for one in await session.history() if isinstance(one, FilesChanged)]
        assert steps[-1].paths == ("half.txt",)
        await session.rewind(first, files=True)
        assert changed(root) == {}
