"""How many functions of ours one step passes, and in how many files: what a reader has to follow.

    uv run python -m bench.walks           # counts
    uv run python -m bench.walks --list    # and each function, by file

*Agent.ask* is a second message of an open session, answered in one stream; *Session.ask* the same without opening. *A
log's line* is one more call of a Claude Code log that is followed. Functions that run in threads are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

from bench.claude_log import write_log
from bench.process import local_server
from bench.results import Table, show
from ullage.importers.growing import GrowingLog
from ullage.watching.running import log_meter
from ullage.watching.watched import Watched
from ullage_agent.runtime.agent import Agent

ROOT = Path(__file__).parents[1] / "packages"
LOG_BYTES = 1_000_000


class Walk:
    """The functions of ours that were called, and how often."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A block whose calls count."""
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(ROOT)):
            self.calls[frame.f_code] += 1

    @property
    def functions(self) -> Counter[str]:
        """Files with their functions, as often as each has some; comprehensions belong to their function."""
        found = {
            (code.co_filename, code.co_firstlineno, code.co_name)
            for code in self.calls
            if not code.co_name.startswith("<")
        }
        return Counter(file.removeprefix(f"{ROOT}/") for file, _, _ in found)

    def list(self) -> str:
        """Each function, by file."""
        lines = [
            f"{code.co_filename.removeprefix(f'{ROOT}/')}:{code.co_firstlineno} {code.co_qualname} {times}"
            for code, times in self.calls.items()
        ]
        return "\n".join(sorted(lines))


async def asks(url: str, store: Path) -> tuple[Walk, Walk]:
    """A warm ``Agent.ask``, and a warm ``Session.ask``."""
    agent = Agent(
        "anthropic:claude-opus-4-6",
        store=store,
        environment={"ANTHROPIC_API_KEY": "none"},
        config=False,
        base_url=f"{url}/anthropic/v1",
        window=10_000_000,
    )
    of_agent, of_session = Walk(), Walk()
    async with agent.session("open"):
        await agent.ask("Tell me.", session="asked")
        await agent.ask("Tell me.", session="asked")
        with of_agent.counted():
            await agent.ask("Tell me.", session="asked")
    async with agent.session("asked") as session:
        await session.ask("Tell me.")
        with of_session.counted():
            await session.ask("Tell me.")
    return of_agent, of_session


def line() -> Walk:
    """One more call of a log."""
    walk = Walk()
    lines = write_log(LOG_BYTES).read_bytes().splitlines(keepends=True)
    last = max(at for at, each in enumerate(lines) if b'"type":"assistant"' in each)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "session.jsonl"
        path.write_bytes(b"".join(lines[: last - 1]))
        watched = Watched(GrowingLog(path), log_meter)
        watched.look()
        for each in lines[last - 1 : last + 1]:
            with path.open("ab") as file:
                file.write(each)
            walk = Walk()
            with walk.counted():
                assert watched.look() is not None
    return walk


def main() -> None:
    """Walk, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    with (
        local_server("-m", "bench.loop_server", "1", "0") as url,
        tempfile.TemporaryDirectory() as place,
    ):
        of_agent, of_session = asyncio.run(asks(url, Path(place) / "sessions.db"))
    walks = {"Agent.ask": of_agent, "Session.ask": of_session, "a log's line": line()}
    rows = [
        (
            name,
            str(walk.calls.total()),
            str(walk.functions.total()),
            str(len(walk.functions)),
        )
        for name, walk in walks.items()
    ]
    show(
        Table(
            "What one step passes", ("step", "calls", "functions", "files"), tuple(rows)
        )
    )
    if arguments.list:
        for name, walk in walks.items():
            print(f"\n# {name}\n{walk.list()}")


if __name__ == "__main__":
    main()
