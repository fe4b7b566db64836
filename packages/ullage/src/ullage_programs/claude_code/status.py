"""Claude Code's JSON for a status line in, the line out (https://code.claude.com/docs/en/statusline)."""

from __future__ import annotations

from ullage_programs.claude_code.asked import ask
from ullage_programs.claude_code.facts import FACTS
from ullage_programs.claude_code.look import look
from ullage_programs.claude_code.size import SessionSize, reported_input
from ullage_programs.facts import Circumstances, ClientLimit
from ullage_programs.fields import amount, count, mapping, text
from ullage_programs.files import read_object, write_object
from ullage_programs.limits import limits_by, version_of
from ullage_programs.line.drawing import LineContent, draw
from ullage_programs.line.places import session_file
from ullage_programs.line.policy import ASKED_FROM, FEWEST_CALLS
from ullage_programs.line.print import print_line, read_input, read_settings
from ullage_programs.line.settings import LineSettings
from ullage_programs.settings import settings_of


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
    """What to show: the window and the cost as the program says them, and the size of the next call.

    That is what the program says, if it names a call that its log does not have yet. Else it is by the log, and as the
    ledger has it while no turn is under way, and where little or nothing was reported of what the next call holds.
    """
    context = mapping(status, "context_window")
    window = count(context, "context_window_size")
    tokens, asked = size.next_input(), None
    usage = mapping(context, "current_usage")
    is_told = size.lacks(usage)
    is_estimated = size.calls < FEWEST_CALLS or size.added() > ASKED_FROM * window > 0
    if is_told:
        tokens = reported_input(usage) + count(usage, "output_tokens")
    elif is_estimated or size.is_turn_over:
        asked = ask(text(status, "transcript_path"))
        if size.compactions and not (asked or size.input or size.stated):
            tokens = None  # what the program puts back is not in its own sum
    return LineContent(
        tokens=asked.tokens if asked else tokens,
        low=asked.low if asked else 0,
        high=asked.high if asked else 0,
        proven_high=asked.proven_high if asked else 0,
        is_reported=is_told or size.input > 0,
        said_by=FACTS.title if is_told else "",
        window=window,
        threshold=threshold_of(status, window, size),
        largest=size.largest,
        largest_name=size.largest_name,
        cost=amount(mapping(status, "cost"), "total_cost_usd"),
        is_compacted=size.compactions > 0 and not size.input,
    )


def threshold_of(
    status: dict[str, object], window: int, size: SessionSize
) -> ClientLimit | None:
    """Where the program compacts, by its settings and by what the session shows; ``None`` for unknown."""
    project = text(mapping(status, "workspace"), "project_dir") or text(status, "cwd")
    found = settings_of(FACTS, text(status, "transcript_path"), project)
    known = Circumstances(
        model=text(mapping(status, "model"), "id"),
        version=version_of(text(status, "version")),
        settings=found.values,
    )
    return limits_by(FACTS, known, window or None, size.seen()).threshold


def main() -> int:
    """Print one line, whatever comes in."""
    status = read_input()
    settings = read_settings()
    line = status_line(status, settings)
    if settings.compose:
        from ullage_programs.line.compose import composed

        line = composed(settings.compose, status, line)
    print_line(line)
    return 0
