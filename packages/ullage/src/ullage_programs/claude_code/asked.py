"""The size that the ledger gives, as ``ullage context`` prints it.

It is asked once for each state of a log. That takes twenty times as long as the status line's own sum
(``bench.statusline``), which is why it is not asked with each message.
"""

from __future__ import annotations

import os
import sys
from json import loads

from ullage_programs.fields import count, mapping
from ullage_programs.files import read_object, write_object
from ullage_programs.line.places import session_file
from ullage_programs.line.policy import ASK_TIMEOUT_S, LARGEST_ASKED
from ullage_programs.record import Record

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


class AskedSize(Record):
    """Tokens of the next call, between which it lies 95 times in 100, and by which a compaction is due."""

    tokens: int
    low: int
    high: int
    proven_high: int


def printed(log: str) -> dict[str, object]:
    """What the command prints; empty when it fails or takes too long.

    A program ends a status line that it does not wait for any longer: the command then ends as well.
    """
    import subprocess  # only where it is needed: it takes as long to load as all the rest
    from signal import SIGTERM, signal

    signal(SIGTERM, lambda *_: sys.exit(1))
    command = (sys.executable, "-E", "-P", "-m", "ullage", "context", "--json")
    try:
        done = subprocess.run(  # noqa: S603 - our own command, and the path of a log
            [*command, os.path.abspath(log)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_TIMEOUT_S,
            check=True,
        )
        return mapping(loads(done.stdout))
    except (OSError, ValueError, RecursionError, subprocess.SubprocessError):
        return {}


def ask(log: str, read: Callable[[str], dict[str, object]] = printed) -> AskedSize | None:
    """The size by the log as it is now; ``None`` where nothing was found within the time."""
    try:
        state = os.stat(log)
    except (OSError, ValueError):
        return None
    now: dict[str, object] = {"log": log, "end": state.st_size, "at": state.st_mtime_ns}
    place = session_file(log, ".asked.json")
    kept = read_object(place)
    if {name: kept.get(name) for name in now} != now:
        found = read(log) if state.st_size <= LARGEST_ASKED else {}
        used, unproven = mapping(found, "used"), count(found, "unproven")
        kept = {**now, "used": used, "unproven": unproven}
        write_object(place, kept)
    used = mapping(kept, "used")
    high = count(used, "high")
    proven_high = high - count(kept, "unproven")
    size = AskedSize(count(used, "tokens"), count(used, "low"), high, proven_high)
    return size if size.tokens else None
