"""The process that meters: started, given what was tapped, and started again when it ends.

Nothing here delays traffic: what the process does not read waits in ``Taps``, and is dropped when that is full.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import Final

from ullage_proxy.relay.frames import BadFrame, FrameReader, TapFrame, encoded
from ullage_proxy.relay.taps import Taps

log = logging.getLogger("ullage.proxy")

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
KILLED_WITHIN_S: Final = 2.0
READ_AFTER_EXIT_S: Final = 1.0
"""What a process wrote last is read until its pipes end, or for so long."""

NICENESS: Final = 5
"""Where processors are scarce, the programs that wait for answers come first."""

PIECE: Final = 256 * 1024
"""Bytes that are given to the pipe at once."""


class MeteringChild:
    """The process that meters, whichever runs at present."""

    def __init__(self, command: list[str], settings: bytes, taps: Taps) -> None:
        self._command = command
        self._settings = settings
        self._taps = taps
        self._process: asyncio.subprocess.Process | None = None
        self._pause_s = FIRST_PAUSE_S
        self._has_work = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._last_said = ""

    @property
    def state(self) -> str:
        """``running``, ``restarting``, or ``off`` when there is no command."""
        if not self._command:
            return "off"
        return "running" if self._process is not None else "restarting"

    def pump(self) -> None:
        """Something was added to the taps."""
        self._has_work.set()

    def start(self) -> None:
        """Keep a process running until ``stop``."""
        if self._command:
            self._task = asyncio.create_task(self._run())

    async def stop(self, within_s: float) -> None:
        """The process stores what it was given and ends; after ``within_s`` it is killed."""
        self._stopping.set()
        self._has_work.set()
        if self._task is None:
            return
        await asyncio.wait([self._task], timeout=within_s)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=KILLED_WITHIN_S)
        missing = self._taps.waiting
        if missing:
            calls = "1 call was" if missing == 1 else f"{missing} calls were"
            say(f"{calls} not stored before the end, and may be missing.")

    async def _run(self) -> None:
        while not (self._stopping.is_set() and self._taps.is_empty):
            is_last = self._stopping.is_set()
            await self._one_process()
            if is_last:
                break
            try:
                await asyncio.wait_for(self._stopping.wait(), self._pause_s)
            except TimeoutError:
                self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 2)

    async def _one_process(self) -> None:
        """Start a process and wait for its end."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,  # Ctrl-C ends the relay, and the relay this process
            )
        except OSError as error:
            self._say_once(
                f"metering can't be started: {error}. Traffic goes on unmetered."
            )
            return
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        self._process = process
        tasks = [asyncio.create_task(work(process)) for work in (self._write, self._read)]
        try:
            await process.wait()
            await asyncio.wait([tasks[1]], timeout=READ_AFTER_EXIT_S)
        finally:
            self._process = None
            _kill(process)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._taps.process_died()
        if not self._stopping.is_set():
            self._say_once("metering ended and is started again. Traffic goes on.")

    async def _write(self, process: asyncio.subprocess.Process) -> None:
        """Give the process what waits, as fast as it reads, and the end of its input once the relay ends."""
        stdin = process.stdin
        assert stdin is not None
        try:
            await self._write_frame(stdin, encoded({"kind": "settings"}, self._settings))
            while True:
                self._has_work.clear()
                while (frame := self._taps.next_frame()) is not None:
                    await self._write_frame(stdin, frame)
                if self._stopping.is_set():
                    break
                await self._has_work.wait()
        except ConnectionError:
            _kill(process)
        stdin.close()

    async def _write_frame(self, stdin: asyncio.StreamWriter, frame: bytes) -> None:
        for at in range(0, len(frame), PIECE):
            stdin.write(frame[at : at + PIECE])
            await stdin.drain()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        stdout = process.stdout
        assert stdout is not None
        reader = FrameReader()
        try:
            while data := await stdout.read(PIECE):
                for frame in reader.feed(data):
                    self._frame_came(frame)
        except BadFrame as problem:
            say(f"metering wrote what is no frame, and is started again. {problem}")
            _kill(process)
        if not self._stopping.is_set():
            _kill(process)

    def _frame_came(self, frame: TapFrame) -> None:
        if frame.kind == "stored":
            self._pause_s = FIRST_PAUSE_S
            self._last_said = ""
            self._taps.stored(frame.text("call"))

    def _say_once(self, text: str) -> None:
        if text != self._last_said:
            self._last_said = text
            say(text)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def say(text: str) -> None:
    """A line for the person who started the relay. A terminal that is gone stops nothing."""
    log.warning("%s", text)
