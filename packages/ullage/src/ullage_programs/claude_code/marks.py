"""By what Claude Code's requests are recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ullage_programs.marks import LONGEST, WORKING_DIRECTORY, ClientMarks, json_object


def _session_in(body: Mapping[str, Any]) -> str:
    """In ``metadata.user_id``: JSON, and before 2.1 ``user_…_session_<id>``."""
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    user = metadata.get("user_id")
    if not isinstance(user, str) or len(user) > 5 * LONGEST:
        return ""
    session = json_object(user).get("session_id")
    if isinstance(session, str):
        return session
    return user.rpartition("_session_")[2] if "_session_" in user else ""


MARKS = ClientMarks(
    name="claude-code",
    seen="@anthropic-ai/claude-code 2.1.332; 2.1.197 had no agent id. The request classes are named in the program "
    "and were not sent here",
    agent=re.compile(r"^claude-cli/([1-9][\w.+-]*)"),
    session=("x-claude-code-session-id",),
    subagent="x-claude-code-agent-id",
    agents_since=(2, 1, 330),
    purposes={
        "x-claude-code-request-class": {
            "compaction": "summary",
            "auxiliary": "other",
            "side_reply": "other",
        },
        "x-claude-code-auxiliary-type": {"*": "other"},
    },
    asks_summary=("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",),
    cwd=WORKING_DIRECTORY,
    session_in=_session_in,
)
