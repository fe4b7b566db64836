"""Texts that a program writes into its user's messages by itself: reminders, and how each of them is called.

Claude Code and qwen-code mark them with a tag (n=40 requests of Claude Code 2.1.197 and 2.1.330, 3 of qwen-code
0.24.4). Codex has a tag for each kind (https://github.com/openai/codex, ``codex-rs/core/src/event_mapping.rs``), Gemini
CLI one for all (``packages/core/src/utils/environmentContext.ts`` of https://github.com/google-gemini/gemini-cli).
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ullage.messages import Part, TextPart

OPEN: Final = "<system-reminder>"
CLOSE: Final = "</system-reminder>"

CODEX_MARKS: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions",
    "<turn_",
)
"""How user messages begin that Codex wrote."""

UNNAMED: Final = "reminder"

_TAGGED: Final = (
    ("Codebase and user instructions", "instructions"),
    ("As you answer the user's questions, you can use", "instructions"),
    ("The following skills", "skill listing"),
    ("Available agent types", "agent listing"),
    ("The following deferred tools", "deferred tools"),
    ("The following tools are reachable", "deferred tools"),
    ("# Environment", "environment"),
    ("This is the Qwen Code", "environment"),
    ("Called the ", "file"),
    ("Result of calling ", "file"),
    ("Today's date", "date"),
    ("The current date", "date"),
)
"""How the text behind the tag begins."""

_BARE: Final = (
    ("<environment_context>", "environment"),
    ("<user_instructions>", "instructions"),
    ("# AGENTS.md instructions", "instructions"),
    ("<permissions", "permissions"),
    ("<turn_", UNNAMED),
    ("<session_context>", "environment"),
)
"""How a reminder without the tag begins."""

_LONGEST: Final = 80
"""Characters at the begin of a text that tell its kind."""


DATED: Final = ("<current_datetime>", "</current_datetime>")
"""What Copilot CLI 1.0.102 puts around the time, before what a person wrote and in the same text."""


def words_of_person(text: str) -> str:
    """The text without the time that a program has put before it."""
    before, after = DATED
    if not text.lstrip().startswith(before):
        return text
    return text.partition(after)[2].lstrip() or text


def is_tagged(text: str) -> bool:
    """Whether a text is marked as a reminder."""
    return text.startswith(OPEN)


def reminder_name(text: str, *, is_note: bool = False) -> str:
    """What kind of reminder a text is; empty for what a person wrote.

    ``is_note``: the program is known to have written it, so that the tag may be missing.
    """
    head = text[: len(OPEN) + _LONGEST].lstrip()
    if is_note or head.startswith(OPEN):
        return (
            _named(
                head.removeprefix(OPEN).lstrip(),
                _TAGGED,
            )
            or UNNAMED
        )
    if head.startswith(("<", "#")):
        return _named(head, _BARE)
    return ""


def with_names(parts: tuple[Part, ...], *, is_note: bool = False) -> tuple[Part, ...]:
    """The parts of a user's message, each reminder among them with its name."""
    found: list[Part] = []
    for part in parts:
        name = ""
        if isinstance(part, TextPart) and not part.name:
            name = reminder_name(part.text, is_note=is_note)
        found.append(replace(part, name=name) if name else part)
    return tuple(found)


def _named(head: str, kinds: tuple[tuple[str, str], ...]) -> str:
    for begin, name in kinds:
        if head.startswith(begin):
            return name
    return ""
