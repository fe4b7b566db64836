"""Writes ``session.jsonl``, the sample session of this repository, in Claude Code's log format.

uv run python -m scripts.make_session            writes examples/session.jsonl
uv run python -m scripts.make_session --check    exits 1 when the file is not what this script writes

Everything in it is invented: the project (a tea timer called kettle), the conversation, and the token counts. The
counts come from ``tokens`` below, which is Ullage's own estimate, with some noise, not from a model: the sample shows
what a reading looks like, and nothing can be concluded from it about how exact readings are.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts import kettle
from ullage.tokens.text import counter_for

ROOT = Path(__file__).parents[1]
SESSION = "0b5e55ed-0000-4000-8000-00000000ea70"
MODEL = "claude-opus-4-5-20251101"
CWD = "/home/ann/kettle"
VERSION = "2.1.42"

PER_MESSAGE, PER_RESULT, PER_FURTHER_RESULT, PER_CALL, PER_ARGUMENT = 5, 13, 43, 30, 7.5
"""Tokens that a message, a tool result and a tool call are given beside their text. Invented, in a likely size."""

Json = dict[str, Any]


def tokens(text: str) -> int:
    """Tokens of a text as Claude's are estimated. Needs ``ullage[bpe]``."""
    return round(counter_for("bpe").count(text, "claude"))


def size_of_call(use: Json) -> float:
    """A tool call: its name and arguments, each argument wrapped on its own."""
    written = [
        json.dumps(value) if not isinstance(value, str) else value
        for value in use["input"].values()
    ]
    return (
        PER_CALL
        + tokens(use["name"])
        + sum(tokens(text) + PER_ARGUMENT for text in (*use["input"], *written))
    )


