"""All programs that are known. A new one is a folder, and its name in ``FOLDERS``."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from ullage_programs.facts import Circumstances, ProgramFacts
from ullage_programs.limits import (
    UNKNOWN_LIMITS,
    ClientLimits,
    SeenSizes,
    limits_by,
    name_and_version,
)

FOLDERS: Final = (
    "claude_code",
    "codex",
    "pi",
    "gemini_cli",
    "copilot_cli",
    "qwen_code",
    "opencode",
    "cline",
    "continue_cli",
    "mini_swe_agent",
)

PROGRAMS: Final[dict[str, ProgramFacts]] = {
    facts.name: facts
    for facts in (
        import_module(f"ullage_programs.{folder}.facts").FACTS for folder in FOLDERS
    )
}
"""By the names in ``SessionStarted.program``."""

OWN: Final = ("", "ullage")
"""Programs that compact by this package's own settings: a user's own loop, and Ullage."""


def facts_of(program: str) -> ProgramFacts | None:
    """What is known of a program, whatever its version; ``None`` where nothing is."""
    return PROGRAMS.get(name_and_version(program)[0])


def folder_of(name: str) -> str:
    """The folder of a program by its name; empty where it has none."""
    folder = name.replace("-", "_")
    return folder if folder in FOLDERS else ""


def title_of(program: str) -> str:
    """The name of a program for people."""
    facts = facts_of(program)
    return name_and_version(program)[0] if facts is None else facts.title


def limits_of(
    program: str, known: Circumstances, named: int | None, seen: SeenSizes
) -> ClientLimits:
    """The limits of a program, as ``limits_by`` gives them."""
    facts = facts_of(program)
    return UNKNOWN_LIMITS if facts is None else limits_by(facts, known, named, seen)
