"""The command ``ullage`` in real processes that need not load it: each is a copy of one that has.

Loading the command takes ten times as long as most of what it does. A copy has its own arguments, environment, working
directory, standard streams and exit code, and ends as Python ends.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
STREAMS = ("stdin", "stdout", "stderr")


class Original:
    """The process that is copied. It ends when this one does, since its socket is closed then."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.forking", str(theirs.fileno())]
        environment = os.environ | {"PYTHONUTF8": "1"}
        with theirs:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        ours.settimeout(60)
        self._answers = ours.makefile("r", encoding="utf-8")
        self._socket = ours

    def run(self, request: Mapping[str, Any]) -> int:
        """Run the command in a copy, and give its exit code."""
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            return int(self._answers.readline())
        except TimeoutError:
            os.killpg(self._process.pid, signal.SIGKILL)
            original.cache_clear()
            raise

    def end(self) -> None:
        """Close the socket, and wait for the process to end."""
        self._answers.close()
        self._socket.close()
        self._process.wait(60)


@cache
def original() -> Original:
    made = Original()
    atexit.register(made.end)
    return made


def run_ullage(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str],
    typed: str = "",
) -> subprocess.CompletedProcess[str]:
    """What ``ullage`` did with these arguments: its exit code and its output as text."""
    words = list(map(str, arguments))
    with TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in STREAMS]
        for place in streams:
            place.write_text(typed if place.name == "stdin" else "", "utf-8")
        request = {"arguments": words, "cwd": str(cwd), "environment": dict(env)}
        code = original().run(request | {"streams": list(map(str, streams))})
        said, complained = (place.read_text("utf-8") for place in streams[1:])
    return subprocess.CompletedProcess(words, code, said, complained)


def load() -> None:
    """Import the command and all of its subcommands."""
    for name in (
        "ullage",
        "ullage_agent",
        "ullage_proxy",
        "ullage_server",
        "ullage_cluster",
    ):
        with suppress(ModuleNotFoundError):
            package = import_module(f"{name}.cli")
            for module in pkgutil.iter_modules(package.__path__, f"{name}.cli."):
                import_module(module.name)
    gc.collect()
    gc.freeze()


def answer(requests: socket.socket) -> None:
    """Run a copy for each request. Returns in a copy alone, with everything as it was asked for."""
    for line in requests.makefile("r", encoding="utf-8"):
        request = json.loads(line)
        child = os.fork()
        if not child:
            requests.close()
            become(request)
            return
        _, status = os.waitpid(child, 0)
        requests.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    sys.exit()


def become(request: Mapping[str, Any]) -> None:
    """Take the streams, environment, working directory and arguments of a request."""
    for number, place in enumerate(request["streams"]):
        opened = os.open(place, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.argv[1:] = request["arguments"]


if __name__ == "__main__":
    load()
    answer(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("ullage", run_name="__main__", alter_sys=True)
