"""What a thinking block is bound to: the system prompt, the tools, and the messages in front of it.

Sources: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking#what-counts-as-an-edit and, for what a
compaction stands for, https://platform.claude.com/docs/en/build-with-claude/compaction-thinking-blocks.
"""

from __future__ import annotations

from typing import Any

from ullage_simulators.anthropic.checks import blocks
from ullage_simulators.anthropic.tools import named_tools
from ullage_simulators.body import Body
from ullage_simulators.seal import digest, unseal

WIRE = "anthropic"
COMPACTION = "compaction"
THINKING = ("thinking", "redacted_thinking")
_OF_MESSAGE = ("role", "content")
_NO_CONTENT = ("cache_control", "defer_loading")


class BoundPrefix:
    """A conversation read from its beginning: what is bound to the place that was reached.

    Messages of one role in a row are one, and a system message belongs to the one in front of it. A tool that loads
    on demand counts from the block on that names it. Thinking and cache marks don't count.
    """

    def __init__(self, body: Body) -> None:
        system = body.get("system") or []
        if isinstance(system, str):
            system = [{"type": "text", "text": system}]
        loaded: list[Any] = []
        self._deferred: dict[Any, Any] = {}
        for tool in body.get("tools") or []:
            if tool.get("defer_loading"):
                self._deferred[tool.get("name")] = _plain(tool)
            else:
                loaded.append(_plain(tool))
        self.system = digest(_plain(system))
        self.tools = digest(loaded)
        self._role = ""
        self._before = [""]
        self._message: list[Any] = []

    def enter(self, message: Body) -> None:
        """Begins the next message."""
        role = message["role"]
        if role not in (self._role, "system"):
            self._before = self.here()
            self._message = []
            self._role = role
        more = dict(message)
        for name in _OF_MESSAGE:
            more.pop(name, None)
        if more:
            self._message.append([role, more])

    def add(
        self,
        role: str,
        block: Body,
    ) -> None:
        """Passes a block. A compaction stands for the messages that it summarised."""
        kind = block.get("type")
        if kind == COMPACTION:
            as_sent = digest(_plain(block))
            self._before = [as_sent, *self._summarised(block)]
            self._message = []
        elif kind not in THINKING:
            said: list[Any] = [role, _plain(block)]
            for name in named_tools(block):
                if name in self._deferred:
                    said.append(self._deferred[name])
            self._message.append(said)

    def read(self, messages: list[Body]) -> None:
        """Passes whole messages."""
        for message in messages:
            self.enter(message)
            for block in blocks(message):
                self.add(message["role"], block)

    def here(self) -> list[str]:
        """What is in front: as it was sent, then each conversation that a compaction at its beginning stands for."""
        if not self._message:
            return self._before
        return [digest(before, self._message) for before in self._before]

    def bound(self) -> Body:
        """What the signature of a block at this place carries."""
        return {
            "system": self.system,
            "tools": self.tools,
            "before": self.here()[0],
        }

    def change(self, carried: Body) -> str | None:
        """What is not as it was when a block was signed, for a person; ``None`` where nothing has changed."""
        if carried["system"] != self.system:
            return "The `system` prompt differs from when the block was created."
        if carried["tools"] != self.tools:
            return "The `tools` list differs from when the block was created."
        return None if carried["before"] in self.here() else ""

    def summary(self, *, binds: bool) -> Body:
        """What the signature of a compaction of all this carries; nothing by a model whose thinking is not bound."""
        stands_for = self.here() if binds else []
        return {
            "system": self.system,
            "tools": self.tools,
            "stands_for": stands_for,
        }

    def _summarised(self, block: Body) -> list[str]:
        carried = unseal(WIRE, block.get("signature")) or {}
        if carried.get("system") != self.system:
            return []
        if carried.get("tools") != self.tools:
            return []
        return list(carried["stands_for"])


def _plain(value: Any) -> Any:
    """The value without cache marks; a text is a list of one block where the API takes both."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = dict(value)
    for name in _NO_CONTENT:
        plain.pop(name, None)
    if value.get("type") == "tool_result":
        plain["content"] = _plain(blocks(value))
    return plain
