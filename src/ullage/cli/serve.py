"""``ullage serve``: the HTTP API and the page, until SIGTERM or Ctrl-C.

The agent is the one that ``ullage run`` would be with the same options. Sessions outlive the server: what is under way
when it ends is gone on with by the next one.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from ullage.cli.agent_options import LOOKING, agent_with_instructions, endpoint_settings, tool_names
from ullage.cli.chat.simulated import simulated
from ullage.errors import MissingExtra
from ullage.runtime.agent import Agent
from ullage.store.sqlite import SqliteStore

TOKEN: Final = "ULLAGE_TOKEN"
"""The variable that holds the server's token: unlike an argument, no other program of the machine sees it."""


def run(args: argparse.Namespace) -> int:
    """Serve until told to end. 0 after an orderly end; raises ``UllageError`` for what can't be served."""
    try:
        from ullage.server.serving import listener
    except ImportError as problem:
        raise MissingExtra(
            f"`ullage serve` needs more than is installed ({problem.name}): pip install 'ullage[server]'"
        ) from problem
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    token = args.token or os.environ.get(TOKEN, "")
    store = SqliteStore(Path(args.store).expanduser() if args.store else None)
    with ExitStack() as stack:
        environment: Mapping[str, str] | None = None
        if args.simulate:
            simulation = stack.enter_context(simulated())
            args.model = args.model or simulation.model
            args.tools = args.tools or LOOKING
            environment = {**os.environ, **simulation.environment}
        listening = stack.enter_context(listener(args.host, args.port, token=token))
        asyncio.run(_serve(args, token, store, listening, environment))
    print("Stopped. What was under way is gone on with by the next `ullage serve`.")
    return 0


async def _serve(
    args: argparse.Namespace,
    token: str,
    store: SqliteStore,
    listening: Any,
    environment: Mapping[str, str] | None,
) -> None:
    from ullage.server.app import application
    from ullage.server.guard import LOOPBACK
    from ullage.server.metrics import Metrics, measured
    from ullage.server.serving import is_loopback, serve, url_of

    metrics = Metrics()
    agent = agent_of(args, store=measured(store, metrics), environment=environment)
    is_local = is_loopback(args.host)
    try:
        await store.sessions(limit=1)  # a store that can't be opened is said before anything is promised
        app = application(agent, metrics=metrics, token=token, names=LOOPBACK if is_local else ())
        print(greeting(url_of(listening), agent.settings.model, is_local=is_local, has_token=bool(token)), flush=True)
        await serve(app, listening)
    finally:
        await store.close()


def greeting(url: str, model: str, *, is_local: bool, has_token: bool) -> str:
    """Where it is, who reaches it, and what to do now."""
    who = "this machine only" if is_local else "everybody who has the token"
    said = f"Ullage serves {model or 'the model that each session names'} at {url} ({who})."
    token = "; the page asks for the token" if has_token else ""
    return f"{said}\nOpen it in a browser{token}. {url}/schema/openapi.json describes the API. Ctrl-C stops it."


def agent_of(args: argparse.Namespace, *, store: Any, environment: Mapping[str, str] | None = None) -> Agent:
    """The agent that the command line asks for, on top of files and environment; a session may say otherwise.

    Raises ``SettingError``.
    """
    return agent_with_instructions(
        args.model or "",
        system=args.system,
        root=args.root,
        tools=tool_names(args) or (),
        store=store,
        environment=environment,
        yields=True,
        **endpoint_settings(args),
    )
