"""Continue's logs: a file for each session. When it compacts is not known. Tried with 1.5.47."""

from __future__ import annotations

from ullage_programs.facts import (
    LogPlaces,
    ProgramFacts,
    in_home,
)

FACTS = ProgramFacts(
    "continue-cli",
    "Continue",
    "cn",
    "@continuedev/cli",
    LogPlaces(in_home(".continue", "CONTINUE_GLOBAL_DIR"), ("sessions/*-*.json",)),
)
