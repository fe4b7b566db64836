"""Logs of Claude Code, as it writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "5e0a1c2e-0000-4000-8000-00000000000"


class ClaudeLog:
    """The log of a session in a directory, the current one unless another is named."""

    def __init__(self, home: Path, number: int = 1, cwd: Path | None = None) -> None:
        self.cwd = str(cwd or Path.cwd())
        self.id = f"{SESSION}{number}"
        self.path = home / ".claude/projects/shop" / f"{self.id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def add(self, kind: str, **more: Any) -> None:
        parent = f"e{self.count}" if self.count else None
        self.count += 1
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": "2.1.7",
            "type": kind,
            "uuid": f"e{self.count}",
            "timestamp": f"2026-02-03T10:{self.count:02}:00.000Z",
            **more,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def user(self, text: str, **more: Any) -> None:
        self.add("user", message={"role": "user", "content": text}, **more)

    def said(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        usage = {"input_tokens": 500, "output_tokens": 10}
        answer = {"id": f"msg_{self.count}", "role": "assistant", "content": content}
        self.add(
            "assistant", message={**answer, "usage": usage, "model": "claude-opus-4-6"}
        )

    def compact(self) -> None:
        self.add("system", subtype="compact_boundary", content="Conversation compacted")
        self.user("The user looks at casks.", isCompactSummary=True)
        self.said("Go on.")
