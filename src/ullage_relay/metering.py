"""The process that meters: started, given what was tapped, and started again when it ends.

Nothing here delays traffic: what the process does not read waits in ``Taps``, and is dropped when that is full.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from ullage_relay.frames import BadFrame, FrameReader, TapFrame, encoded
from ullage_relay.own_answers import JSON
from ullage_relay.taps import Taps

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
VERDICT_WITHIN_S: Final = 2.0
READY_WITHIN_S: Final = 20.0
"""How long the first process may take until it can judge calls."""

KILLED_WITHIN_S: Final = 2.0
HANGS_AFTER_S: Final = 60.0
"""A process that has something to do and neither reads nor writes for so long is ended."""

READ_AFTER_EXIT_S: Final = 1.0
"""What a process wrote last is read until its pipes end, or for so long."""

NICENESS: Final = 5
"""Where processors are scarce, the programs that wait for answers come first."""

PIECE: Final = 256 * 1024
"""Bytes that are given to the pipe at once."""


_CONTENT_TYPE: Final = re.compile(r"[a-z]+/[a-z-]+(; ?charset=utf-8)?")


class GuardVerdict(NamedTuple):
    """Whether the guard refuses a call, and the answer that the client gets then."""

    refuses: bool
    status: int = 400
    content_type: str = JSON
    body: bytes = b""


PASSES: Final = GuardVerdict(False)


class MeteringPipe(asyncio.SubprocessProtocol):
    """One process, and the frames to and from it."""

    def __init__(
        self, taps: Taps, settings: bytes, came: Callable[[TapFrame], None]
    ) -> None:
        self._taps = taps
        self._came = came
        self._reader = FrameReader()
        self._rest = memoryview(encoded({"kind": "settings"}, settings))
        """What the process has yet to be given of the present frame."""
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._is_full = False
        self._is_ending = False
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.moved_at = asyncio.get_running_loop().time()
        """When it last read or wrote anything."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, transport.get_pid(), NICENESS)
        self.pump()

    def pump(self) -> None:
        """Give the process what waits, as far as it reads."""
        while self._stdin is not None and not self._is_full:
            if not self._rest:
                frame = self._taps.next_frame()
                if frame is None:
                    self._close_if_ending()
                    break
                self._rest = memoryview(frame)
            piece = self._rest[:PIECE]
            self._rest = self._rest[PIECE:]
            self._stdin.write(piece)
            self._moved()

    def end_after_all(self) -> None:
        """The process gets what still waits, and then the end of its stdin."""
        self._is_ending = True
        self.pump()

    def close(self) -> None:
        """End the process if it still runs, and let go of its pipes before the loop ends."""
        if self._transport is not None:
            self._transport.close()

    def kill(self) -> None:
        if self._transport is not None:
            with suppress(ProcessLookupError):
                self._transport.kill()

    def hangs(self, now: float) -> bool:
        """Whether it has something to do and does nothing."""
        is_busy = self._is_full or self._taps.awaits_storage
        return is_busy and now - self.moved_at > HANGS_AFTER_S

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        # Not at once: asyncio closes the pipe on what is written here if the pipe is closed here too, and loses it.
        self._is_full = False
        self._moved()
        asyncio.get_running_loop().call_soon(self.pump)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._moved()
        try:
            for frame in self._reader.feed(data):
                self._came(frame)
        except BadFrame as problem:
            say(f"metering wrote what is no frame, and is started again. {problem}")
            self.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._stdin = None
        if not self._is_ending:
            self.kill()

    def process_exited(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(READ_AFTER_EXIT_S, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _moved(self) -> None:
        self.moved_at = asyncio.get_running_loop().time()

    def _close_if_ending(self) -> None:
        if self._is_ending and self._stdin is not None:
            self._stdin.close()
            self._stdin = None


class MeteringChild:
    """The process that meters, whichever runs at present."""

    def __init__(self, command: list[str], settings: bytes, taps: Taps) -> None:
        self._command = command
        self._settings = settings
        self._taps = taps
        self._pipe: MeteringPipe | None = None
        self._pause_s = FIRST_PAUSE_S
        self._verdicts: dict[str, asyncio.Future[GuardVerdict]] = {}
        self._stopping = asyncio.Event()
        self._is_ready = asyncio.Event()
        self._is_waited_for = False
        self._task: asyncio.Task[None] | None = None
        self._last_said = ""

    @property
    def state(self) -> str:
        """``running``, ``restarting``, or ``off`` when there is no command."""
        if not self._command:
            return "off"
        return "running" if self._pipe is not None else "restarting"

    def pump(self) -> None:
        """Something was added to the taps."""
        if self._pipe is not None:
            self._pipe.pump()

    async def start(self, *, is_waited_for: bool = False) -> None:
        """Keep a process running until ``stop``. Returns once the first one was started, or could not be.

        ``is_waited_for``: returns once the first one can judge calls, or has ended.
        """
        if not self._command:
            return
        self._is_waited_for = is_waited_for
        self._task = asyncio.create_task(self._run())
        try:
            await asyncio.wait_for(self._is_ready.wait(), READY_WITHIN_S)
        except TimeoutError:
            say("metering is not ready yet; the guard lets calls pass until it is.")

    async def stop(self, within_s: float) -> None:
        """The process stores what it was given and ends; after ``within_s`` it is killed."""
        self._stopping.set()
        if self._task is None:
            return
        if self._pipe is not None:
            self._pipe.end_after_all()
        await asyncio.wait([self._task], timeout=within_s)
        if not self._task.done():
            if self._pipe is not None:
                self._pipe.kill()
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

    async def verdict(self, call: str) -> GuardVerdict:
        """What the guard says of a call. It passes when there is no word within two seconds."""
        if self._pipe is None:
            return PASSES
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[GuardVerdict] = loop.create_future()
        self._verdicts[call] = waiting
        try:
            return await asyncio.wait_for(waiting, VERDICT_WITHIN_S)
        except TimeoutError:
            return PASSES
        finally:
            del self._verdicts[call]

    async def _one_process(self) -> None:
        """Start a process and wait for its end."""
        loop = asyncio.get_running_loop()
        try:
            _, pipe = await loop.subprocess_exec(
                lambda: MeteringPipe(self._taps, self._settings, self._frame_came),
                *self._command,
                stdin=-1,
                stdout=-1,
                stderr=None,
                start_new_session=True,  # Ctrl-C ends the relay, and the relay this process
            )
        except OSError as error:
            self._is_ready.set()
            self._say_once(
                f"metering can't be started: {error}. Traffic goes on unmetered."
            )
            return
        self._pipe = pipe
        if not self._is_waited_for:
            self._is_ready.set()
        if self._stopping.is_set():
            pipe.end_after_all()
        try:
            await self._until_end(pipe)
        finally:
            pipe.close()
            self._pipe = None
            self._is_ready.set()
            self._taps.process_died()
            for waiting in self._verdicts.values():
                if not waiting.done():
                    waiting.set_result(PASSES)
        if not self._stopping.is_set():
            self._say_once("metering ended and is started again. Traffic goes on.")

    async def _until_end(self, pipe: MeteringPipe) -> None:
        loop = asyncio.get_running_loop()
        while not pipe.ended.done():
            await asyncio.wait([pipe.ended], timeout=HANGS_AFTER_S / 4)
            if pipe.hangs(loop.time()):
                pipe.kill()

    def _frame_came(self, frame: TapFrame) -> None:
        self._is_ready.set()
        call = frame.text("call")
        if frame.kind == "stored":
            self._pause_s = FIRST_PAUSE_S
            self._last_said = ""
            self._taps.stored(call)
        elif frame.kind == "verdict" and call in self._verdicts:
            waiting = self._verdicts[call]
            if not waiting.done():
                waiting.set_result(_verdict(frame))

    def _say_once(self, text: str) -> None:
        if text != self._last_said:
            self._last_said = text
            say(text)


def _verdict(frame: TapFrame) -> GuardVerdict:
    if frame.header.get("refuse") is not True:
        return PASSES
    status = frame.header.get("status")
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status < 600:
        status = 400
    content_type = frame.text("content_type")
    if _CONTENT_TYPE.fullmatch(content_type) is None:
        content_type = JSON
    return GuardVerdict(True, status, content_type, frame.payload)


def say(text: str) -> None:
    """A line for the person who started the relay. A terminal that is gone stops nothing."""
    try:
        os.write(sys.stderr.fileno(), f"ullage proxy: {text}\n".encode())
    except (OSError, ValueError, AttributeError):
        return
