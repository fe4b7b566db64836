"""Codex's hook after a tool: what the model is told before a compaction.

https://developers.openai.com/codex/hooks. Events and answers have Claude Code's shape; Codex runs a hook once its user
trusts it (``/hooks``), and sends the answer as a developer message behind the tool's result. Seen with 0.171.0.
"""

from __future__ import annotations

import os
import sys
from json import dumps, loads

from ullage_programs.codex.facts import FACTS, threshold
from ullage_programs.facts import Circumstances
from ullage_programs.fields import count, mapping, text
from ullage_programs.line.print import read_input, read_settings
from ullage_programs.line.room import answer_of, room_note
from ullage_programs.settings import settings_of

NEAR = 512 * 1024
"""Bytes at the end of the log that are searched for the last report."""


def main() -> None:
    """Answer one event. Prints JSON, or nothing."""
    event = read_input()
    log = text(event, "transcript_path")
    if not read_settings().tell_room:
        return
    info = last_report(log)
    window = count(info, "model_context_window")
    known = Circumstances(settings=settings_of(FACTS, log, "").values)
    end = threshold(known, window)
    if not window or end is None or end.tokens is None:
        return
    used = count(mapping(info, "last_token_usage"), "total_tokens")
    told = room_note(log, end.tokens - used, end.tokens)
    if told:
        sys.stdout.write(dumps(answer_of(told)) + "\n")


def last_report(log: str) -> dict[str, object]:
    """What the last ``token_count`` near the end of the log holds; empty where there is none."""
    with open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - NEAR))
        lines = file.read(NEAR).split(b"\n")
    for line in reversed(lines):
        if b'"type":"token_count"' in line:
            return mapping(mapping(loads(line), "payload"), "info")
    return {}
