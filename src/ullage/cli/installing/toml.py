"""Edits of TOML as text: everything outside the edited value stays as it is, to the byte. Pure.

Tables are found by the lines that begin them. Every edit is parsed again: a layout that this misses, such as an inline
table or a header inside a long string, is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from ullage.cli.installing.splice import CannotEdit, Splice, newline_of

MARK = "\ufeff"
BEGIN = r"(?<![^\n\ufeff])[ \t]*"
HEADER = re.compile(BEGIN + r"\[[^\n]*")
TEXT = r"\"(?:[^\"\\\r\n]|\\.)*\"|'[^'\r\n]*'"


def parse(text: str) -> dict[str, Any]:
    """The values of the whole text. Raises ``CannotEdit`` for what is no TOML."""
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise CannotEdit(f"it is not valid TOML: {problem}") from None


def is_object(text: str) -> bool:
    """Whether a text is TOML."""
    try:
        parse(text)
    except CannotEdit:
        return False
    return True


def value_at(text: str, path: Sequence[str]) -> Any:
    """The value at a path of keys; ``None`` where there is none."""
    value: Any = parse(text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def setting(text: str, path: Sequence[str], value: str) -> Splice:
    """The change that sets a text at a path. Its table must be there."""
    expected = parse(text)
    start, end = _table(text, path[:-1])
    found = _value(text, path[-1], start, end)
    written = json.dumps(value, ensure_ascii=False)
    if found is None:
        line = f"{path[-1]} = {written}{newline_of(text)}"
        splice = Splice(start, "", line)
    else:
        splice = Splice(found.start(1), found[1], written)
    owner = expected
    for key in path[:-1]:
        owner = owner[key]
    owner[path[-1]] = value
    if not is_object(splice.apply(text)) or parse(splice.apply(text)) != expected:
        raise _unsafe(path)
    return splice


def removing(
    text: str, path: Sequence[str], value: object, before: str, *, is_item: bool
) -> str | None:
    """The text without a value that was set, or with ``before`` again in its place; ``None`` when it is not there."""
    if value_at(text, path) != value:
        return None
    start, end = _table(text, path[:-1])
    found = _value(text, path[-1], start, end)
    if found is None:
        return None
    if before:
        return text[: found.start(1)] + before + text[found.end(1) :]
    line_end = text.find("\n", found.end()) + 1 or len(text)
    return text[: found.start()] + text[line_end:]


def _table(text: str, names: Sequence[str]) -> tuple[int, int]:
    """Where the lines of a table begin and end."""
    start = len(MARK) if text.startswith(MARK) else 0
    headers = list(HEADER.finditer(text))
    if not names:
        end = headers[0].start() if headers else len(text)
        return start, end
    for place, header in enumerate(headers):
        if _names(header[0]) != list(names):
            continue
        after = text.find("\n", header.end()) + 1
        following = headers[place + 1 :]
        end = following[0].start() if following else len(text)
        if after:
            return after, end
    raise _unsafe(names)


def _names(header: str) -> list[str]:
    """The keys of a table's first line; none for a line that only looks like one."""
    try:
        value: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while isinstance(value, dict) and value:
        [(key, value)] = value.items()
        names.append(key)
    return names


def _value(text: str, key: str, start: int, end: int) -> re.Match[str] | None:
    """A key's line up to the end of its value, which is the first group."""
    line = re.compile(rf"{BEGIN}{re.escape(key)}[ \t]*=[ \t]*({TEXT})")
    return line.search(text, start, end)


def _unsafe(path: Sequence[str]) -> CannotEdit:
    where = ".".join(path)
    return CannotEdit(f"its layout hides where {where!r} belongs: set it by hand")
