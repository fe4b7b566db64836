"""Files for a model: read, write, edit, list, search. ``builtin_tools`` makes tools of these functions.

All paths are confined to the root, and no file of git is written (``paths.py``). Failures are ``ToolError`` with a
message for the model. The search itself is a separate program that can be stopped (``grep.py``).
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from ullage.display.text import counted
from ullage.envelope import LISTED_ENTRIES, LISTED_LEVELS, READ_BYTES
from ullage_agent.tools.outputs import HEAD_BYTES, as_picture, looks_binary
from ullage_agent.tools.paths import DIRECTORY, ConfinedPath, NarrowRoot, walk_to
from ullage_agent.tools.processes import UNLIMITED, ProcessSpec, run_command
from ullage_agent.tools.tool import Output, ToolError

LINES: Final = 2_000
LONGEST_LINE: Final = 2_000
"""Lines of a file shown at once, and characters of a line: most source files whole, and no minified one. Chosen, not
measured; longer output meets the result budget."""

LARGEST_IMAGE: Final = 20_000_000  # bytes of an image that is shown
LARGEST_EDIT: Final = 50_000_000  # bytes of a file that is edited
_MOST_SHOWN: Final = 1_000_000  # characters of one answer
IGNORED: Final = frozenset(
    {".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache",
     ".pytest_cache", ".tox", ".nox", ".hypothesis", ".cache", ".gradle", ".terraform"}
)  # fmt: skip
"""Directories that are listed and not entered: histories, caches and downloaded packages."""

SEARCH_S: Final = 30.0
"""Seconds of a search: some patterns take for ever."""

MEMORY_BYTES: Final = 1 << 30
"""Memory a search may use; a file of 16 MB is read whole."""

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


def read(root: Path | NarrowRoot, path: str, offset: int, limit: int) -> Output:
    """Lines of a text file with their numbers, from line ``offset`` on; or an image."""
    if offset < 1 or limit < 1:
        raise ToolError("offset and limit count from 1.")
    with walk_to(root, path) as place, os.fdopen(place.open_file(), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD_BYTES)
        if size <= LARGEST_IMAGE and as_picture(head) is not None:
            return _image(place, head + file.read())
        if looks_binary(head):
            raise ToolError(
                f"{place.shown} is a binary file of {size:,} bytes; it can't be shown as text."
            )
        file.seek(0)
        return Output(_numbered(file, place, offset, limit))


def write(root: Path | NarrowRoot, path: str, content: str) -> Output:
    """Create a file, or replace its content."""
    data = content.encode()
    with walk_to(root, path, to_write=True, make_parents=True) as place:
        before = place.stat()
        replace_content(place, data)
        lines = content.count("\n")
        if content and not content.endswith("\n"):
            lines += 1
        was = (
            "a new file"
            if before is None
            else f"in the place of {before.st_size:,} bytes"
        )
        return Output(
            f"Wrote {len(data):,} bytes, {counted(lines, 'line')}, to {place.shown}: {was}."
        )


def edit(
    root: Path | NarrowRoot, path: str, old: str, new: str, replace_all: bool
) -> Output:
    """Replace ``old``, which must occur exactly as given, with ``new``."""
    if not old:
        raise ToolError("old must not be empty; to make a file use write.")
    if old == new:
        raise ToolError("old and new are the same; nothing was done.")
    with (
        walk_to(root, path, to_write=True) as place,
        os.fdopen(place.open_file(), "rb") as file,
    ):
        before = os.fstat(file.fileno())
        if before.st_size > LARGEST_EDIT:
            raise ToolError(
                f"{place.shown} has {before.st_size:,} bytes, more than are edited at once."
            )
        data = file.read()
        sought, put = old.encode(), new.encode()
        if sought not in data and b"\r\n" in data and b"\r" not in sought:
            sought, put = sought.replace(b"\n", b"\r\n"), put.replace(b"\n", b"\r\n")
        count = data.count(sought)
        if count == 0:
            raise ToolError(
                f"{place.shown} does not contain old, exactly as it was given. {_near(data, old)}"
            )
        lines = _lines_of(data, sought)
        if count > 1 and not replace_all:
            raise ToolError(
                f"old occurs {count:,} times in {place.shown}, on lines {lines}; nothing was done. Give more of "
                "the text around it, or set replace_all."
            )
        replace_content(place, data.replace(sought, put), read_as=before)
        return Output(
            f"Replaced {count:,} in {place.shown}, on line{'s' * (count > 1)} {lines}."
        )


def list_directory(root: Path | NarrowRoot, path: str, depth: int) -> Output:
    """The entries of a directory, and of those below it down to ``depth``."""
    with walk_to(root, path) as place:
        found = place.stat()
        if found is not None and not stat.S_ISDIR(found.st_mode):
            raise ToolError(
                f"{place.shown} is no directory; it is a file of {found.st_size:,} bytes."
            )
        descriptor = place.open(os.O_RDONLY | os.O_DIRECTORY)
        try:
            lines = _listed(
                descriptor, "", min(max(1, depth), LISTED_LEVELS), LISTED_ENTRIES
            )
        finally:
            os.close(descriptor)
        return Output("\n".join(lines) or f"{place.shown} is empty.")


async def search(
    root: Path | NarrowRoot,
    path: str,
    query: Query,
    *,
    timeout_s: float = SEARCH_S,
) -> Output:
    """Matching lines as ``path:line: text``, lines around them as ``path-line- text``.

    Binary files, links and ``IGNORED`` directories are left out. Raises ``ToolError`` for a bad pattern or path.
    """
    if not 1 <= query.limit <= 10_000 or not 0 <= query.context <= _MOST_CONTEXT:
        raise ToolError(f"limit is 1 to 10000 and context 0 to {_MOST_CONTEXT}.")
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
    return _matches_shown(
        _found_rows(bytes(printed)), prefix, timed_out=end.timed_out, timeout_s=timeout_s
    )


def replace_content(
    place: ConfinedPath, data: bytes, *, read_as: os.stat_result | None = None
) -> None:
    """Replace the file in one step: readers see the old or the new content, also after a crash.

    An existing file keeps its permissions. ``read_as`` is its status when its content was read; if that has changed,
    nothing is written. Raises ``OSError``, and ``ToolError`` for a directory, a device, or a changed file.
    """
    before = place.stat()
    if before is not None and not stat.S_ISREG(before.st_mode):
        kind = "a directory" if stat.S_ISDIR(before.st_mode) else "no plain file"
        raise ToolError(f"{place.shown} is {kind}.")
    draft = f".ullage-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(draft, flags, 0o666, dir_fd=place.directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before is not None:
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if read_as is not None and _identity(place.stat()) != _identity(read_as):
            raise ToolError(
                f"{place.shown} was changed by another program; nothing was written. Read it again."
            )
        os.replace(
            draft, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory
        )
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=place.directory)
        raise


def _identity(found: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)


def _image(place: ConfinedPath, data: bytes) -> Output:
    picture = as_picture(data, name=place.shown)
    if picture is None:
        raise ToolError(f"{place.shown} changed while it was read.")
    part = picture.part
    return Output(
        f"{place.shown}: {part.mime}, {part.width}x{part.height} pixels, {len(data):,} bytes",
        (picture,),
    )


def _numbered(file: BinaryIO, place: ConfinedPath, offset: int, limit: int) -> str:
    lines: list[str] = []
    number = characters = 0
    while True:
        if file.tell() > READ_BYTES:
            if lines:
                break
            raise ToolError(
                f"{place.shown} has more than {READ_BYTES:,} bytes before line {offset + len(lines):,}."
            )
        line = _line(file)
        if line is None or len(lines) >= limit or characters >= _MOST_SHOWN:
            break
        number += 1
        if number >= offset:
            lines.append(f"{number:6}\t{line}")
            characters += len(lines[-1])
    if not lines:
        if offset == 1:
            return f"({place.shown} is empty)"
        raise ToolError(f"{place.shown} has only {number:,} lines.")
    note = f"\n(the file goes on: offset={number + 1})" if line is not None else ""
    return "\n".join(lines) + note


def _line(file: BinaryIO) -> str | None:
    """The next line without its end, cut if it is too long; ``None`` at the end of the file."""
    data = file.readline(4 * LONGEST_LINE)
    if not data:
        return None
    left_out = 0
    more = data
    while more and not more.endswith(b"\n") and left_out < READ_BYTES:
        more = file.readline(1 << 20)
        left_out += len(more)
    text = data.rstrip(b"\r\n").decode("utf-8", "replace")
    if left_out or len(text) > LONGEST_LINE:
        shown = text[:LONGEST_LINE]
        return f"{shown} (the line goes on for {len(data) + left_out - len(shown.encode()):,} bytes)"
    return text


def _near(data: bytes, old: str) -> str:
    """A hint: the line that equals the first line of ``old`` but for spaces around it."""
    first = old.strip().partition("\n")[0].strip().encode()
    for number, line in enumerate(data.splitlines(), 1):
        if first and line.strip() == first:
            return f"Line {number} is like its first line, so look at spaces and what follows. Nothing was done."
    return "Nothing was done; read the file again."


def _lines_of(data: bytes, sought: bytes) -> str:
    """The numbers of the first ten lines where it begins."""
    numbers: list[str] = []
    at = data.find(sought)
    while at >= 0 and len(numbers) < 10:
        numbers.append(str(data.count(b"\n", 0, at) + 1))
        at = data.find(sought, at + len(sought))
    return ", ".join(numbers) + (" …" if at >= 0 else "")


def _listed(directory: int, prefix: str, depth: int, most: int) -> list[str]:
    """The entries by name: at most so many lines, and a note on how many more there are."""
    with os.scandir(directory) as entries:
        names = sorted(entry.name for entry in entries)
    lines: list[str] = []
    for number, name in enumerate(names):
        if len(lines) >= most:
            of = f" of {prefix}" if prefix else ""
            more = f"({len(names) - number:,} more entries{of} are not shown: list a directory below)"
            return [*lines[:most], more]
        lines += _entry(directory, name, prefix, depth, most - len(lines))
    return lines


def _entry(directory: int, name: str, prefix: str, depth: int, most: int) -> list[str]:
    """The line of one entry, and the lines of the entries below it. None for an entry that has disappeared."""
    shown = prefix + one_line(os.fsencode(name).decode("utf-8", "replace"))
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=directory))
            return [f"{shown} -> {one_line(target.decode('utf-8', 'replace'))}"]
    except FileNotFoundError:
        return []
    if not stat.S_ISDIR(found.st_mode):
        kind = "" if stat.S_ISREG(found.st_mode) else " (no plain file)"
        return [f"{shown}  {found.st_size:,} bytes{kind}"]
    if depth <= 1 or most <= 1:
        return [f"{shown}/"]
    if name in IGNORED:
        return [f"{shown}/ (not entered)"]
    try:
        below = os.open(name, DIRECTORY, dir_fd=directory)
    except OSError as error:
        return [f"{shown}/", f"{shown}/: {error.strerror}"]
    try:
        return [f"{shown}/", *_listed(below, f"{shown}/", depth - 1, most - 1)]
    finally:
        os.close(below)


def one_line(name: str) -> str:
    """A name with line breaks and other control characters escaped, so that one name can't look like two."""
    shown = ""
    for each in name:
        shown += each if each.isprintable() else each.encode("unicode_escape").decode()
    return shown


def _found_rows(printed: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for line in printed.splitlines():
        try:
            rows.append(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            continue  # the last line of a stopped search, or a message of the interpreter
    return rows


def _matches_shown(
    rows: list[dict[str, Any]], prefix: str, *, timed_out: bool, timeout_s: float
) -> Output:
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
        raise ToolError(
            "The search failed; nothing is known of what it would have found."
        )
    notes = []
    if timed_out:
        notes.append(
            f"stopped after {timeout_s:g} s: not everything was searched; try a simpler pattern or another path"
        )
    elif end and end["more"]:
        notes.append(
            "there are more matches: narrow the pattern, path or glob, or raise limit"
        )
    if end and end["skipped"]:
        notes.append(f"{end['skipped']:,} binary files were left out")
    if not lines:
        lines.append("No match.")
    if notes:
        lines.append(f"[{'; '.join(notes)}]")
    return Output(
        "\n".join(lines), is_error=timed_out, outcome="timed_out" if timed_out else None
    )
