"""By what Cline's requests are recognised."""

from __future__ import annotations

from ullage_programs.marks import ClientMarks

MARKS = ClientMarks(name="cline", seen="cline 3.0.65", prompt="You are Cline, an AI")
