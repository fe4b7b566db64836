"""By what Codex's requests are recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ullage_programs.marks import SLASH_VERSION, ClientMarks, Marks, json_object


def _refined(headers: Mapping[str, str], marks: Marks) -> Marks:
    """The subagent and the purpose, which it says in JSON; ``agent`` is the thread.

    A title is asked for in a thread of its own, which names no other (0.171.0).
    """
    purpose = marks.purpose
    said = json_object(headers.get("x-codex-turn-metadata", ""))
    if said.get("thread_source") == "thread_title":
        return marks._replace(session="", agent="", purpose="title")
    kind = said.get("request_kind")
    if kind == "compaction":
        purpose = "summary"
    elif isinstance(kind, str) and kind != "turn":
        purpose = purpose or "other"
    return marks._replace(
        agent="" if marks.agent == marks.session else marks.agent,
        purpose=purpose,
    )


MARKS = ClientMarks(
    name="codex",
    seen="@openai/codex 0.171.0",
    agent=re.compile(r"^codex[\w-]*" + SLASH_VERSION),
    session=("session-id", "session_id"),
    subagent="thread-id",
    purposes={
        "x-openai-subagent": {
            "compact": "summary",
            "review": "child",
            "collab_spawn": "child",
            "*": "other",
        }
    },
    asks_summary=("You are performing a CONTEXT CHECKPOINT COMPACTION.",),
    cwd=re.compile(r"<cwd>\s*([^<\n]+?)\s*</cwd>"),
    also_read=("x-codex-turn-metadata",),
    refined=_refined,
)
