"""Searches files for a regular expression, in a separate program that can be stopped (``grep.py``)."""

from __future__ import annotations

import importlib.util
import stat
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from ullage.tools.files import IGNORED
from ullage.tools.paths import NarrowRoot, walk_to
from ullage.tools.processes import UNLIMITED, ProcessSpec, run_command
from ullage.tools.tool import Output, ToolError

TIMEOUT_S: Final = 60.0
BACKTRACKING_S: Final = 10.0
"""Seconds of a search, and of a search without RE2, where a pattern can take for ever."""

MEMORY_BYTES: Final = 1 << 30
"""Memory a search may use: RE2 itself stays below 8 MB a pattern, and a file of 16 MB is read whole."""

MATCHES: Final = 200
_MOST_CONTEXT: Final = 20
_MOST_BYTES: Final = 16_000_000  # of matches; 200 with much context stay far below
_PROGRAM: Final = str(Path(__file__).with_name("grep.py"))


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What to search for. ``glob`` is matched with a file's path and with its name."""

    pattern: str
    glob: str = ""
    ignore_case: bool = False
    context: int = 0
    limit: int = MATCHES


@cache
def re2_library() -> str:
    """The directory RE2 is installed in (``ullage[search]``); empty without it."""
    found = importlib.util.find_spec("re2")
    if found is None or not found.origin:
        return ""
    return str(Path(found.origin).parents[1])


async def search(
    root: Path | NarrowRoot, path: str, query: Query, *, timeout_s: float | None = None, library: str | None = None
) -> Output:
    """Matching lines as ``path:line: text``, lines around them as ``path-line- text``.

    Binary files, links and ``IGNORED`` directories are left out. Raises ``ToolError`` for a bad pattern or path.
    """
    if not 1 <= query.limit <= 10_000 or not 0 <= query.context <= _MOST_CONTEXT:
        raise ToolError(f"limit is 1 to 10000 and context 0 to {_MOST_CONTEXT}.")
    library = re2_library() if library is None else library
    timeout_s = timeout_s or (TIMEOUT_S if library else BACKTRACKING_S)
    printed = bytearray()

    def take(data: bytes) -> None:
        if len(printed) < _MOST_BYTES:
            printed.extend(data)

    with walk_to(root, path) as place:
        if place.stat() is None:
            raise ToolError(f"{path}: there is no such file or directory.")
        request = msgspec.to_builtins(query) | {
            "directory": place.directory,
            "name": place.name,
            "ignored": sorted(IGNORED),
            "library": library,
        }
        command = ProcessSpec(
            (sys.executable, "-I", "-S", _PROGRAM, msgspec.json.encode(request).decode()),
            Path("/"),  # it finds files by the descriptor
            {},
            (place.directory,),
            spec={"limits": {**UNLIMITED, "memory_bytes": MEMORY_BYTES}},
        )
        end = await run_command(command, take, timeout_s=timeout_s)
        prefix = "" if place.shown == "." else f"{place.shown}/"
        status = place.stat()
        if end.code == 0 and status is not None and stat.S_ISREG(status.st_mode):
            prefix = place.shown.removesuffix(place.name)
    return _result(_rows(bytes(printed)), prefix, timed_out=end.timed_out, timeout_s=timeout_s)


def _rows(printed: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in printed.splitlines():
        try:
            rows.append(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            continue  # the last line of a stopped search, or a message of the interpreter
    return rows


def _result(rows: list[dict[str, Any]], prefix: str, *, timed_out: bool, timeout_s: float) -> Output:
    lines: list[str] = []
    last_path, last_number = "", 0
    end: dict[str, Any] | None = None
    for row in rows:
        if "error" in row:
            raise ToolError(f"Nothing was searched: {row['error']}.")
        if "path" not in row:
            end = row
            continue
        path, number = row["path"], row["line"]
        follows = path == last_path and number == last_number + 1
        if lines and not follows and not row["is_match"]:
            lines.append("--")
        mark = ":" if row["is_match"] else "-"
        lines.append(f"{prefix}{path}{mark}{number}{mark} {row['text']}")
        last_path, last_number = path, number
    if end is None and not timed_out:
        raise ToolError("The search failed; nothing is known of what it would have found.")
    notes = []
    if timed_out:
        notes.append(
            f"stopped after {timeout_s:g} s: not everything was searched; try a simpler pattern or another path"
        )
    elif end and end["more"]:
        notes.append("there are more matches: narrow the pattern, path or glob, or raise limit")
    if end and end["skipped"]:
        notes.append(f"{end['skipped']:,} binary files were left out")
    if not lines:
        lines.append("No match.")
    if notes:
        lines.append(f"[{'; '.join(notes)}]")
    return Output("\n".join(lines), is_error=timed_out, outcome="timed_out" if timed_out else None)
