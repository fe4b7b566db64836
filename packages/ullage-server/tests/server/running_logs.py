"""Logs of Claude Code that grow, sessions of the proxy, and a list of the sessions in one home directory."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ullage.directories import data_directory
from ullage.events import CallEnded, CallStarted, Event, MessageAdded, SessionStarted
from ullage.importers import find_sessions
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage.usage import Usage
from ullage.watching.running import RunningList
from ullage_programs.settings import PROXY_FILE
from ullage_server.live import LiveSessions


class GrowingSession:
    """A session of Claude Code in a home directory: each ``turn`` adds a request and its answer to its log."""

    def __init__(self, home: Path, name: str, project: str = "shop") -> None:
        directory = home / ".claude" / "projects" / project
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"{name}.jsonl"
        self.name = name
        self.cwd = f"/home/ada/{project}"
        self.turns = 0
        self._parent: str | None = None

    def turn(self, prompt: str, answer: str = "Done.") -> None:
        """One more turn, which the next look finds."""
        self.turns += 1
        usage = {"input_tokens": 20_000 + 500 * self.turns, "output_tokens": 20}
        message = {
            "role": "assistant",
            "id": f"msg-{self.turns}",
            "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": answer}],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        asked = {"role": "user", "content": prompt}
        lines = [self._line("user", asked), self._line("assistant", message)]
        with self.path.open("ab") as file:
            file.write(b"".join(lines))

    def _line(self, kind: str, message: dict[str, Any]) -> bytes:
        name = f"{kind}-{self.turns}"
        line = {
            "type": kind,
            "uuid": name,
            "parentUuid": self._parent,
            "sessionId": self.name,
            "version": "2.1.0",
            "cwd": self.cwd,
            "isSidechain": False,
            "timestamp": f"2026-11-20T10:{self.turns % 60:02}:00.000Z",
            "message": message,
        }
        self._parent = name
        return json.dumps(line).encode() + b"\n"


def metered(home: Path, session: str, *, calls: int = 1) -> None:
    """Puts a session into the proxy's database of this home directory."""
    events: list[Event] = [
        SessionStarted(
            model="claude-haiku-4-5", provider="anthropic", program="claude-code 2.1.0"
        )
    ]
    for number in range(calls):
        text = TextPart(id=f"p{number}", text=f"Question {number} of {session}")
        asked = Message(id=f"m{number}", role="user", parts=(text,))
        usage = Usage(input=1_000 + 100 * number, output=20)
        events.append(MessageAdded(message=asked))
        events.append(CallStarted(call=f"{session}-{number}"))
        events.append(CallEnded(call=f"{session}-{number}", usage=usage, stop="end"))

    async def put() -> None:
        data = data_directory({"HOME": str(home)})
        data.mkdir(parents=True, exist_ok=True)
        store = SqliteStore(data / PROXY_FILE)
        await store.create(session, events)
        await store.close()

    with ThreadPoolExecutor(1) as apart:  # a browser's event loop has this thread
        apart.submit(asyncio.run, put()).result()


def live_in(home: Path, *, own: Path | None = None, rest: float = 0.0) -> LiveSessions:
    """What runs for this home directory; every look reads what is new, unless there is a ``rest``."""
    found = RunningList(find=lambda: find_sessions({}, home))
    return LiveSessions(own=own, running=found, list_s=0.0, rest=rest)
