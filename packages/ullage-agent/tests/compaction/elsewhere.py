"""A session gone on with from its file alone, in this process or in one of its own.

python -m tests.compaction.elsewhere '{"file": …, "settings": …, "steps": [["uncompact", "compaction-9"], …]}'
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from tests.compaction.stage import KEYS, SESSION
from ullage_agent.runtime.agent import Agent


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done in the session of this file: things said, each under an id of its own, or undone."""

    file: str
    settings: dict[str, Any]
    steps: tuple[tuple[Literal["say", "uncompact"], str], ...]

    async def here(self) -> int:
        """Do it with an agent that is new to the session; gives up to which event it was opened from a checkpoint."""
        agent = Agent(
            store=Path(self.file), environment=KEYS, config=False, **self.settings
        )
        async with agent.session(SESSION) as session:
            opened = (await session._look()).checkpointed
            for does, name in self.steps:
                if does == "uncompact":
                    await session.uncompact(name)
                else:
                    await session.send(f"Said by the way: {name}.", id=name)
                result = await session.wait(check=False)
                assert does == "uncompact" or result.reason == "finished", result.note
        return opened

    async def in_a_process(self) -> int:
        """The same in a process of its own."""
        said = msgspec.json.encode(self).decode()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            __name__,
            said,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, problem = await process.communicate()
        assert process.returncode == 0, problem.decode()
        return int(out)


if __name__ == "__main__":
    print(asyncio.run(msgspec.json.decode(sys.argv[1], type=Elsewhere).here()))  # noqa: T201
