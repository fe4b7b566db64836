"""What changes in a file, in lines that can be put there by hand.

What stands beside the change may be a key: it is not shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ullage.cli.installing.files import ClientFile


def differences(file: ClientFile) -> Iterator[str]:
    """The difference to the file as lines of text: of JSON, or of TOML."""
    if isinstance(file.content, str):
        verb = "A file of ours at" if file.content else "Without our file at"
        yield f"{verb} {file.path}"
        return
    yield from _compared(file.before, file.after, (), file)


def _compared(
    before: Any, after: Any, where: Sequence[str], file: ClientFile
) -> Iterator[str]:
    """The differences of two objects or two lists, and of all in them."""
    names = " > ".join(map(json.dumps, where))
    place = f"{names} of {file.path}:" if names else f"{file.path}:"
    is_toml = file.path.suffix == ".toml"
    comma = "" if is_toml else ","

    indent = None if is_toml else 2

    def written(value: Any) -> str:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        return text.replace("\n", "\n  ")

    def member(key: str) -> str:
        return f"{written(key)}{' =' if is_toml else ':'} {written(after[key])}"

    gone = [each for each in before if each not in after]
    if gone:
        yield f"Out of {place}"
        yield from (f"  {written(each)}" for each in gone)
    added = [each for each in after if each not in before]
    if added:
        yield f"Into {place}"
        lines = map(written if isinstance(after, list) else member, added)
        joined = f"{comma}\n  ".join(lines)
        yield f"  {joined}{comma if before else ''}"
    if isinstance(before, list):
        return
    for key in before:
        if key not in after or before[key] == after[key]:
            continue
        if {type(before[key]), type(after[key])} in ({dict}, {list}):
            yield from _compared(before[key], after[key], (*where, key), file)
        else:
            yield f"Instead of what is set in {place}"
            yield f"  {member(key)}"
