"""The system prompt and tools of pi, which its log holds as messages that change them piece by piece.

Source: ``docs/session-format.md`` (``SessionMessageEntry``) and ``docs/message-types.md`` (``SystemMessage``) of the
npm package ``@earendil-works/pi-coding-agent`` since 0.87.1. The first one declares all, a later one only what changed:
``sections`` by name (``null`` takes one out), ``toolsAdded``, ``toolsRemoved``; ``replace`` begins anew.

A model that takes system messages between others gets later ones there; which models do is not logged. Here all are
taken as one prompt at the start, as the other models get it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import ullage.importers.fields as f
from ullage.codec.parts import tool
from ullage.importers.fields import JsonObject
from ullage.messages import SystemBlock, Tool, clean_text

_BETWEEN = "\n\n"
"""What stands between two sections: ``dist/utils/text.js`` of ``@earendil-works/pi-ai`` 0.87.1."""


@dataclass(frozen=True, slots=True)
class PiPrompt:
    """What the system messages up to one line of a log add up to."""

    content: tuple[str, ...] = ()
    sections: dict[str, str] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many texts and tools there are."""
        return len(self.content) + len(self.sections) + len(self.tools)

    def changed(self, message: JsonObject) -> PiPrompt:
        """The prompt with what one system message changes."""
        before = PiPrompt() if message.get("replace") is True else self
        own = _own_text(message.get("content"))
        return PiPrompt(
            (*before.content, own) if own else before.content,
            _sections(before.sections, f.mapping(message, "sections")),
            _tools(before.tools, message),
        )

    def blocks(self) -> list[SystemBlock]:
        """The prompt as it is sent, one block for each piece; a section has its name."""
        named = [("", text) for text in self.content]
        named += self.sections.items()
        blocks: list[SystemBlock] = []
        for name, text in named:
            if not text:
                continue
            whole = _BETWEEN + text if blocks else text
            blocks.append(SystemBlock(text=clean_text(whole).text, name=name))
        return blocks


def _own_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(f.text(block, "text") for block in f.objects({"in": content}, "in"))


def _sections(before: dict[str, str], changes: JsonObject) -> dict[str, str]:
    sections = dict(before)
    for name, text in changes.items():
        if text is None:
            sections.pop(name, None)
        elif isinstance(text, str):
            sections[name] = text
    return sections


def _tools(before: dict[str, Tool], message: JsonObject) -> dict[str, Tool]:
    tools = dict(before)
    for one in f.objects(message, "toolsRemoved"):
        tools.pop(f.text(one, "name"), None)
    for one in f.objects(message, "toolsAdded"):
        name = f.text(one, "name")
        tools[name] = tool(name, one.get("description"), one.get("parameters"))
    return tools
