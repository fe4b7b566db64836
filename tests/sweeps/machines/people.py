"""People who use a session through several servers that die: each asks again, at another one, until it is answered."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import httpx2

from tests.server.served import Frame, frames_of

ANSWERS_IN_S = 20.0
"""Seconds after which a request is sent again to another server."""

AGAIN_S = 0.5
GIVEN_UP_S = 300.0
"""Seconds after which a request that no server answers is a fault."""

SHORT, LONG, FILE = "Tell me.", "Tell me at length.", "Write it down."


class Seen(NamedTuple):
    """An event of a session's stream."""

    seq: int
    name: str
    id: str


class Person:
    """Uses one session at random, follows its stream, and writes down what was acknowledged."""

    def __init__(self, session: str, servers: Sequence[str], seed: str) -> None:
        self.session = session
        self.said: list[str] = []
        """Messages that were acknowledged."""
        self.sent: list[str] = []
        """All messages, also one that is asked for right now."""
        self.returned: set[str] = set()
        """Messages that an acknowledged cancel gave back."""
        self.cancels = 0
        """Cancels that were acknowledged, and had something to stop."""
        self.approved: set[str] = set()
        self.seen: list[Seen] = []
        """The stream, from the last reset on."""
        self.resets = 0
        self.breaks = 0
        """How often the stream or a request broke."""
        self._servers = servers
        self._random = random.Random(seed)
        self._client = httpx2.AsyncClient(timeout=ANSWERS_IN_S, trust_env=False)

    async def close(self) -> None:
        await self._client.aclose()

    async def begin(self) -> None:
        body = {"id": self.session}
        await self._asked("POST", "/v1/sessions", json=body, taken=(201, 409))

    async def live(self, until: asyncio.Event) -> None:
        """Use the session until the event is set, then until it is at rest."""
        while not until.is_set():
            await self._say()
            await self._pause(until, 0.1, 1.0)
            match self._random.randrange(6):
                case 0:
                    await self._cancel()
                case 1 | 2:
                    await self._say()
                case _:
                    pass
            await self._pause(until, 0.5, 2.0)
            await self._approve()
        while (state := (await self._state())["state"]) != "idle":
            if state == "waiting":
                await self._approve()
            await asyncio.sleep(AGAIN_S)

    async def follow(self) -> None:
        """Follow the stream until cancelled, at another server after each break."""
        while True:
            try:
                async for frame in self._frames():
                    self._note(frame)
            except httpx2.HTTPError:
                pass
            self.breaks += 1
            await asyncio.sleep(AGAIN_S)

    async def until_seen(self, seq: int) -> None:
        """Wait until the stream has come to this event."""
        while not self.seen or self.seen[-1].seq < seq:
            await asyncio.sleep(AGAIN_S)

    def _note(self, frame: Frame) -> None:
        if frame.event == "reset":
            self.resets += 1
            self.seen = [Seen(frame.data["seq"], "reset", frame.id)]
        elif frame.is_of_ledger:
            self.seen.append(Seen(frame.data["seq"], frame.event, frame.id))
        elif frame.id and self.seen:
            self.seen[-1] = self.seen[-1]._replace(id=frame.id)

    async def _frames(self) -> AsyncIterator[Frame]:
        server = self._random.choice(self._servers)
        headers = {"Last-Event-ID": self.seen[-1].id if self.seen else "0"}
        path = f"{server}/v1/sessions/{self.session}/events"
        async with self._client.stream("GET", path, headers=headers) as answer:
            answer.raise_for_status()
            lines: list[str] = []
            async for line in answer.aiter_lines():
                lines.append(line)
                if not line:
                    for frame in frames_of(lines):
                        yield frame
                    lines.clear()

    async def _pause(self, until: asyncio.Event, low: float, high: float) -> None:
        """A random while, cut short by the event."""
        with suppress(TimeoutError):
            await asyncio.wait_for(until.wait(), self._random.uniform(low, high))

    async def _say(self) -> None:
        name = f"{self.session}-m{len(self.sent)}"
        self.sent.append(name)
        body = {
            "text": f"{self._random.choice((SHORT, SHORT, LONG, FILE))} ({name})",
            "id": name,
            "kind": self._random.choice(("steer", "follow_up")),
        }
        await self._asked("POST", self._path("/messages"), json=body, taken=(202,))
        self.said.append(name)

    async def _cancel(self) -> None:
        answer = await self._asked("POST", self._path("/cancel"), json={}, taken=(200,))
        if answer["cancelled"]:
            self.cancels += 1
        self.returned |= {message["id"] for message in answer["returned"]}

    async def _approve(self) -> None:
        found = await self._asked("GET", self._path("/approvals"), taken=(200,))
        for question in found["approvals"]:
            call = question["call_id"]
            path = self._path(f"/approvals/{call}")
            body = {"approved": True, "digest": question["digest"]}
            # refused where a cancel or the same answer, acknowledged too late, came before
            answer = await self._asked("POST", path, json=body, taken=(202, 409))
            if answer is None:
                self.approved.add(call)

    async def _state(self) -> dict[str, Any]:
        return dict(await self._asked("GET", self._path(""), taken=(200,)))

    def _path(self, rest: str) -> str:
        return f"/v1/sessions/{self.session}{rest}"

    async def _asked(
        self, method: str, path: str, *, taken: Sequence[int], json: Any = None
    ) -> Any:
        """The answer of any server, None where it has no body. A request without an answer is repeated elsewhere."""
        ends = time.monotonic() + GIVEN_UP_S
        while True:
            server = self._random.choice(self._servers)
            try:
                answer = await self._client.request(method, server + path, json=json)
            except httpx2.HTTPError as problem:
                self.breaks += 1
                said = repr(problem)
            else:
                if answer.status_code in taken:
                    return answer.json() if answer.content else None
                assert answer.status_code == httpx2.codes.SERVICE_UNAVAILABLE, (
                    f"{method} {path}: {answer.status_code} {answer.text}"
                )
                self.breaks += 1
                said = answer.text
            assert time.monotonic() < ends, f"{method} {path} was never answered: {said}"
            await asyncio.sleep(AGAIN_S)
