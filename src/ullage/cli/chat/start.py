"""``ullage chat``: finds out where it runs and with which model, opens the session, and shows it."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack

from ullage.cli.agent_options import warn_of
from ullage.cli.chat.opening import (
    agent_of,
    environment_for,
    lacking,
    no_model,
    opened,
    resume_command,
    session_settings,
)
from ullage.cli.chat.plain import converse
from ullage.cli.chat.simulated import Simulated, simulated
from ullage.cli.screen import Screen
from ullage.display.glyphs import glyphs_for
from ullage.errors import MissingExtra, SettingError, UllageError
from ullage.runtime.agent import Agent
from ullage.runtime.hosting import Host
from ullage.runtime.session import Session
from ullage.store.store import Store


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves. Raises ``UllageError`` for what can't be begun."""
    if args.scenario and not args.simulate:
        raise SettingError("--scenario is a script for the simulator: give --simulate as well.")
    full = is_full_screen(os.environ)
    if full:
        require_textual()
    with ExitStack() as stack:
        simulator: Simulated | None = None
        if args.simulate:
            simulator = stack.enter_context(simulated(args.scenario, root=args.root, base_url=args.base_url))
        agent = agent_of(args, simulator)
        settings = session_settings(args)
        warn_of(agent, yes=args.yes and not full)
        if simulator is None and not (args.session or args.go_on):
            why = lacking(agent, settings, environment_for(os.environ, None))
            if why:
                if not full or not wants_simulator(why):
                    raise no_model(why)
                args.simulate, args.model = True, ""
                return run(args)
        return asyncio.run(_talk(agent, args, simulator, full=full))


def is_full_screen(environment: Mapping[str, str]) -> bool:
    """Whether all ends are a terminal that can move its cursor; Textual draws on standard error."""
    dumb = environment.get("TERM", "").lower() in ("", "dumb")
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)) and not dumb


def require_textual() -> None:
    """Raises ``MissingExtra`` where the full screen's package is not installed."""
    try:
        import textual  # noqa: F401
    except ImportError as problem:
        raise MissingExtra(
            "The full screen needs one more package: pip install 'ullage[chat]'. "
            "TERM=dumb ullage chat does without it, line by line."
        ) from problem


def wants_simulator(why: str) -> bool:
    """Offer the model that needs no key."""
    print(why)
    print("\nTalk to a simulated model on this machine instead? It needs no key and costs nothing. [Y/n] ", end="")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


async def _talk(agent: Agent, args: argparse.Namespace, simulator: Simulated | None, *, full: bool) -> int:
    shared = await agent._enter()
    try:
        async with Host(agent, idle_s=math.inf) as host:  # the one that is looked at may rest for hours
            session = await opened(host, args, simulator)
            if not full:
                return await converse(session, shared.store, shared.environment, yes=args.yes)
            name = await _full_screen(host, shared.store, session, shared.environment)
            await host.forget(name)
            goes_on = await _tidied(shared.store, name)
    finally:
        await agent._leave()
    if goes_on:
        print(f"Session stays: {resume_command(args, name)}")
    return 0


async def _full_screen(host: Host, store: Store, session: Session, environment: Mapping[str, str]) -> str:
    from ullage.cli.chat.app import ChatApp

    app = ChatApp(host, store, session, environment, glyphs_for(Screen(sys.stdout).encoding))
    return await app.run_async() or app.session.id


async def _tidied(store: Store, name: str) -> bool:
    """Whether the session is worth going on with; one in which nothing was ever said is taken away."""
    try:
        if not (await store.about(name)).title and not await store.pending(name):
            await store.delete(name)
            return False
    except UllageError:
        return True
    return True
