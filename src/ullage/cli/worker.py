"""``ullage worker``: drives the sessions of a store that servers share, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal

from ullage.cli.agent_options import warn_of
from ullage.cli.dispatching import dispatch_of
from ullage.cli.logged import logged
from ullage.cli.serve import agent_of
from ullage.cli.stores import place_of
from ullage.runtime.dispatch import Dispatch
from ullage.runtime.hosting import ANY_NUMBER, Host
from ullage.store.places import store_at
from ullage.store.store import Store
from ullage.tasks import start, stop


def run(args: argparse.Namespace) -> int:
    """Drive until told to end. 0 after an orderly end; raises ``UllageError`` for a store that can't be used."""
    place = place_of(args.store)
    store = store_at(place)
    dispatch = dispatch_of(args, place)
    args.simulate = False
    with logged(args.log or "warning", os.environ, ""):
        asyncio.run(_work(args, store, dispatch))
    print("Stopped. The next worker or server resumes unfinished turns.")
    return 0


async def _work(args: argparse.Namespace, store: Store, dispatch: Dispatch) -> None:
    agent = agent_of(args, store=store, environment=os.environ)
    warn_of(agent)
    told: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told.put_nowait, each)
    drives = args.drives or ANY_NUMBER
    try:
        await store.sessions(limit=1)  # a store that can't be opened is said at once
        async with Host(agent, attends=True, dispatch=dispatch, drives=drives) as host:
            print("Ullage drives sessions of the store. Ctrl-C stops it.", flush=True)
            if await told.get() == signal.SIGTERM:
                await _drained(host, told, args.drain)
    finally:
        await store.close()


async def _drained(
    host: Host, told: asyncio.Queue[signal.Signals], drain_s: float
) -> None:
    """Give the current steps so many seconds, or until a second signal."""
    if not drain_s:
        return
    draining, hurry = start(host.drain()), start(told.get())
    try:
        await asyncio.wait(
            (draining, hurry), timeout=drain_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        await stop(draining, hurry)
