"""Starts processes by forking, so that one begins within milliseconds with everything imported.

    python -m tests.sweeps.fork_server

Reads an ``Order`` a line; writes ``{"name", "pid"}`` when its process has begun and an ``Ended`` when it is over.
Orders whose life is ``warm …`` are lived by the server itself. It has no threads when it forks.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
from typing import NamedTuple

import msgspec

from tests.sweeps.lives import LIVES
from tests.sweeps.orders import Ended, Order
from ullage_agent.tools.launcher import readable

WARM = "warm "


class Child(NamedTuple):
    order: Order
    kill_at: float
    """By the monotonic clock; 0 for never."""


def main() -> None:
    living: dict[int, Child] = {}
    unread = b""
    while True:
        if readable([0], 0.002 if living else 60.0):
            more = os.read(0, 1 << 16)
            if not more:
                break
            *lines, unread = (unread + more).split(b"\n")
            for line in lines:
                _begin(msgspec.json.decode(line, type=Order), living)
        _look_after(living)
    for pid in living:
        os.kill(pid, signal.SIGKILL)


def _begin(order: Order, living: dict[int, Child]) -> None:
    if order.life.startswith(WARM):
        LIVES[order.life.removeprefix(WARM)](order)
        gc.collect()
        gc.freeze()  # what is never looked at again stays shared with the forked ones
        _tell(Ended(order.key, 0))
        return
    assert threading.active_count() == 1, (
        f"threads would be lost by a fork: {threading.enumerate()}"
    )
    pid = os.fork()
    if pid == 0:
        _live(order)
    kill_at = (
        time.monotonic() + order.kill.at / 1000 if order.kill.kind == "time" else 0.0
    )
    living[pid] = Child(order, kill_at)
    _tell({"name": order.key, "pid": pid})


def _live(order: Order) -> None:
    """The forked process, to its end."""
    try:
        os.setsid()  # what a terminal would tell the tests is not meant for it
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        LIVES[order.life](order)
    except BaseException:  # noqa: BLE001 - whatever it is, the test says it
        order.file("error").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


def _look_after(living: dict[int, Child]) -> None:
    now = time.monotonic()
    for pid, child in list(living.items()):
        if child.kill_at and now >= child.kill_at:
            os.kill(pid, signal.SIGKILL)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            del living[pid]
            _tell(Ended(child.order.key, os.waitstatus_to_exitcode(status)))


def _tell(what: object) -> None:
    os.write(sys.stdout.fileno(), msgspec.json.encode(what) + b"\n")


if __name__ == "__main__":
    main()
