"""A Restate server of the tests' own, from npm: one for each process that asks for it."""

from __future__ import annotations

import atexit
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from ullage.directories import cache_directory
from ullage_cluster.cli.local_restate import LocalRestate, restate_program
from ullage_cluster.restate.admin import register
from ullage_cluster.restate.client import restate_client

CACHE = cache_directory()
"""The user's, as it was before the tests got homes of their own."""


GUARD = """
read -r _
for found in $(grep -lsF "$1/restate.toml" /proc/[0-9]*/cmdline); do
    found=${found#/proc/}
    kill -KILL "${found%/cmdline}"
done
rm -rf "$1"
"""
"""A shell that ends a server, and removes its folder, when the process that started it has ended."""


def new_restate() -> LocalRestate:
    """A new server that runs; the caller ends it, and so does the end of this process, also by a kill.

    Fails with npm's own words where it can't be installed.
    """
    program = restate_program(CACHE)
    folder = Path(tempfile.mkdtemp(prefix="ullage-restate-"))
    server = LocalRestate(folder, program)
    guard = subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "guard", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(guard.communicate)
    atexit.register(server.kill)
    server.start()
    return server


def under(server: LocalRestate, listen: str) -> tuple[str, ...]:
    """The options of a worker that this server calls at an address."""
    return (
        *("--dispatch", "restate", "--restate-admin", server.admin),
        *("--listen", listen),
    )


async def registered(server: LocalRestate, port: int) -> None:
    """Have the server call the workers at this port of the machine."""
    async with restate_client(server.admin, timeout_s=60) as client:
        await register(client, f"http://127.0.0.1:{port}")


@cache
def shared_restate() -> LocalRestate:
    """The server of this process. It ends with the process."""
    return new_restate()
