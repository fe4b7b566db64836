"""The search itself, run as a program of its own: it can be killed, and stalls no other work.

    python grep.py '{"pattern": "x", "directory": 3, …}'      one JSON object a line

It imports the standard library alone, and starts in a few hundredths of a second. Some patterns keep Python's regular
expressions busy for ever: the program that runs this stops it.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

HEAD = 8_000  # bytes looked at for binary data
LONGEST_LINE = 1 << 20  # bytes of a line that are looked at
SHOWN = 400  # characters of a line that are shown
WHOLE = 16_000_000  # bytes of a file that is looked through at once before its lines are
CROSSES_LINES = re.compile(r"\[\^|\\[sWDAZn]|\(\?")
"""What can make a difference between a whole text and its lines, or is slow where it runs over their ends."""


def main(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Matches one by one, and what was left out at the end."""
    flags = re.IGNORECASE if request["ignore_case"] else re.NOFLAG
    text, glob = request["pattern"], request["glob"]
    try:
        pattern = re.compile(text, flags)
        in_whole = re.compile(text, flags | re.MULTILINE)
        name = re.compile(glob_pattern(glob)) if glob else None
    except (re.error, RecursionError, OverflowError) as error:
        yield {"error": f"the pattern is no regular expression: {error}"}
        return
    found = skipped = 0
    for path, descriptor in files(
        request["directory"], request["name"], set(request["ignored"])
    ):
        if name is not None and not (
            name.fullmatch(path) or name.fullmatch(path.rsplit("/", 1)[-1])
        ):
            os.close(descriptor)
            continue
        with os.fdopen(descriptor, "rb") as file:
            if b"\0" in file.read(HEAD):
                skipped += 1
                continue
            file.seek(0)
            is_short = os.fstat(file.fileno()).st_size <= WHOLE
            if is_short and not CROSSES_LINES.search(text):
                whole = file.read(WHOLE).decode("utf-8", "replace")
                if not in_whole.search(whole.replace("\r\n", "\n")):
                    continue  # many times faster than to look at each line
                file.seek(0)
            for match in matches(file, pattern, request["context"]):
                if found >= request["limit"] and match["is_match"]:
                    yield {"more": True, "skipped": skipped}
                    return
                found += match["is_match"]
                yield {"path": path, **match}
    yield {"more": False, "skipped": skipped}


def files(directory: int, name: str, ignored: set[str]) -> Iterator[tuple[str, int]]:
    """Plain files below a place, in order, each with an open descriptor; links are not followed."""
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        yield (
            name,
            os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory),
        )
        return
    for path, below, names, here in os.fwalk(
        name, dir_fd=directory, follow_symlinks=False
    ):
        below[:] = sorted(each for each in below if each not in ignored)
        prefix = os.path.relpath(path, name)
        for each in sorted(names):
            try:
                descriptor = os.open(
                    each, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here
                )
            except OSError:
                continue  # a link, or not for us to read
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield (each if prefix == "." else f"{prefix}/{each}"), descriptor
            else:
                os.close(descriptor)


def matches(
    file: BinaryIO, pattern: re.Pattern[str], context: int
) -> Iterator[dict[str, Any]]:
    """Lines that match, with the lines around them."""
    before: list[tuple[int, str]] = []
    after = number = 0
    while data := file.readline(LONGEST_LINE):
        number += 1
        line = data.rstrip(b"\r\n").decode("utf-8", "replace")
        hit = pattern.search(line)
        if hit:
            yield from (
                {"line": n, "text": text[:SHOWN], "is_match": False} for n, text in before
            )
            yield {"line": number, "text": around(line, hit.start()), "is_match": True}
            before.clear()
            after = context
        elif after:
            yield {"line": number, "text": line[:SHOWN], "is_match": False}
            after -= 1
        elif context:
            before = [*before, (number, line)][-context:]
        while not data.endswith(b"\n") and data:
            data = file.readline(LONGEST_LINE)


def around(line: str, at: int) -> str:
    """The part of a long line around a place."""
    start = max(0, min(at - SHOWN // 2, len(line) - SHOWN))
    end = start + SHOWN
    before = "…" if start else ""
    after = "…" if end < len(line) else ""
    return before + line[start:end] + after


def glob_pattern(glob: str) -> str:
    """A glob as a regular expression: ``*`` and ``?`` within a name, ``**`` across, ``[…]``, ``{a,b}``."""
    out = ""
    at = depth = 0
    while at < len(glob):
        rest = glob[at:]
        if rest.startswith("**/"):
            out, at = out + "(?:.*/)?", at + 3
            continue
        if rest.startswith("**"):
            out, at = out + ".*", at + 2
            continue
        if rest[0] == "[" and (end := rest.find("]", 2)) > 0:
            body = re.sub(
                r"([\\[&~|])", r"\\\1", rest[1:end]
            )  # what only a regular expression gives a meaning
            if body[0] == "!":
                body = "^" + body[1:]
            out, at = f"{out}[{body}]", at + end + 1
            continue
        if rest[0] == "{" and "}" in rest:
            depth += 1
            out += "(?:"
        elif rest[0] == "}" and depth:
            depth -= 1
            out += ")"
        elif rest[0] == "," and depth:
            out += "|"
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(rest[0]) or re.escape(rest[0])
        at += 1
    return out + ")" * depth


if __name__ == "__main__":
    for row in main(json.loads(sys.argv[1])):
        sys.stdout.write(json.dumps(row) + "\n")