@dataclass
class Session:
    """The log as it is written, and the size of the context as the provider would report it."""

    lines: list[Json] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(2026))
    clock: datetime = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
    tip: str | None = None
    number: int = 0
    calls: int = 0
    context: float = 0.0
    cached: int = 0
    pending: float = 0.0
    sizes: dict[str, float] = field(default_factory=dict)

    def line(self, kind: str, **fields: Any) -> str:
        """One line of the conversation's tree, after the last one."""
        self.number += 1
        self.clock += timedelta(seconds=self.chance.randint(2, 14))
        uuid = f"{self.number:08x}-ea70-4000-8000-000000000000"
        head = {
            "parentUuid": self.tip,
            "isSidechain": False,
            "userType": "external",
            "cwd": CWD,
            "sessionId": SESSION,
        }
        stamp = self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append(
            {
                **head,
                "version": VERSION,
                "gitBranch": "main",
                "type": kind,
                **fields,
                "uuid": uuid,
                "timestamp": stamp,
            }
        )
        self.tip = uuid
        return uuid

    def new(self, size: float) -> None:
        """Something of this size is part of the next request, give or take."""
        self.pending += size * self.chance.uniform(0.98, 1.02)

    # -- what happens --

    def begin(self) -> None:
        """The system prompt, instructions, tools, skills and deferred tools, as newer versions log them."""
        self.line(
            "attachment",
            attachment={
                "type": "prompt_snapshot",
                "systemPrompt": [kettle.SYSTEM],
                "tools": kettle.TOOLS,
            },
        )
        files = [
            {
                "path": f"{CWD}/CLAUDE.md",
                "type": "Project",
                "content": kettle.INSTRUCTIONS,
            }
        ]
        self.line("attachment", attachment={"type": "instructions", "files": files})
        skills = {
            "content": kettle.SKILLS,
            "names": ["release", "review"],
            "skillCount": 2,
            "isInitial": True,
        }
        self.line("attachment", attachment={"type": "skill_listing", **skills})
        deferred = {
            "addedNames": kettle.DEFERRED,
            "removedNames": [],
            "addedLines": kettle.DEFERRED,
        }
        self.line("attachment", attachment={"type": "deferred_tools_delta", **deferred})
        for text in (
            kettle.SYSTEM,
            kettle.INSTRUCTIONS,
            kettle.SKILLS,
            "\n".join(kettle.DEFERRED),
        ):
            self.new(tokens(text))
        self.new(sum(tokens(json.dumps(tool)) for tool in kettle.TOOLS) + 440)

    def ask(self, text: str) -> None:
        self.line("user", message={"role": "user", "content": text})
        self.new(tokens(text) + PER_MESSAGE)

    def step(
        self, text: str = "", *calls: kettle.Call, thinking: str = "", final: bool = False
    ) -> None:
        """One model call: its blocks a line each, then its results."""
        self.calls += 1
        uses: list[Json] = [
            {
                "type": "tool_use",
                "id": f"toolu_{self.calls:03d}{at}",
                "name": call.name,
                "input": call.arguments,
            }
            for at, call in enumerate(calls)
        ]
        blocks: list[Json] = []
        if thinking:
            signature = f"c3ludGhldGlj{self.chance.getrandbits(640):0160x}"
            blocks.append(
                {"type": "thinking", "thinking": thinking, "signature": signature}
            )
        if text:
            blocks.append({"type": "text", "text": text})
        blocks += uses
        shown = tokens(text) + sum(size_of_call(use) for use in uses)
        output = round(
            (shown + 1.2 * tokens(thinking) + 8) * self.chance.uniform(0.98, 1.02)
        )
        self.answer(blocks, output, "tool_use" if uses and not final else "end_turn")
        self.context += output
        for at, (use, call) in enumerate(zip(uses, calls, strict=True)):
            result = {
                "type": "tool_result",
                "tool_use_id": use["id"],
                "content": call.result,
            }
            self.line("user", message={"role": "user", "content": [result]})
            size = tokens(call.result) + (PER_FURTHER_RESULT if at else PER_RESULT)
            self.sizes[use["id"]] = size
            self.new(size)
        if final:
            self.line(
                "system",
                subtype="turn_duration",
                durationMs=self.chance.randint(20_000, 90_000),
                isMeta=False,
            )

    def answer(self, blocks: list[Json], output: int, stop: str) -> None:
        """The lines of an answer. Only the last one has the final count, as in real logs."""
        self.context += self.pending
        self.pending = 0.0
        total = round(self.context)
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": max(0, total - self.cached - 4),
            "cache_read_input_tokens": min(self.cached, total - 4),
            "service_tier": "standard",
        }
        self.cached = total - 4
        for at, block in enumerate(blocks):
            last = at == len(blocks) - 1
            message = {
                "model": MODEL,
                "id": f"msg_{self.calls:03d}",
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": stop if last else None,
                "usage": {**usage, "output_tokens": output if last else min(3, output)},
            }
            self.line("assistant", message=message, requestId=f"req_{self.calls:03d}")

    def explore(self, prompt: str, report: str) -> None:
        """A subagent: its own calls stand on a side chain, its report is a tool result."""
        back = self.tip
        self.line(
            "user",
            isSidechain=True,
            agentId="e1",
            message={"role": "user", "content": prompt},
        )
        for at, size in enumerate((9_800, 14_300, 21_900)):
            usage = {
                "input_tokens": 4,
                "cache_creation_input_tokens": size,
                "cache_read_input_tokens": 0,
            }
            text = report if at == 2 else "Searching."
            message = {
                "model": "claude-haiku-4-5",
                "id": f"msg_side_{at}",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": {**usage, "output_tokens": tokens(text) + 9},
            }
            self.line("assistant", isSidechain=True, agentId="e1", message=message)
        self.tip = back

    def clear_oldest(self, count: int) -> None:
        """The program clears the oldest tool results."""
        calls = list(self.sizes)[1 : count + 1]
        saved = sum(self.sizes[call] - PER_RESULT - 9 for call in calls)
        metadata = {
            "trigger": "auto",
            "preTokens": round(self.context + self.pending),
            "compactedToolIds": calls,
        }
        self.line(
            "system",
            subtype="microcompact_boundary",
            content="Context microcompacted",
            isMeta=False,
            microcompactMetadata={**metadata, "tokensSaved": round(saved)},
        )
        self.context -= saved
        self.cached = 0

    def compact(self, summary: str) -> None:
        """The person asks for a compaction: all of the conversation but its summary is gone."""
        before = round(self.context + self.pending)
        logical, self.tip = self.tip, None
        self.line(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            logicalParentUuid=logical,
            compactMetadata={"trigger": "manual", "preTokens": before},
        )
        message = {"role": "user", "content": summary}
        self.line(
            "user", message=message, isCompactSummary=True, isVisibleInTranscriptOnly=True
        )
        self.context = self.sizes["opening"]
        self.pending = 0.0
        self.cached = 0
        self.new(tokens(summary) + PER_MESSAGE)

    def fail(self, text: str) -> None:
        """A call that the provider refused: the program logs a line of its own in the answer's place."""
        nothing = {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        }
        message = {
            "model": "<synthetic>",
            "id": "synthetic",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "usage": nothing,
        }
        self.line("assistant", message=message, isApiErrorMessage=True)


def written() -> str:
    """The whole log as text."""
    session = Session()
    session.begin()
    session.sizes["opening"] = session.pending
    kettle.play(session)
    session.lines.append(
        {
            "type": "ai-title",
            "sessionId": SESSION,
            "aiTitle": "Expired tea timers stay in the list",
        }
    )
    return "".join(
        json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
        for line in session.lines
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the sample session.")
    parser.add_argument(
        "--check", action="store_true", help="only say whether the file is up to date"
    )
    target = ROOT / "examples" / "session.jsonl"
    text = written()
    if parser.parse_args().check:
        return 0 if target.exists() and target.read_text() == text else 1
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
