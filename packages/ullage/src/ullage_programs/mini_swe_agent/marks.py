"""By what mini-swe-agent's requests are recognised."""

from __future__ import annotations

from ullage_programs.marks import ClientMarks

MARKS = ClientMarks(
    name="mini-swe-agent",
    seen="mini-swe-agent 2.4.6",
    prompt="You are a helpful assistant that can interact with a computer",
)
