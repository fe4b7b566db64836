"""mini-swe-agent's trajectory of its last run; others are where ``-o`` says. It never compacts. Tried with 2.4.6."""

from __future__ import annotations

from ullage_programs.facts import (
    LogPlaces,
    ProgramFacts,
    in_home,
)

FACTS = ProgramFacts(
    "mini-swe-agent",
    "mini-swe-agent",
    "mini",
    "mini-swe-agent",
    LogPlaces(
        in_home(".config/mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR"), ("*.traj.json",)
    ),
)
