"""By what pi's requests are recognised."""

from __future__ import annotations

import re

from ullage_programs.marks import ClientMarks

MARKS = ClientMarks(
    name="pi",
    seen="@earendil-works/pi-coding-agent 1.6.0",
    agent=re.compile(r"^pi(?:-coding-agent)?(?:/(\d[\w.]*)| \()"),
    session=("session_id",),
    asks_summary=("You are a context summarization assistant.",),
    cwd=re.compile(r"<cwd>\s*([^<\n]+?)\s*</cwd>"),
)
