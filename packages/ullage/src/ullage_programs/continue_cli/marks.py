"""By what Continue's requests are recognised."""

from __future__ import annotations

from ullage_programs.marks import ClientMarks

MARKS = ClientMarks(
    name="continue-cli",
    seen="@continuedev/cli 1.5.47",
    prompt="You are an agent in the Continue CLI",
)
