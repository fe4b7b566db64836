"""A short log that holds its requests word for word, in the form of Claude Code 2.1.330."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

Line = dict[str, Any]

MODEL = "claude-opus-4-6"
REMINDER = "<system-reminder>\nThe cellar is at 12 degrees.\n</system-reminder>"
SYSTEM = "You look after a cellar.\n# Style\nBe brief.\n# Safety\nNever break a bottle."


def digest(message: Line) -> str:
    """The name that the program gives to a message."""
    content = message["content"]
    if isinstance(content, str):
        content = text_block(content)
    named = {"content": content, "role": message["role"]}
    compact = json.dumps(named, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return sha256(compact.encode()).hexdigest()


def text_block(text: str) -> list[Line]:
    return [{"type": "text", "text": text}]


def declared(name: str, **more: Any) -> Line:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    about = f"Use {name} to work with files."
    return {"name": name, "description": about, "input_schema": schema, **more}


class RequestLog:
    """Writes the lines of a session; ``lines`` is the log."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.sent: list[str] = []
        self.last: str | None = None
        self.request = ""
        self.calls = 0

    def line(self, kind: str, **fields: Any) -> Line:
        """A line of the conversation, behind the one before."""
        name = f"line-{len(self.lines)}"
        made = {
            "type": kind,
            "parentUuid": self.last,
            "uuid": name,
            "sessionId": "s-1",
            "version": "2.1.330",
            "isSidechain": False,
            "timestamp": f"2026-11-20T10:00:{len(self.lines):02}.000Z",
            **fields,
        }
        self.last = name
        self.lines.append(made)
        return made

    def user(self, content: object, **more: Any) -> None:
        self.line("user", message={"role": "user", "content": content}, **more)

    def attachment(self, kind: str, text: str) -> None:
        rendered = [{"content": text}]
        self.line("attachment", attachment={"type": kind}, rendered=rendered)

    def shape(self, *tools: Line, name: str = "shape-1") -> None:
        shape = {"system": text_block(SYSTEM), "tools": list(tools)}
        self.lines.append(
            {"type": "api-request-shape", "shapeHash": name, "shape": shape}
        )

    def blob(self, message: Line) -> str:
        """Log a message of its own; gives its name."""
        name = digest(message)
        self.lines.append({"type": "api-request-blob", "hash": name, "message": message})
        return name

    def ask(self, *tail: str, keep: int | None = None, shape: str = "shape-1") -> None:
        """Log a request: so many messages of the one before (all, unless given), and these."""
        kept = self.sent if keep is None else self.sent[:keep]
        name = f"request-{len(self.lines)}"
        entry: Line = {"type": "api-request", "id": name, "shapeHash": shape}
        if self.request:
            entry["base"] = self.request
        entry |= {"keep": len(kept), "tail": list(tail), "params": {"model": MODEL}}
        self.lines.append(entry)
        self.sent = [*kept, *tail]
        self.request = name

    def answer(self, content: list[Line], tokens: int = 500, model: str = MODEL) -> str:
        """The answer to the last request, a line for each block; gives the name it has in later requests."""
        self.calls += 1
        usage = {"input_tokens": tokens, "output_tokens": 9}
        for block in content:
            message: Line = {
                "id": f"msg-{self.calls}",
                "role": "assistant",
                "model": model,
            }
            message |= {"content": [block], "usage": usage, "stop_reason": "end_turn"}
            self.line("assistant", message=message, requestRef=self.request)
        return digest({"role": "assistant", "content": content})

    def bytes(self) -> list[bytes]:
        return [json.dumps(line).encode() for line in self.lines]


def opened() -> RequestLog:
    """A log with a reminder and a prompt in its first request, and the answer, which calls a tool."""
    log = RequestLog()
    log.user("Count the bottles.")
    log.attachment("weather", REMINDER)
    log.shape(declared("Read"), declared("Monitor", defer_loading=True))
    content = [*text_block(REMINDER), *text_block("Count the bottles.")]
    log.ask(log.blob({"role": "user", "content": content}))
    return log
