"""The wires that Ullage speaks, one folder each. A new one is a folder and a line of ``_LISTED``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires import anthropic, chat, gemini, responses
from ullage.errors import InvalidRequest

__all__ = ["WIRES", "wire_named"]

_LISTED: Final = (gemini.WIRE, anthropic.WIRE, chat.WIRE, responses.WIRE)

WIRES: Final[Mapping[str, Wire]] = {wire.name: wire for wire in _LISTED}
"""By name. The first that claims a body reads it: ``chat`` takes what ``messages`` leaves."""


def wire_named(name: str) -> Wire:
    """What is known of a wire. Raises ``InvalidRequest`` for one that has no codec."""
    wire = WIRES.get(name)
    if wire is None:
        raise InvalidRequest(f"There is no codec for the wire {name!r}; there is one for {', '.join(WIRES)}.")
    return wire
