"""A coding agent: reads, edits and runs commands in a directory, and asks before it changes or runs anything."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ullage
from ullage import events
from ullage_simulators import load, running

HERE = Path(__file__).parent
TASK = "A test of this project fails. Find out why and mend it."
SYSTEM = "You mend programs. Run the tests first, make the smallest change, and run them again."


@contextmanager
def provider() -> Iterator[dict[str, Any]]:
    """What reaches the model: your key, or else a simulator on this machine that plays script.toml."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        yield {}
        return
    with running(load(HERE / "script.toml")) as simulator:
        key = {**os.environ, "ANTHROPIC_API_KEY": "any"}
        yield {"base_url": simulator.url("anthropic"), "environment": key}


async def work(agent: ullage.Agent, task: str, *, says_yes: bool) -> None:
    """Give the agent a task, show what it does, and answer its questions."""
    async with agent.session() as session:
        await session.send(task)
        async for event in session.events(after=0):
            match event:
                case events.DraftPiece(kind="text", text=text):
                    print(text, end="", flush=True)
                case events.ToolStarted(name=name):
                    print(f"\n[{name}]")
                case events.ApprovalAsked():
                    await answer(session, says_yes=says_yes)
                case events.TurnEnded():
                    break
        print(f"\n{await session.context()}")


async def answer(session: ullage.Session, *, says_yes: bool) -> None:
    """Show each call that waits, whole, and allow it or not."""
    for question in await session.questions():
        print()
        for line in question.lines:
            print("  " + "".join(piece.text for piece in line))
        said = "y" if says_yes else await asyncio.to_thread(input, "Allow it? [y/N] ")
        is_allowed = said.strip().lower() == "y"
        await session.approve(question.call_id, is_allowed, digest=question.digest)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", nargs="?", default=TASK)
    parser.add_argument(
        "--root", type=Path, help="a project of yours, instead of a copy of project/"
    )
    parser.add_argument("--yes", action="store_true", help="allow every call")
    options = parser.parse_args()
    with provider() as reached, tempfile.TemporaryDirectory() as place:
        root = options.root or shutil.copytree(HERE / "project", Path(place) / "project")
        agent = ullage.Agent(
            "anthropic:claude-haiku-4-5",
            tools=["read", "list", "search", "edit", "write", "shell"],
            approve=["edit", "write", "shell"],
            system=SYSTEM,
            root=root,
            store=Path(place) / "sessions.db",
            config=False,
            **reached,
        )
        await work(agent, options.task, says_yes=options.yes)


if __name__ == "__main__":
    asyncio.run(main())
