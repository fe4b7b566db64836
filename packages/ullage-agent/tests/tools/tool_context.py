"""A session's context for tests: what is kept stays in memory."""

from __future__ import annotations

from pathlib import Path

from ullage_agent.tools.tool import ToolError


class FakeToolContext:
    """Keeps bytes by number."""

    def __init__(self, root: Path = Path()) -> None:
        self.session = "s1"
        self.call_id = "c1"
        self.root = root
        self.deps: object = None
        self.stored: dict[str, bytes] = {}

    async def keep(self, data: bytes) -> str:
        handle = f"kept{len(self.stored) + 1}"
        self.stored[handle] = data
        return handle

    async def kept(
        self, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        if handle not in self.stored:
            raise ToolError(f"there is nothing kept under {handle}")
        return self.stored[handle][start : None if size is None else start + size]
