"""An invented session log in the shape Claude Code writes, as large as asked for; the same for the same size.

Shape and proportions follow public logs of version 2.1: a line for each content block of an answer, all with the usage
of the call; most bytes are tool results, which stand there twice (for the model, and as ``toolUseResult`` for the
program); now and then a compaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.invented import Writer, kinds

Line = dict[str, Any]

OUT = Path(__file__).parent / "out"
MODEL = "claude-opus-4-5-20251101"
SESSION = "7f3e2c1a-0b5d-4e6f-8a9b-1c2d3e4f5a6b"
COMPACTS_AT = 160_000
FIXED_TOKENS = 19_000
CHARACTERS_A_TOKEN = 3.3
LARGEST_RESULT = 40_000
ENVELOPE = {"isSidechain": False, "userType": "external", "cwd": "/home/anna/cellar"}
ENVELOPE |= {"sessionId": SESSION, "version": "2.1.7", "gitBranch": "main"}


class _Log:
    """Lines that follow one another, and how full the window is."""

    def __init__(self) -> None:
        self.writer = Writer(11)
        self.last: str | None = None
        self.second = 0
        self.tokens = FIXED_TOKENS
        self.cached = 0

    def line(self, kind: str, **fields: Any) -> Line:
        """A line with its envelope, placed after the one before."""
        digits = self.writer.hexadecimal(32)
        cuts = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
        uuid = "-".join(digits[start:end] for start, end in cuts)
        made = {"parentUuid": self.last, **ENVELOPE, "type": kind, **fields}
        made |= {"uuid": uuid, "timestamp": self._now()}
        self.last = uuid
        return made

    def add(self, *texts: str) -> int:
        """Tokens of texts that are in the window from now on."""
        added = 6 + round(sum(map(len, texts)) / CHARACTERS_A_TOKEN)
        self.tokens += added
        return added

    def _now(self) -> str:
        self.second += self.writer.random.randint(1, 9)
        day, rest = divmod(self.second, 86_400)
        return f"2025-12-{1 + day % 28:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.000Z"


def lines() -> Iterator[Line]:
    """A session without end."""
    log = _Log()
    while True:
        yield from _turn(log)
        snapshot: Line = {"messageId": log.last, "trackedFileBackups": {}}
        snapshot["timestamp"] = "2025-12-01T00:00:00.000Z"
        line = {"type": "file-history-snapshot", "messageId": log.last}
        yield {**line, "snapshot": snapshot, "isSnapshotUpdate": False}
        if log.tokens > COMPACTS_AT:
            yield from _compaction(log)


def _turn(log: _Log) -> Iterator[Line]:
    writer = log.writer
    prompt = writer.prose(writer.random.randint(40, 400))
    log.add(prompt)
    yield log.line("user", message={"role": "user", "content": prompt})
    for _ in range(writer.random.randint(3, 14)):
        yield from _step(log)
    text = writer.prose(writer.random.randint(200, 1800))
    yield from _answer(log, [{"type": "text", "text": text}], "end_turn")
    yield log.line(
        "system",
        subtype="turn_duration",
        durationMs=writer.random.randint(4_000, 90_000),
        isMeta=False,
    )


def _step(log: _Log) -> Iterator[Line]:
    """An answer that calls a tool, and the tool's result."""
    writer = log.writer
    thinking = writer.prose(writer.random.randint(60, 700))
    signature = writer.hexadecimal(2 * writer.random.randint(120, 500))
    path = f"/home/anna/cellar/{writer.path()}"
    command = f"grep -rn {writer.words(1)[0]} {path} | head -50"
    edit = {"old_string": writer.code(300), "new_string": writer.code(420)}
    search = {"pattern": writer.words(1)[0], "path": path, "output_mode": "content"}
    calls: tuple[tuple[str, Line], ...] = (
        ("Read", {"file_path": path}),
        ("Bash", {"command": command, "description": "Look for it"}),
        ("Edit", {"file_path": path, **edit}),
        ("Grep", search),
    )
    name, arguments = writer.random.choice(calls)
    call = f"toolu_{writer.hexadecimal(24)}"
    thought = {"type": "thinking", "thinking": thinking, "signature": signature}
    blocks: list[Line] = [thought]
    if writer.random.random() < 0.4:
        text = writer.prose(writer.random.randint(40, 250))
        blocks.append({"type": "text", "text": text})
    blocks.append({"type": "tool_use", "id": call, "name": name, "input": arguments})
    yield from _answer(log, blocks, "tool_use")
    drawn = round(2200 * writer.random.lognormvariate(0, 1.1))
    size = min(LARGEST_RESULT, max(40, drawn))
    result = writer.random.choice(kinds(writer))(size)
    log.add(result)
    block = {"tool_use_id": call, "type": "tool_result", "content": result}
    content = [{**block, "is_error": False}]
    shown = {"stdout": result, "stderr": "", "interrupted": False, "isImage": False}
    yield log.line(
        "user",
        message={"role": "user", "content": content},
        toolUseResult=shown,
        sourceToolAssistantUUID=log.last,
    )


def _answer(log: _Log, blocks: list[Line], stop: str) -> Iterator[Line]:
    """One call of the model: a line a block, the usage on each; only the last one has the final output count."""
    held = log.tokens
    output = log.add(
        *(
            json.dumps(block.get("input", block.get("text", block.get("thinking", ""))))
            for block in blocks
        )
    )
    identity = f"msg_{log.writer.hexadecimal(24)}"
    usage = {
        "input_tokens": 8,
        "cache_creation_input_tokens": max(0, held - 8 - log.cached),
        "cache_read_input_tokens": min(log.cached, held - 8),
        "service_tier": "standard",
    }
    log.cached = held - 8
    for place, block in enumerate(blocks, 1):
        last = place == len(blocks)
        message = {
            "model": MODEL,
            "id": identity,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": stop if last else None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": output if last else 3},
        }
        yield log.line("assistant", message=message, requestId=f"req_{identity[4:]}")


def _compaction(log: _Log) -> Iterator[Line]:
    before = log.tokens
    logical = log.last
    log.last = None
    yield log.line(
        "system",
        subtype="compact_boundary",
        logicalParentUuid=logical,
        content="Conversation compacted",
        compactMetadata={"trigger": "auto", "preTokens": before},
    )
    summary = log.writer.prose(9_000)
    log.tokens, log.cached = FIXED_TOKENS, 0
    log.add(summary)
    yield log.line(
        "user", isCompactSummary=True, message={"role": "user", "content": summary}
    )


def write_log(size_bytes: int) -> Path:
    """A log of about this many bytes; it ends with a whole line."""
    OUT.mkdir(exist_ok=True)
    path = OUT / f"session-{size_bytes}.jsonl"
    written = 0
    with path.open("w", encoding="utf-8") as out:
        for line in lines():
            text = json.dumps(line, separators=(",", ":")) + "\n"
            out.write(text)
            written += len(text)
            if written >= size_bytes:
                return path
    raise AssertionError("an endless log ended")
