"""The user's earlier status line, before ours. Loaded only where one is set."""

from __future__ import annotations

import os
import subprocess
import sys
from json import dumps

from ullage_programs.line.policy import COMPOSED_TIMEOUT_S

INSIDE = "ULLAGE_LINE_COMPOSED"
"""Set for the command, so that a command that is this one again ends."""


def composed(command: str, status: dict[str, object], line: str) -> str:
    """The first line of the command with ours behind it, then the command's other lines; ours alone when it fails."""
    if os.environ.get(INSIDE):
        return line
    printed = _output(command, dumps(status).encode())
    theirs = printed.decode("utf-8", "replace").rstrip("\r\n").split("\n")
    if not theirs[0].strip():
        return line
    first = f"{theirs[0].rstrip()} | {line}"
    return "\n".join([first, *theirs[1:]])


def _output(command: str, given: bytes) -> bytes:
    """What the command prints; nothing when it fails or takes too long."""
    try:
        process = subprocess.Popen(  # noqa: S602 - the user's own command, which is written for a shell
            command,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {INSIDE: "1"},
            start_new_session=True,
        )
    except (OSError, ValueError):
        return b""
    try:
        return process.communicate(given, COMPOSED_TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        _end(process)
        return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and what it started."""
    try:
        if sys.platform != "win32":
            os.killpg(process.pid, 9)
    except OSError:
        pass
    process.kill()
    process.communicate()
