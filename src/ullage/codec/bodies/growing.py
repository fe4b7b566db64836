"""A loop's bodies, each of which mostly extends the last one: only what is new is converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import ModuleType
from typing import Any

import msgspec

from ullage.codec.bodies import anthropic, chat, read_body
from ullage.codec.bodies.naming import Namer
from ullage.codec.bodies.parts import PartMaker
from ullage.codec.foreign import as_plain
from ullage.messages import Request

_HISTORY = "messages"
_WIRES: dict[str, ModuleType] = {anthropic.WIRE: anthropic, chat.WIRE: chat}
"""The wires whose messages stand one by one, so that those before need not be read again."""

_encoder = msgspec.json.Encoder(enc_hook=as_plain)


class GrowingBody:
    """Reads the bodies of one loop, in order. A body that extends no earlier one is read as a whole."""

    def __init__(self) -> None:
        self._marks: list[bytes] = []
        self._last: Request | None = None
        self._make: PartMaker | None = None

    def read(self, body: Mapping[str, Any], *, wire: str | None, provider: str | None, model: str) -> Request:
        """What ``read_body`` gives for this body, at the cost of comparing it with the last one and reading the rest.

        An edit anywhere, in place or not, is noticed: every message is compared by a digest of its JSON (1.5 µs each).
        Raises ``InvalidRequest`` as ``read_body`` does.
        """
        history = body.get(_HISTORY)
        marks = _marks(history) if isinstance(history, list) else None
        request = self._extended(body, history, marks) if marks is not None else None
        if request is None:
            request = self._whole(body, wire=wire, provider=provider, model=model)
        self._marks, self._last = marks or [], request if marks else None
        return request

    def _extended(self, body: Mapping[str, Any], history: Any, marks: list[bytes]) -> Request | None:
        last, make, known = self._last, self._make, len(self._marks)
        if last is None or make is None or not last.messages or marks[:known] != self._marks:
            return None
        if body.get("model", last.model) != last.model:
            return None
        reader = _WIRES[last.wire]
        beside = {key: value for key, value in body.items() if key != _HISTORY}
        shell: Request = reader.read_request(as_plain(beside), provider=last.provider, model=last.model, make=make)
        return msgspec.structs.replace(
            shell,
            system=shell.system if last.wire == anthropic.WIRE else last.system,
            messages=last.messages + reader.read_messages(make, as_plain(history[known:])),
        )

    def _whole(self, body: Mapping[str, Any], *, wire: str | None, provider: str | None, model: str) -> Request:
        request = read_body(body, wire=wire, provider=provider, model=model)
        self._make = None
        if request.wire in _WIRES:
            self._make = PartMaker(
                namer=Namer.after(request), wire=request.wire, provider=request.provider, model=request.model
            )
        return request


def _marks(history: Sequence[object]) -> list[bytes] | None:
    """A digest of each message; ``None`` where one can't be written as JSON, and the body is read as a whole."""
    try:
        return [blake2b(_encoder.encode(message), digest_size=16).digest() for message in history]
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None
