"""What every status line and hook begins and ends with: JSON on standard input, one line on standard output."""

from __future__ import annotations

import os
import sys
from json import loads

from ullage_programs.fields import mapping
from ullage_programs.files import read_object
from ullage_programs.line.places import settings_file
from ullage_programs.line.settings import LineSettings

INPUT_AT_MOST = 1024 * 1024
"""Claude Code sends about 1 KB."""


def read_input() -> dict[str, object]:
    """The JSON object on standard input; empty for anything else."""
    try:
        data = sys.stdin.buffer.read(INPUT_AT_MOST + 1)
        return mapping(loads(data)) if len(data) <= INPUT_AT_MOST else {}
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}


def read_settings() -> LineSettings:
    """The user's settings, without colour where ``NO_COLOR`` is set (https://no-color.org)."""
    settings = LineSettings(read_object(settings_file()))
    if os.environ.get("NO_COLOR"):
        settings.color = False
    return settings


def print_line(line: str) -> None:
    """The line, with what the terminal's encoding lacks replaced."""
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")
