"""The command line without a process of its own: starting Python and importing it all takes longer than most tests.

What is about processes, signals or how a program ends starts one instead.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TextIO

from ullage.cli import main


class Ended(NamedTuple):
    """How a command ended, as ``subprocess.run`` would give it."""

    returncode: int
    stdout: str
    stderr: str


def perform(
    place: Path, environment: Mapping[str, str], *words: str, said: str = ""
) -> Ended:
    """Carry out one command of ``ullage`` in a directory, with pipes for its input and outputs."""
    given, out, error = piped(said), piped(), piped()
    with within(place, environment, given, out, error):
        code = main(words)
    return Ended(code, written(out), written(error))


@contextlib.contextmanager
def within(
    place: Path, environment: Mapping[str, str], given: TextIO, out: TextIO, error: TextIO
) -> Iterator[None]:
    """The directory, environment and streams of a process, as long as the block lasts."""
    before, streams = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
    with contextlib.chdir(place):
        try:
            sys.stdin, sys.stdout, sys.stderr = given, out, error
            os.environ.clear()
            os.environ.update(environment)
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.environ.clear()
            os.environ.update(before)


def piped(content: str = "") -> io.TextIOWrapper:
    """A stream as a process has it whose end is a pipe."""
    return io.TextIOWrapper(io.BytesIO(content.encode()), encoding="utf-8", newline="")


def written(stream: io.TextIOWrapper) -> str:
    """What was written to such a stream."""
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
