"""Parts of a logged message, named after it: the provider's JSON is read by ``codec.wires``, as everywhere."""

from __future__ import annotations

import msgspec

from ullage.codec.parts import Namer, PartMaker
from ullage.codec.wires import WIRES, wire_named
from ullage.messages import Part, TextPart, ToolResultPart
from ullage.models.providers import vendors_of

CLEARED = "[Old tool result content cleared]"
"""The notice that replaces a pruned tool result, in Claude Code and in OpenCode."""


class LogNamer(Namer):
    """Names parts after the message they belong to: ``message/0``, ``message/1`` and so on."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self._message = message
        self._next = 0

    def name(self, kind: str, *pieces: str) -> str:
        self._next += 1
        return f"{self._message}/{self._next - 1}"


class LogParts:
    """Reads the content of one message, in one portion or in several."""

    def __init__(
        self, message: str, wire: str, *, provider: str = "", model: str = ""
    ) -> None:
        self.make = PartMaker(
            namer=LogNamer(message), wire=wire, provider=provider, model=model
        )

    def read(
        self, content: object, tool_names: dict[str, str] | None = None
    ) -> list[Part]:
        """The parts of text, or of a list of blocks or items in the wire's own format; what is neither gives none."""
        if not content or not isinstance(content, str | list):
            return []
        if isinstance(content, list):
            content = [each for each in content if isinstance(each, dict | str)]
        parts = WIRES[self.make.wire].reader.read_answer(content, self.make).parts
        return [
            _named_result(part, tool_names or {})
            if isinstance(part, ToolResultPart)
            else part
            for part in parts
        ]


def _named_result(part: ToolResultPart, tool_names: dict[str, str]) -> ToolResultPart:
    """A result with the name of its tool, marked when it was cleared before it was logged."""
    name = part.name or tool_names.get(part.call_id, "")
    cleared = (
        len(part.content) == 1
        and isinstance(part.content[0], TextPart)
        and part.content[0].text == CLEARED
    )
    if name == part.name and not cleared:
        return part
    return msgspec.structs.replace(part, name=name, cleared=cleared)


def likely_provider(model: str, wire: str) -> str:
    """Who serves a model where a log names only it and its wire: its vendor if that speaks the wire, else the maker."""
    for vendor in vendors_of(model):
        if vendor.wire == wire:
            return vendor.name
    return wire_named(wire).maker
