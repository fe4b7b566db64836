"""Claude Code's JSON for a status line in, the line out (https://code.claude.com/docs/en/statusline)."""

from __future__ import annotations

import os
import sys
from json import loads

from ullage_line.drawing import LineContent, draw
from ullage_line.fields import amount, count, mapping, text
from ullage_line.fold import SessionSize, reported_input
from ullage_line.look import look, read_object, write_object
from ullage_line.places import session_file, settings_file
from ullage_line.settings import LineSettings
from ullage_line.threshold import Threshold, threshold

INPUT_AT_MOST = 1024 * 1024
"""Claude Code sends about 1 KB."""


def read_input() -> dict[str, object]:
    """The JSON object on standard input; empty for anything else."""
    try:
        data = sys.stdin.buffer.read(INPUT_AT_MOST + 1)
        return mapping(loads(data)) if len(data) <= INPUT_AT_MOST else {}
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}


def status_line(status: dict[str, object], settings: LineSettings) -> str:
    """The line for what the program told about its session."""
    log = text(status, "transcript_path")
    remember(log, status)
    size = (look(log) if log else None) or SessionSize()
    return draw(content_of(status, size), settings)


def remember(log: str, status: dict[str, object]) -> None:
    """Keep the window, the model and the version for the hooks, which are not told them."""
    window = count(mapping(status, "context_window"), "context_window_size")
    if not log or not window:
        return
    place = session_file(log, ".window.json")
    told: dict[str, object] = {
        "window": window,
        "model": {"id": text(mapping(status, "model"), "id")},
        "version": text(status, "version"),
    }
    if read_object(place) != told:
        write_object(place, told)


def content_of(status: dict[str, object], size: SessionSize) -> LineContent:
    """What to show: sizes from the log, else the program's own; the window and the cost as the program says them."""
    context = mapping(status, "context_window")
    window = count(context, "context_window_size")
    tokens = size.next_input()
    is_reported = size.input > 0
    usage = mapping(context, "current_usage")
    if not size.input and not size.compactions and reported_input(usage):
        tokens = reported_input(usage) + count(usage, "output_tokens")
        is_reported = True
    return LineContent(
        tokens=tokens,
        is_reported=is_reported,
        window=window,
        threshold=threshold_of(status, window, size.observed),
        largest=size.largest,
        largest_name=size.largest_name,
        cost=amount(mapping(status, "cost"), "total_cost_usd"),
        is_compacted=size.compactions > 0 and not size.input,
    )


def threshold_of(
    status: dict[str, object], window: int, observed: int
) -> Threshold | None:
    """Where the program compacts, by its settings files: the project's own, the project's, the user's."""
    project = text(mapping(status, "workspace"), "project_dir") or text(status, "cwd")
    places = []
    if project:
        places.append(os.path.join(project, ".claude", "settings.local.json"))
        places.append(os.path.join(project, ".claude", "settings.json"))
    places.append(os.path.join(program_directory(), "settings.json"))
    files = [read_object(place) for place in places]
    return threshold(
        window,
        observed,
        dict(os.environ),
        files,
        model=text(mapping(status, "model"), "id"),
        version=text(status, "version"),
    )


def program_directory() -> str:
    """Where Claude Code keeps its settings."""
    own = os.environ.get("CLAUDE_CONFIG_DIR", "")
    return own or os.path.join(os.path.expanduser("~"), ".claude")


def read_settings() -> LineSettings:
    """The user's settings, without colour where ``NO_COLOR`` is set (https://no-color.org)."""
    settings = LineSettings(read_object(settings_file()))
    if os.environ.get("NO_COLOR"):
        settings.color = False
    return settings


def main() -> int:
    """Print one line, whatever comes in."""
    status = read_input()
    settings = read_settings()
    line = status_line(status, settings)
    if settings.compose:
        from ullage_line.compose import composed

        line = composed(settings.compose, status, line)
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
    return 0
