"""qwen-code's status line, from the JSON that it gives. Seen with 0.24.4 against a simulator."""

from __future__ import annotations

from ullage_programs.facts import Circumstances
from ullage_programs.fields import count, mapping, text
from ullage_programs.limits import NOTHING_SEEN, limits_by, version_of
from ullage_programs.line.drawing import LineContent, draw
from ullage_programs.line.print import print_line, read_input, read_settings
from ullage_programs.qwen_code.facts import FACTS
from ullage_programs.settings import settings_of


def content_of(status: dict[str, object]) -> LineContent:
    """``current_usage`` is the last call's input, or what qwen-code itself expects after a compaction."""
    context = mapping(status, "context_window")
    window = count(context, "context_window_size")
    directory = text(mapping(status, "workspace"), "current_dir")
    known = Circumstances(
        version=version_of(text(status, "version")),
        settings=settings_of(FACTS, "", directory).values,
    )
    return LineContent(
        tokens=count(context, "current_usage") or None,
        is_reported=False,
        window=window,
        threshold=limits_by(FACTS, known, window or None, NOTHING_SEEN).threshold,
    )


def main() -> None:
    """Print one line, whatever comes in."""
    print_line(draw(content_of(read_input()), read_settings()))
