"""``ullage admin worker``: drives the sessions of a store that servers share, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.cli.stores import place_of
from ullage.display.text import printable
from ullage.errors import MissingExtra
from ullage.installation import extra_command
from ullage.log_lines import logged
from ullage.loop_thread import run_to_end
from ullage.store.places import store_at
from ullage.store.store import SessionStore
from ullage.store.urls import shown_place
from ullage.tasks import background, start, stop
from ullage_agent.cli.agent_options import warn_of
from ullage_agent.cli.exporting import exporting
from ullage_agent.runtime.dispatch import Dispatch
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.hosting import ANY_NUMBER, Host
from ullage_server.cli.dispatching import dispatch_of, host_and_port
from ullage_server.cli.serve import agent_of, launch_token, token_sources

if TYPE_CHECKING:
    from ullage_server.metrics import Metrics


def run(args: argparse.Namespace) -> int:
    """Drive until told to end. 0 after an orderly end; raises ``UllageError`` for a store that can't be used."""
    place = place_of(args.store)
    store = store_at(place, awaits_server=True)
    dispatch = dispatch_of(args, place)
    args.simulate = False
    with ExitStack() as stack:
        level, form = args.log or "warning", args.log_format
        stack.enter_context(logged(level, os.environ, form=form))
        exported = stack.enter_context(exporting("ullage-worker", os.environ))
        looked_at = _monitored(args, store) if args.metrics else None
        run_to_end(_work(args, store, dispatch, exported.hooks(), looked_at))
    print("Stopped. The next worker or server resumes unfinished turns.")
    return 0


def _monitored(args: argparse.Namespace, store: SessionStore) -> Monitored:
    """What answers at ``--metrics``. Raises ``MissingExtra`` and ``SettingError``."""
    try:
        from ullage_server.metrics import Metrics
        from ullage_server.monitoring import serve_monitoring
        from ullage_server.serving import listener, url_of
        from ullage_server.tokens import Tokens
    except ImportError as problem:
        raise MissingExtra(
            f"`ullage admin worker --metrics` needs more than is installed ({problem.name}). Install it: "
            f"{extra_command('server')}"
        ) from problem
    where = host_and_port("--metrics", args.metrics)
    sources = token_sources(store, os.environ)
    launch = launch_token("", sources, os.environ, is_off=args.no_token)
    tokens = Tokens(launch.text, *sources)
    listening = listener(where.host, where.port, has_token=True)
    metrics = Metrics()
    token = f" (the token in {launch.file})" if launch.file else ""
    return Monitored(
        metrics,
        f" Metrics at {url_of(listening)}/metrics{token}.",
        lambda host: serve_monitoring(host, metrics, listening, tokens),
    )


class Monitored(NamedTuple):
    """The metrics of a worker, where they are, and what serves them."""

    metrics: Metrics
    where: str
    serve: Callable[[Host], Coroutine[Any, Any, None]]


async def _work(
    args: argparse.Namespace,
    inner: SessionStore,
    dispatch: Dispatch,
    hooks: Sequence[Hook],
    looked_at: Monitored | None,
) -> None:
    shown = printable(shown_place(args.store))
    store = inner
    if looked_at is not None:
        from ullage_server.metrics import measured

        store = measured(inner, looked_at.metrics)
        hooks = (looked_at.metrics, *hooks)
    agent = agent_of(args, store=store, environment=os.environ, hooks=hooks)
    warn_of(agent)
    told: asyncio.Queue[signal.Signals] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told.put_nowait, each)
    drives = args.drives or ANY_NUMBER
    try:
        async with (
            agent._opened(),
            Host(agent, attends=True, dispatch=dispatch, drives=drives) as host,
            AsyncExitStack() as stack,
        ):
            await store.unattended(1)  # a role that may not read ends here
            if looked_at is not None:
                await stack.enter_async_context(background(looked_at.serve(host)))
            of = f"the place {args.place} in {shown}" if args.place else shown
            metrics = looked_at.where if looked_at else ""
            print(
                f"Ullage drives sessions of {of}.{metrics} Ctrl-C stops it.", flush=True
            )
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
