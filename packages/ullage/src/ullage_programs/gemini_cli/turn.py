"""Gemini CLI's ``AfterAgent`` hook: says how full the window is, once at each of the user's two shares.

https://geminicli.com/docs/hooks/reference. The session's log holds the tokens of each answer (Gemini CLI 0.61.0).
"""

from __future__ import annotations

import os
import sys
from json import dumps, loads

from ullage_programs.fields import count, mapping, text
from ullage_programs.files import open_regular, read_object, write_object
from ullage_programs.gemini_cli.facts import WINDOW
from ullage_programs.line.drawing import amount
from ullage_programs.line.places import session_file
from ullage_programs.line.print import read_input, read_settings
from ullage_programs.line.settings import LineSettings

PIECE = 256 * 1024
"""Bytes at the end of a log in which the last answer is looked for."""


def main() -> None:
    """Answer one event: JSON with a message, or an empty object."""
    log = text(read_input(), "transcript_path")
    answer = {}
    tokens = last_tokens(end_of(log)) if log else 0
    if tokens:
        answer = message(log, tokens, read_settings())
    sys.stdout.write(dumps(answer) + "\n")


def message(log: str, tokens: int, settings: LineSettings) -> dict[str, object]:
    """What to say about a size; nothing when its share was already said."""
    place = session_file(log, ".gemini.json")
    said = count(read_object(place), "percent")
    percent = round(100 * tokens / WINDOW)
    reached = 0
    for share in (settings.warn, settings.alert):
        if percent >= 100 * share:
            reached = percent
    if not reached:
        if said:
            write_object(place, {"percent": 0})
        return {}
    if said >= 100 * settings.alert or (said and percent < 100 * settings.alert):
        return {}
    write_object(place, {"percent": percent})
    shown = f"next {amount(tokens)}/{amount(WINDOW)} ({percent} %)"
    return {"systemMessage": f"ullage: {shown}. /compress makes room."}


def end_of(log: str) -> bytes:
    """The last bytes of a regular file; empty when there is none."""
    descriptor = open_regular(log)
    if descriptor is None:
        return b""
    try:
        end = os.fstat(descriptor).st_size
        os.lseek(descriptor, max(0, end - PIECE), os.SEEK_SET)
        return os.read(descriptor, PIECE)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def last_tokens(data: bytes) -> int:
    """Input and output of the last answer: what the next call has at least. 0 when there is none."""
    for line in reversed(data.split(b"\n")):
        if b'"tokens"' not in line:
            continue
        try:
            tokens = mapping(mapping(loads(line)), "tokens")
        except (ValueError, RecursionError):
            continue
        if count(tokens, "input"):
            return count(tokens, "input") + count(tokens, "output")
    return 0
