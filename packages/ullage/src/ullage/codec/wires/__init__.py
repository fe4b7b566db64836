"""The wires that Ullage speaks, one folder each. A new one is a folder and its name here, twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from ullage.codec.rules import Target
from ullage.codec.wire import Wire
from ullage.codec.wires import anthropic, chat, gemini, responses
from ullage.errors import InvalidRequest
from ullage.messages import Request

__all__ = ["PYTHON", "WIRES", "default_output", "target_of", "wire_named"]

_LISTED: Final = (gemini.WIRE, anthropic.WIRE, chat.WIRE, responses.WIRE)

WIRES: Final[Mapping[str, Wire]] = {wire.name: wire for wire in _LISTED}
"""By name. The first that claims a body reads it: ``chat`` takes what ``messages`` leaves."""


def _own_target(wire: str, provider: str, model: str, thinking: str) -> Target:
    """Chat's rules, but for reasoning, which needs no field of Chat's to be sent back."""
    rules = chat.WIRE.target(wire, provider, model, thinking)
    return replace(rules, named_reasoning=False, every_reasoning=False)


PYTHON: Final = replace(chat.WIRE, name="python", target=_own_target, counts=())
"""What a ``Provider`` of the program speaks. Its requests are repaired as Chat's, and the encoded body is not sent."""

_KNOWN: Final[Mapping[str, Wire]] = {**WIRES, PYTHON.name: PYTHON}


def wire_named(name: str) -> Wire:
    """What is known of a wire. Raises ``InvalidRequest`` for one that has no codec."""
    wire = _KNOWN.get(name)
    if wire is None:
        raise InvalidRequest(
            f"There is no codec for the wire {name!r}; there is one for {', '.join(WIRES)}."
        )
    return wire


def default_output(name: str) -> int | None:
    """The output in tokens that a body asks for unless it is set; ``None`` where it need not name one."""
    wire = WIRES.get(name)
    return None if wire is None else wire.default_output


def target_of(request: Request) -> Target:
    """The rules that this request has to keep; those of Chat on a wire that has no codec."""
    thinking = request.params.get("thinking")
    mode = thinking.get("type") if isinstance(thinking, Mapping) else None
    return _target(
        request.wire,
        request.provider,
        request.model,
        mode if isinstance(mode, str) else "",
    )


@lru_cache(maxsize=256)
def _target(wire: str, provider: str, model: str, thinking: str) -> Target:
    return _KNOWN.get(wire, chat.WIRE).target(wire, provider, model, thinking)
