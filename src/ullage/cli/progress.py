"""A sign of life on standard error while something takes long: after two seconds, on a terminal, gone at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

PATIENCE_S = 2.0
BEAT_S = 0.5


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say ``what`` is being done, and for how long, while the block runs. Nothing is printed into a pipe."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    done = Event()

    def beat() -> None:
        started = time.monotonic()
        drawn = ""
        while not done.wait(BEAT_S if drawn else PATIENCE_S):
            drawn = f"{what} ... {time.monotonic() - started:.0f} s"
            stream.write("\r" + drawn)
            stream.flush()
        if drawn:
            stream.write("\r" + " " * len(drawn) + "\r")
            stream.flush()

    beating = Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield
    finally:
        done.set()
        beating.join()
