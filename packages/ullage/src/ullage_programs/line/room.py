"""What a hook tells a model of its room. Claude Code's and Codex's hooks answer alike."""

from __future__ import annotations

from ullage_programs.files import read_object, write_object
from ullage_programs.line.drawing import amount
from ullage_programs.line.places import session_file
from ullage_programs.line.policy import ROOM_SHARE

ROOM = (
    "About {} tokens are left before this conversation is compacted, and details may be lost. Write what must not be "
    "(names, values, paths, rules, decisions, open steps) to a notes file now, or edit the one you have; then go on."
)
"""Claude Code puts the files that were read or edited last back behind its summary, up to five:
https://code.claude.com/docs/en/context-window."""


def room_note(log: str, left: int, most: int) -> str:
    """The note, once each time that little is left of ``most`` tokens. It counts as told now."""
    place = session_file(log, ".room.json")
    now: dict[str, object] = {"is_low": left <= ROOM_SHARE * most}
    if read_object(place) == now:
        return ""
    write_object(place, now)
    return ROOM.format(amount(left)) if now["is_low"] and left > 0 else ""


def answer_of(told: str) -> dict[str, object]:
    """The part of a hook's answer that its model reads with the result of the tool."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "additionalContext": told,
        }
    }
