"""What changes in a file, in lines that can be put there by hand.

What stands beside the change may be a key: it is not shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ullage.cli.installing.files import ClientFile


class Difference(NamedTuple):
    """Members or items that come into one object or list, or go out of it."""

    verb: str
    where: Sequence[str]
    lines: Sequence[str]


def differences(file: ClientFile) -> Iterator[str]:
    """The difference to the file as lines of text."""
    if isinstance(file.content, str):
        verb = "A file of ours at" if file.content else "Without our file at"
        yield f"{verb} {file.path}"
        return
    is_toml = file.path.suffix == ".toml"
    for verb, where, lines in _compared(file.before, file.after, (), is_toml=is_toml):
        yield f"{verb} {_place(where, is_toml=is_toml)}{file.path}:"
        yield from (f"  {line}" for line in lines)


def _place(where: Sequence[str], *, is_toml: bool) -> str:
    if not where:
        return ""
    names = f"[{'.'.join(where)}]" if is_toml else " > ".join(map(json.dumps, where))
    return f"{names} of "


def _compared(
    before: Any, after: Any, where: Sequence[str], *, is_toml: bool
) -> Iterator[Difference]:
    if isinstance(before, list):
        added = [_written(item) for item in after if item not in before]
        gone = [_written(item) for item in before if item not in after]
    else:
        added = [
            _member(key, after[key], is_toml=is_toml)
            for key in after
            if key not in before
        ]
        gone = [json.dumps(key) for key in before if key not in after]
    if gone:
        yield Difference("Out of", where, gone)
    if added:
        end = "" if is_toml else ","
        last = end if before else ""
        lines = [f"{line}{end}" for line in added[:-1]]
        yield Difference("Into", where, [*lines, f"{added[-1]}{last}"])
    if isinstance(before, Mapping):
        for key in before:
            if key not in after or before[key] == after[key]:
                continue
            kinds = {type(before[key]), type(after[key])}
            if kinds in ({dict}, {list}):
                inner = (*where, key)
                yield from _compared(before[key], after[key], inner, is_toml=is_toml)
            else:
                line = _member(key, after[key], is_toml=is_toml)
                yield Difference("Instead of what is set in", where, [line])


def _member(key: str, value: Any, *, is_toml: bool) -> str:
    if is_toml:
        return f"{key} = {_written(value)}"
    return f"{json.dumps(key)}: {_written(value)}"


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
