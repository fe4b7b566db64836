"""Copilot CLI's status line, from the JSON that it gives. Seen with 1.0.102 against a simulator."""

from __future__ import annotations

from ullage_programs.copilot_cli.facts import FACTS
from ullage_programs.facts import Circumstances
from ullage_programs.fields import count, mapping, text
from ullage_programs.files import read_object, write_object
from ullage_programs.limits import NOTHING_SEEN, limits_by
from ullage_programs.line.drawing import LineContent, draw
from ullage_programs.line.places import session_file
from ullage_programs.line.print import print_line, read_input, read_settings
from ullage_programs.settings import settings_of


def content_of(status: dict[str, object]) -> LineContent:
    """The last call's usage, and what its own count grew by since. Its ``current_usage`` is the whole session's."""
    context = mapping(status, "context_window")
    window = count(context, "context_window_size")
    reported = count(context, "last_call_input_tokens")
    reported += count(context, "last_call_output_tokens")
    if not reported:
        return LineContent(tokens=None, is_reported=False, window=window, threshold=None)
    counted = count(context, "current_context_tokens")
    growth = growth_since(text(status, "session_id"), reported, counted)
    known = Circumstances(settings=settings_of(FACTS, "", "").values)
    return LineContent(
        tokens=max(1, reported + growth),
        is_reported=not growth,
        window=window,
        threshold=limits_by(FACTS, known, window or None, NOTHING_SEEN).threshold,
    )


def growth_since(session: str, reported: int, counted: int) -> int:
    """What came or went by Copilot's own count since the last call was first seen: results, or a compaction."""
    place = session_file(session, ".copilot.json")
    seen = read_object(place)
    if not counted or not session:
        return 0
    if count(seen, "reported") != reported:
        write_object(place, {"reported": reported, "counted": counted})
        return 0
    return counted - count(seen, "counted")


def main() -> None:
    """Print one line, whatever comes in."""
    print_line(draw(content_of(read_input()), read_settings()))
