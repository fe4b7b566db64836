"""The process that meters: ``python -m ullage_proxy.metering.metering_process``, started by the relay.

Frames of ``ullage_proxy.relay.frames`` come on its standard input and go back on its standard output. The first one
holds the settings. What a person should read goes to standard error. It ends when its input ends, after everything it
was given is stored.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from ullage.cli.screen import Screen
from ullage.directories import data_directory
from ullage.display.call_line import WIDE, CallFigures, call_line
from ullage.display.text import Span, kind_in_words, printable
from ullage.errors import StoreError
from ullage.log_lines import logged
from ullage.metering.lane_shelf import LearningHooks
from ullage.metering.metered_learning import StoredLearning
from ullage.store.archiving import prune
from ullage.store.sqlite.store import SqliteStore
from ullage_programs.facts import ClientSettings
from ullage_programs.programs import facts_of
from ullage_programs.settings import PROXY_FILE, settings_of
from ullage_proxy.metering.metering import CallMeter, MeteredCall
from ullage_proxy.relay.frames import BadFrame, FrameReader

log = logging.getLogger("ullage.proxy")

DAY_S: Final = 86_400.0
RETRY_S: Final = 2.0
"""Seconds until the store is tried again."""

LAST_TRIES: Final = 3

PIECE: Final = 256 * 1024


class MeteringSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line sets. ``store``: the database, in the user's data directory if empty."""

    store: str = ""
    is_stored: bool = True
    content: bool = True
    keep_days: float = 30.0
    """0 keeps sessions for ever."""
    lines: bool = False
    """A line on standard error for each call."""
    local: tuple[str, ...] = ()
    """Upstreams at loopback addresses: nothing is learnt from them for later sessions."""


_of_settings: Final = msgspec.json.Decoder(MeteringSettings)


def main() -> int:
    """Run until the input ends. Gives 0, or 2 for input that is none of the relay's."""
    # The relay ends this process by closing its input, also after a Ctrl-C in their terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(1)
    os.dup2(2, 1)  # nothing but frames may reach the relay
    form = "".join(sys.argv[1:])
    with logged("warning", os.environ, form=form, text="ullage: %(message)s"):
        try:
            asyncio.run(_run(out))
        except BadFrame as problem:
            _say(f"metering ends, as its input is damaged: {problem}")
            return 2
    return 0


def _say(words: str) -> None:
    log.warning("%s", printable(words))


async def _run(out: int) -> None:
    """Serve the frames of standard input until it ends."""
    stdin = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    reader = FrameReader()
    process: _Process | None = None
    try:
        while True:
            try:
                async with asyncio.timeout(process.wait_s if process else None):
                    data = await stdin.read(PIECE)
            except TimeoutError:
                if process is not None:
                    await process.look_after()
                continue
            if not data:
                break
            for frame in reader.feed(data):
                if frame.kind == "settings" and process is None:
                    process = _Process(_settings(frame.payload), out)
                    await process.begin()
                elif process is not None:
                    process.give(await process.metering.take(frame))
    finally:
        if process is not None:
            await process.end()


def _settings(payload: bytes) -> MeteringSettings:
    try:
        return _of_settings.decode(payload or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        _say(f"the settings of metering can't be read ({problem}): its own are used.")
        return MeteringSettings()


class _Process:
    """Metering with its store, and what is done from time to time."""

    def __init__(
        self,
        settings: MeteringSettings,
        out: int,
    ) -> None:
        self._settings = settings
        self._out = out
        self._kept_at = 0.0
        self._path = (
            Path(settings.store) if settings.store else data_directory() / PROXY_FILE
        )
        self._store = SqliteStore(self._path) if settings.is_stored else None
        self._learning = StoredLearning(say=_say)
        self._lines = CallPrinter() if settings.lines else None
        learning = self._learning
        self.metering = CallMeter(
            self._store,
            local=settings.local,
            keeps_content=settings.content,
            learnt=LearningHooks(
                calibration=learning.calibration,
                first_calls=learning.first_calls,
                remember=learning.remember,
            ),
            settings_of=self._settings_of,
            say=_say,
            show=self._show,
        )

    @property
    def wait_s(self) -> float:
        """Seconds until ``look_after`` has something to do."""
        return RETRY_S if self.metering.is_behind else DAY_S / 24

    async def begin(self) -> None:
        await self._forget_old()
        await self.metering.restore(time.time())

    async def look_after(self) -> None:
        """What is due: the store again, old sessions."""
        self.give(await self.metering.settle())
        if time.monotonic() - self._kept_at > DAY_S:
            await self._forget_old()

    async def end(self) -> None:
        for _ in range(LAST_TRIES):
            self.give(await self.metering.settle())
            if not self.metering.is_behind:
                break
            await asyncio.sleep(RETRY_S / LAST_TRIES)
        self._learning.write()
        if self._store is not None:
            await self._store.close()

    def give(self, frames: list[bytes]) -> None:
        """Write frames to the relay; one that has ended reads nothing more."""
        for frame in frames:
            rest = memoryview(frame)
            while rest:
                try:
                    rest = rest[os.write(self._out, rest) :]
                except OSError:
                    return

    async def _forget_old(self) -> None:
        self._kept_at = time.monotonic()
        if self._store is None or not self._settings.keep_days:
            return
        if not self._path.exists():
            return
        try:
            before = time.time() - self._settings.keep_days * DAY_S
            async for _ in prune(self._store, before=before):
                pass
        except StoreError as problem:
            _say(str(problem))

    def _settings_of(
        self,
        program: str,
        cwd: str,
    ) -> ClientSettings:
        return settings_of(facts_of(program), self._path, cwd).values

    def _show(self, call: MeteredCall) -> None:
        if self._lines is not None:
            self._lines.show(call)


class CallPrinter:
    """A line for each call on standard error, in colour on a terminal."""

    def __init__(self) -> None:
        self._screen = Screen(sys.stderr)

    def show(self, call: MeteredCall) -> None:
        """Print the line of a call."""
        glyphs = self._screen.glyphs
        lines = [call_line(figures_of(call), glyphs, _width())]
        if call.cause is not None:
            cause = printable(call.cause.line)
            lines.append((Span(f"          {cause}", "warn"),))
        with suppress(OSError, ValueError):
            self._screen.show(lines)
            sys.stderr.flush()


def _width() -> int:
    """Cells of the terminal that the lines are written to, which may change at any time."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return WIDE


def figures_of(call: MeteredCall) -> CallFigures:
    """The figures of a call's line."""
    placed, usage = call.placed, call.end.usage
    lane = placed.purpose
    name = placed.lane.removeprefix(f"{placed.session}.") if placed.is_child else lane
    problem = ""
    if call.end.outcome != "finished":
        problem = kind_in_words(call.end.error_kind) or call.end.outcome
    return CallFigures(
        at=call.at,
        program=placed.program,
        session=placed.session,
        lane=name,
        estimate=call.estimate.used.tokens,
        actual=None if usage is None else usage.context,
        problem=problem,
        reading=call.reading,
    )


if __name__ == "__main__":
    sys.exit(main())
