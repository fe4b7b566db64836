"""``ullage chat``: chooses the agent and the session from the command line, opens the session and shows it."""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ullage.cli.screen import Screen
from ullage.cli.stores import place_of
from ullage.display.glyphs import glyphs_for
from ullage.display.text import printable
from ullage.errors import BadKey, MissingExtra, SessionNotFound, SettingError, UllageError
from ullage.installation import extra_command
from ullage.store.places import UNSET, is_memory
from ullage.store.store import SessionStore
from ullage.store.urls import is_database_url, shown_place
from ullage_agent.chat.plain import converse
from ullage_agent.cli.agent_options import (
    LOOKING,
    agent_with_instructions,
    endpoint_settings,
    own_defaults,
    sandbox_settings,
    session_meant,
    session_settings,
    tools_settings,
    warn_of,
)
from ullage_agent.cli.simulated import PAUSE_S, Simulated, simulated
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.hosting import Host
from ullage_agent.runtime.session import Session


def run(args: argparse.Namespace) -> int:
    """Talk until the person leaves. Raises ``UllageError`` for what can't be begun."""
    if args.scenario and not args.simulate:
        raise SettingError(
            "--scenario is a script for the simulator: give --simulate as well."
        )
    full = is_full_screen(os.environ)
    if full:
        require_textual()
    with ExitStack() as stack:
        simulator: Simulated | None = None
        if args.simulate:
            pause_s = PAUSE_S if sys.stdout.isatty() else 0.0
            serving = simulated(
                args.scenario, root=args.root, base_url=args.base_url, pause_s=pause_s
            )
            simulator = stack.enter_context(serving)
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
    return (
        all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
        and not dumb
    )


def require_textual() -> None:
    """Raises ``MissingExtra`` where the full screen's package is not installed."""
    try:
        import textual  # noqa: F401
    except ImportError as problem:
        raise MissingExtra(
            f"The full screen needs one more package. Install it: {extra_command('chat')}\n"
            "TERM=dumb ullage chat does without it, line by line."
        ) from problem


def wants_simulator(why: str) -> bool:
    """Offer the model that needs no key."""
    question = "Talk to a simulated model on this machine instead? It needs no key and costs nothing. [Y/n] "
    print(f"{why}\n\n{question}", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


async def _talk(
    agent: Agent, args: argparse.Namespace, simulator: Simulated | None, *, full: bool
) -> int:
    shared = await agent._enter()
    try:
        async with Host(
            agent, idle_s=math.inf
        ) as host:  # the one that is looked at may rest for hours
            session = await opened(host, args, simulator)
            if not full:
                resume = resume_command(args, session.id)
                return await converse(
                    session, shared.store, shared.environment, resume=resume, yes=args.yes
                )
            name = await _full_screen(host, shared.store, session, shared.environment)
            await host.forget(name)
            goes_on = await _tidied(shared.store, name)
    finally:
        await agent._leave()
    if goes_on:
        print(f"Session stays: {resume_command(args, name)}")
    return 0


async def _full_screen(
    host: Host,
    store: SessionStore,
    session: Session,
    environment: Mapping[str, str],
) -> str:
    from ullage_agent.chat.app import ChatApp

    app = ChatApp(
        host,
        store,
        session,
        environment,
        glyphs_for(Screen(sys.stdout).encoding),
    )
    return await app.run_async() or app.session.id


async def _tidied(store: SessionStore, name: str) -> bool:
    """Whether the session is worth going on with; one in which nothing was ever said is taken away."""
    try:
        if not (await store.about(name)).title and not await store.pending(name):
            await store.delete(name)
            return False
    except UllageError:
        return True
    return True


def agent_of(args: argparse.Namespace, simulated: Simulated | None = None) -> Agent:
    """The agent that the command line asks for: a ceiling for what its sessions may do.

    With a simulator nothing else can be reached: no file is read, and keys of others are left out.
    """
    return agent_with_instructions(
        args.model or "",
        environment=environment_for(os.environ, simulated),
        system=args.system,
        store=place_of(args.store) if args.store else UNSET,
        config=(
            *(read_configs(Path.cwd(), os.environ) if simulated is None else ()),
            own_defaults(tools=LOOKING.split(",")),
        ),
        root=None if args.root is None else Path(args.root).expanduser().resolve(),
        **tools_settings(args),
        **sandbox_settings(args),
        **endpoint_settings(args),
    )


def environment_for(
    environment: Mapping[str, str], simulated: Simulated | None
) -> dict[str, str]:
    """The environment of the agent; ``simulated`` takes the place of every provider."""
    return dict(environment) if simulated is None else simulated.within(environment)


def resume_command(args: argparse.Namespace, session: str) -> str:
    """The command that opens this session again with what a session does not keep, quoted for a shell."""
    root, store = args.root, args.store
    given = {
        "--scenario": args.scenario,
        "--store": store and _shown_store(store),
        "--tools": args.tools,
        "--root": root and str(Path(root).expanduser().resolve()),
        "--sandbox": args.sandbox,
        "--base-url": args.base_url,
        "--system": args.system,
        "--session": session,
    }
    words = ["ullage", "chat", *(["--simulate"] if args.simulate else [])]
    for option, value in given.items():
        words += [option, value] if value else []
    return printable(shlex.join(words))


def _shown_store(name: str) -> str:
    """The store for a command that a person may repeat elsewhere."""
    if is_memory(name):
        return name
    if is_database_url(name):
        return shown_place(name)
    return str(Path(name).expanduser().absolute())


def lacking(
    agent: Agent, settings: Mapping[str, object], environment: Mapping[str, str]
) -> str:
    """Why a new session could call no model, in words; empty when it can."""
    model = str(settings.get("model") or agent.settings.model)
    if not model:
        return (
            "No model is set. Give one, as in `ullage chat --model anthropic:claude-haiku-4-5`, or put "
            '`model = "anthropic:claude-haiku-4-5"` into your own ullage.toml. Its key comes from the environment, '
            "such as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY; ollama:… needs none."
        )
    try:
        wire = str(settings.get("wire") or agent.settings.wire)
        replace(agent.settings, model=model, wire=wire).endpoint(environment)
    except (BadKey, SettingError) as problem:
        return str(problem)
    return ""


async def opened(
    host: Host, args: argparse.Namespace, simulated: Simulated | None = None
) -> Session:
    """The session that is asked for: by its id, the newest, or a new one. Raises ``SessionNotFound``."""
    settings: dict[str, Any] = session_settings(args)
    name = args.session
    if args.go_on and not name:
        rows = await host.agent.sessions(limit=1)
        if not rows:
            raise nothing_to_resume(args)
        name = rows[0].id
    name, is_known = await session_meant(host.agent, name)
    if not is_known:
        if simulated is not None:
            settings.setdefault("model", simulated.model)
        return await host.begin(name, settings)
    session = await host.wake(name)
    if settings:
        await session._set(settings)
    return session


def nothing_to_resume(args: argparse.Namespace) -> SessionNotFound:
    """The error of ``--continue`` in an empty store."""
    if not args.simulate:
        return SessionNotFound(
            "There is no session to continue: `ullage chat` begins one."
        )
    return SessionNotFound(
        "There is no simulated session to continue: `ullage chat --simulate` begins one. "
        "Simulated sessions are kept apart from your own, which `ullage chat --continue` finds."
    )


def no_model(why: str) -> SettingError:
    """The error of a chat without a model, with the way out that needs no key."""
    return SettingError(
        f"{why}\nWithout a key, `ullage chat --simulate` talks to a simulated model on this machine."
    )
