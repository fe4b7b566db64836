"""A long session in a store, and opening it as a program does, for ``bench.loop``; a process of its own.

python -m bench.loop_opening make FOLDER
python -m bench.loop_opening open FOLDER        # prints seconds
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from bench.history import chat_messages, events
from ullage.checkpoint.checkpoint import Checkpoints
from ullage.events import CallEnded, CallStarted, Event, MessageAdded, SessionStarted
from ullage.messages import ToolCallPart, ToolResultPart
from ullage.meter.meter import Meter
from ullage.store.sqlite.store import SqliteStore
from ullage.store.store import Checkpoint
from ullage.turns.loop import Loop, apply
from ullage_agent.loop.memory import LoopMemory, remember
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.opening import pack, written_by

SESSION = "long"
MESSAGES = 100_000
"""All of them still in view."""
AT_ONCE = 1_000
BEHIND = 100
"""Events that came after the checkpoint."""
FILE = "sessions.db"


def drawn(name: str, letters: int) -> str:
    return blake2b(name.encode(), digest_size=letters // 2).hexdigest()


def renamed(event: Event) -> Event:
    """The event under ids that don't follow each other, as those of programs and providers don't."""
    match event:
        case CallStarted() | CallEnded():
            return msgspec.structs.replace(event, call=drawn(event.call, 16))
        case MessageAdded():
            message = event.message
            name = drawn(message.id, 16)
            parts: list[Any] = []
            for place, part in enumerate(message.parts):
                fields: dict[str, Any] = {"id": f"{name}/{place}"}
                if isinstance(part, ToolCallPart | ToolResultPart):
                    fields["call_id"] = "call_" + drawn(part.call_id, 24)
                parts.append(msgspec.structs.replace(part, **fields))
            call = message.call and drawn(message.call, 16)
            return MessageAdded(
                message=msgspec.structs.replace(
                    message, id=name, parts=tuple(parts), call=call
                )
            )
        case _:
            return event


def ledger_events() -> Iterator[Event]:
    """The session, its events numbered and dated."""
    for seq, event in enumerate(events(chat_messages(MESSAGES)), 1):
        yield msgspec.structs.replace(
            renamed(event), seq=seq, id=drawn(str(seq), 16), at=1.75e9 + seq * 1.618
        )


async def make(folder: Path) -> None:
    """Write the session and its checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    store = SqliteStore(folder / FILE)
    begun: list[Event] = [
        SessionStarted(model="claude-opus-4-6", wire="messages", provider="anthropic")
    ]
    written = list(await store.create(SESSION, begun))
    lease = await store.acquire(SESSION, "bench", ttl_s=3_600)
    every = [event for event in ledger_events() if not isinstance(event, SessionStarted)]
    for first in range(0, len(every), AT_ONCE):
        written += await store.append(
            lease, every[first : first + AT_ONCE], after=len(written)
        )
    meter, loop, memory = Meter(window=100_000_000, session=SESSION), Loop(), LoopMemory()
    for event in written[:-BEHIND]:
        meter.apply(event)
        loop = apply(loop, event)
        memory = remember(memory, event)
    data = pack(loop, memory, Checkpoints().save(meter._fold))
    await store.save_checkpoint(
        lease, Checkpoint(len(written) - BEHIND, written_by(), data)
    )
    await store.release(lease)
    await store.close()


async def open_once(folder: Path) -> dict[str, float]:
    """Seconds until the session is open, and until its reading is there."""
    agent = Agent(
        "anthropic:claude-opus-4-6",
        store=folder / FILE,
        environment={"ANTHROPIC_API_KEY": "none"},
        config=False,
        window=100_000_000,
    )
    start, began = time.perf_counter(), time.process_time()
    async with agent.session(SESSION, resume=False) as session:
        opened = time.perf_counter() - start
        reading = await session.context()
        found = {
            "open": opened,
            "read": time.perf_counter() - start,
            "cpu": time.process_time() - began,
        }
        if len(await session._meter()) < MESSAGES or not reading.used.tokens:
            raise SystemExit("the session is not whole")
    return found


if __name__ == "__main__":
    if sys.argv[1] == "make":
        asyncio.run(make(Path(sys.argv[2])))
    else:
        print(json.dumps(asyncio.run(open_once(Path(sys.argv[2])))))
