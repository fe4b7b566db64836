"""Calls that wait for metering: what is kept of each until it is stored, and how much that may be."""

from __future__ import annotations

from collections import deque
from typing import Final

from ullage.bounds import ANSWER_AT_MOST
from ullage_proxy.relay.frames import PAYLOAD_AT_MOST, encoded

WAITING_AT_MOST: Final = 64 * 1024 * 1024
"""Bytes of all calls together, those that still run included. Beyond that, calls are not metered."""

DEATHS_AT_MOST: Final = 10
"""A call that so many processes were given and died before they stored it is given to no other."""

OVERHEAD: Final = 2_000
"""Bytes that a call counts for beside its bodies, so that many small ones are bounded too."""


class TappedCall:
    """One call: its request and its answer, until both are stored."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frames: list[bytes] = []
        self.body: list[bytes] = []
        """Pieces of the request, and then of the answer."""
        self.body_size = 0
        self.held = 0
        self.is_cut = False
        self.is_dropped = False
        self.sent = 0
        """Frames that the present process was given."""
        self.deaths = 0


class Taps:
    """All calls that wait, in the order of their requests."""

    def __init__(self, relay: str, most: int = WAITING_AT_MOST) -> None:
        self._relay = relay
        self._most = most
        self._calls: dict[str, TappedCall] = {}
        """Those whose request is complete."""
        self._queue: deque[TappedCall] = deque()
        """A call for each frame that the present process has yet to be given."""
        self._lost = 0
        """Dropped calls that metering has not been told of."""
        self.held = 0
        self.begun = 0
        self.dropped = 0

    @property
    def is_empty(self) -> bool:
        return not self._calls and not self._lost

    @property
    def waiting(self) -> int:
        """Calls that metering has not stored."""
        return len(self._calls)

    def begin(self) -> TappedCall:
        """A call whose request begins to come."""
        self.begun += 1
        call = TappedCall(f"{self._relay}-{self.begun}")
        self._hold(call, OVERHEAD)
        return call

    def keep_request(self, call: TappedCall, data: bytes) -> None:
        """A piece of the request's body. One that no frame could hold is not metered."""
        if call.body_size + len(data) > PAYLOAD_AT_MOST:
            self.drop(call)
        self._keep(call, data)

    def keep_answer(self, call: TappedCall, data: bytes) -> None:
        """A piece of the response's body. What exceeds ``ANSWER_AT_MOST`` is left out."""
        room = ANSWER_AT_MOST - call.body_size
        if len(data) > room:
            call.is_cut = True
            data = data[:room]
        if data:
            self._keep(call, data)

    def request_came(self, call: TappedCall, header: dict[str, object]) -> None:
        """The request is complete, and metering may have it."""
        if not call.is_dropped:
            self._calls[call.name] = call
            self._add(call, {"kind": "request", "call": call.name, **header})

    def answer_came(self, call: TappedCall, header: dict[str, object]) -> None:
        """The answer is complete, or there will be none."""
        if call.is_dropped:
            return
        if call.name not in self._calls:
            self.forget(call)
            return
        if call.is_cut:
            header["cut"] = True
        self._add(call, {"kind": "answer", "call": call.name, **header})

    def stored(self, name: str) -> None:
        """Metering has this call in its ledger."""
        call = self._calls.get(name)
        if call is not None and len(call.frames) == call.sent == 2:
            self.forget(call)

    def forget(self, call: TappedCall) -> None:
        """Nothing of this call is kept any longer."""
        self._calls.pop(call.name, None)
        self.held -= call.held
        call.held = 0
        call.is_dropped = True
        call.frames.clear()
        call.body.clear()

    def drop(self, call: TappedCall) -> None:
        """This call is not metered, and that is counted."""
        if not call.is_dropped:
            self.forget(call)
            self.dropped += 1
            self._lost += 1

    def next_frame(self) -> bytes | None:
        """The next frame for metering; ``None`` when there is none."""
        if self._lost:
            lost = encoded({"kind": "lost", "calls": self._lost})
            self._lost = 0
            return lost
        while self._queue:
            call = self._queue.popleft()
            if not call.is_dropped:
                call.sent += 1
                return call.frames[call.sent - 1]
        return None

    def process_died(self) -> None:
        """What was given to the process that died and was not stored is sent again to the next."""
        self._queue.clear()
        for call in list(self._calls.values()):
            if call.sent:
                call.sent = 0
                call.deaths += 1
            if call.deaths >= DEATHS_AT_MOST:
                self.drop(call)
            self._queue.extend([call] * len(call.frames))

    def _keep(self, call: TappedCall, data: bytes) -> None:
        if call.is_dropped:
            return
        call.body.append(data)
        call.body_size += len(data)
        self._hold(call, len(data))

    def _hold(self, call: TappedCall, size: int) -> None:
        call.held += size
        self.held += size
        if self.held > self._most:
            self.drop(call)

    def _add(self, call: TappedCall, header: dict[str, object]) -> None:
        self._queue.append(call)
        call.frames.append(encoded(header, b"".join(call.body)))
        call.body.clear()
        call.body_size = 0
