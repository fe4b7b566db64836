"""``ullage statusline``: Claude Code's status line, by hand. The program itself starts ``ullage_programs``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ullage.cli.exit_codes import FAILED
from ullage_programs.claude_code import status
from ullage_programs.line.print import read_settings

if TYPE_CHECKING:
    from pathlib import Path


def statusline(options: argparse.Namespace) -> int:
    """Print the line for the JSON on standard input, or for a log. Gives 2 when there is neither."""
    if options.log is not None:
        return _of_log(options.log, options.window)
    if sys.stdin is None or sys.stdin.isatty():
        print(
            "ullage statusline: no session. Claude Code's JSON is expected on standard input. "
            "Name a session log, or run `ullage install claude-code --statusline`.",
            file=sys.stderr,
        )
        return FAILED
    return status.main()


def _of_log(log: Path, window: int | None) -> int:
    from ullage.display.text import printable

    if not os.path.isfile(log):
        print(
            f"ullage statusline: no log at {printable(str(log))}. `ullage sessions` lists the logs that exist.",
            file=sys.stderr,
        )
        return FAILED
    from ullage.cli.meters import client_settings  # which a line from JSON need not load
    from ullage.cli.session import metered
    from ullage.cli.sessions import chosen_session
    from ullage.meter.meter import Meter

    imported = chosen_session(str(log), "")
    found = client_settings(imported)
    meter = Meter(window=window, client_settings=found.values)
    reading = metered(imported, meter, None).meter.reading()
    told: dict[str, object] = {
        "transcript_path": str(log.resolve()),
        "cwd": imported.cwd or os.getcwd(),
        "context_window": {"context_window_size": reading.window.tokens},
        "model": {"id": reading.model},
        "version": imported.program.rpartition(" ")[2],
    }
    print(status.status_line(told, read_settings()))
    return 0
