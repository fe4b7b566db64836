"""Ends the programs of a trial and deletes its folder once the process that began it is gone, killed as it may be.

    python -I -S cluster_keeper.py FOLDER

Standard input ends with that process. Each line of it is a program's process and the signal that ends it at once, 0 for
one that has ended; the line ``DONE`` says that all have.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

DONE: Final = "done"
WAIT_S: Final = 10.0


def keep(folder: str, lines: Iterable[str]) -> None:
    started: dict[int, int] = {}
    for line in lines:
        if line.strip() == DONE:
            started.clear()
            break
        process, signal = map(int, line.split())
        started[process] = signal
    running = [process for process, signal in started.items() if signal]
    for process in running:
        with suppress(ProcessLookupError):
            os.kill(process, started[process])
    ends = time.monotonic() + WAIT_S
    while any(map(_is_there, running)) and time.monotonic() < ends:
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    keep(sys.argv[1], sys.stdin)
