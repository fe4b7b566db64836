"""What a model, and the person who looks on, is told beside the output of a command that failed at the sandbox.

Only what is certain from the sandbox's own rules: a path that is named in a line with an error and lies outside, or
an error of name resolution where there is no network. Whether a hidden file exists is never told.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from ullage.tools.repositories import git_directory
from ullage.tools.sandbox import Sandbox

_LINES: Final = 200  # of the end of the output
_LONGEST_LINE: Final = 2_000  # characters
_NO_NETWORK: Final = re.compile(
    r"could not resolve|couldn't resolve|temporary failure in name resolution|name or service not known"
    r"|network is unreachable|\bENETUNREACH\b|\bEAI_AGAIN\b|nodename nor servname|failed to lookup address"
    r"|unable to resolve|socket: operation not permitted|cannot create socket|failed to open socket",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(r"permission denied|operation not permitted|\bE(?:ACCES|PERM)\b", re.IGNORECASE)
_READ_ONLY: Final = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)
_MISSING: Final = re.compile(r"no such file or directory|not found|\bENOENT\b|cannot access", re.IGNORECASE)
_SHELL: Final = re.compile(r"^\S*/(?:bash|sh): line \d+: ")
"""What a shell writes before an error: its own path, which says nothing of the sandbox."""
_GIT_PATH: Final = re.compile(r"(?<![\w/.~-])((?:[\w.-]+/)*\.git(?:/[^\s'\"`:;,()<>\[\]{}|*?]*)?)(?![\w.-])")
"""A path in a repository from the working directory, as git itself names its settings."""
_PATH: Final = re.compile(r"(?<![\w/.~-])(/[^\s'\"`:;,()<>\[\]{}|*?]+)")


def denial_note(text: str, sandbox: Sandbox, root: Path, *, failed: bool = True) -> str:
    """Why the command may have failed; empty where the sandbox has nothing to do with it, or that is not certain.

    Of one that did not fail as a whole, only what was refused because the place is read-only.
    """
    if not (failed or _READ_ONLY.search(text)) or sandbox.backend(root) == "none":
        return ""
    lines = [_SHELL.sub("", line[:_LONGEST_LINE]) for line in text.splitlines()[-_LINES:]]
    notes = []
    if failed and sandbox.mode == "workspace" and any(_NO_NETWORK.search(line) for line in lines):
        notes.append("the sandbox has no network")
    reach = sandbox.reach(root, os.environ.get("PATH", ""))
    read_only = [path for line in lines if _READ_ONLY.search(line) for path in [*_paths(line), *_in_git(line, root)]]
    refused = [path for line in lines if failed and _REFUSED.search(line) for path in _paths(line)]
    missing = [path for line in lines if failed and _MISSING.search(line) for path in _paths(line)]
    closed = [place for path in [*read_only, *refused] for place in reach.protected if path.is_relative_to(place)]
    kept_away = any(path.is_relative_to(place) for path in [*read_only, *refused] for place in reach.missing)
    barred = [*read_only, *(path for path in refused if reach.sees(path))]
    if closed or kept_away:
        notes.append(_of_git(closed))
    elif any(not reach.writes(path) and not _is_open(path) for path in barred):
        notes.append("outside the working directory and $TMPDIR files are read-only in the sandbox")
    if any(not reach.sees(path) and not _is_open(path) for path in [*refused, *missing]):
        notes.append("a path outside the working directory is hidden by the sandbox")
    return "; ".join(notes)


def _of_git(closed: list[Path]) -> str:
    told = "repositories (.git) are read-only in the sandbox: a person can run that git command"
    opened = git_directory(closed[0]) if closed else None
    if opened is None:
        return told
    return f'{told}, or open it to commands with sandbox_write = ["{opened}"] in their own ullage.toml'


def _in_git(line: str, root: Path) -> list[Path]:
    return [Path(os.path.normpath(root / found)) for found in _GIT_PATH.findall(line)]


def _paths(line: str) -> list[Path]:
    return [Path(os.path.normpath(found)) for found in _PATH.findall(line)]


def _is_open(path: Path) -> bool:
    """Places that the sandbox has for itself: what fails there has another cause."""
    return any(path.is_relative_to(place) for place in ("/tmp", "/var/tmp", "/dev", "/proc"))
