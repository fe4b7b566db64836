"""Which agent and which session ``ullage chat`` works with, from the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ullage.cli.agent_options import ASK_FIRST, LOOKING, agent_with_instructions, endpoint_settings, tool_names
from ullage.cli.chat.simulated import Simulated
from ullage.cli.sessions import SHORTEST_ID
from ullage.errors import BadKey, SessionNotFound, SettingError
from ullage.runtime.agent import Agent
from ullage.runtime.hosting import Host
from ullage.runtime.session import Session
from ullage.wire.endpoints import PROVIDERS, endpoint_for

ALL_SESSIONS: Final = 100_000


def agent_of(args: argparse.Namespace, simulated: Simulated | None = None) -> Agent:
    """The agent that the command line asks for.

    What is said for the session (model, tools, window) is the session's own word, so that it can be changed while it
    runs. The defaults of ``chat`` stand at the lowest rank, where the environment stands: every file wins over them.
    With a simulator nothing else can be reached: no file is read, and keys of others are left out.
    """
    return agent_with_instructions(
        environment=environment_for(os.environ, simulated),
        system=args.system,
        store=args.store,
        config=simulated is None,
    )


def environment_for(environment: Mapping[str, str], simulated: Simulated | None) -> dict[str, str]:
    """The environment of the agent; ``simulated`` takes the place of every provider."""
    own = {"ULLAGE_TOOLS": LOOKING, "ULLAGE_APPROVE": ASK_FIRST, **environment}
    if simulated is None:
        return own
    keys = {name for provider in PROVIDERS for name in (*provider.key_env, *provider.url_env)}
    return {name: value for name, value in own.items() if name not in keys} | {**simulated.environment}


def session_settings(args: argparse.Namespace) -> dict[str, object]:
    """What the command line says for the session."""
    said: Mapping[str, object] = {
        "model": args.model or None,
        **endpoint_settings(args),
        "root": None if args.root is None else str(Path(args.root).expanduser().resolve()),
        "tools": tool_names(args),
    }
    return {name: value for name, value in said.items() if value is not None}


def lacking(agent: Agent, settings: Mapping[str, object], environment: Mapping[str, str]) -> str:
    """Why a new session could call no model, in words; empty when it can."""
    model = str(settings.get("model") or agent.settings.model)
    if not model:
        return (
            "No model is set. Give one, as in `ullage chat --model anthropic:claude-haiku-4-5`, or put "
            '`model = "anthropic:claude-haiku-4-5"` into ullage.toml. Its key comes from the environment, such as '
            "ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY; ollama:… needs none."
        )
    try:
        endpoint_for(
            model,
            base_url=str(settings.get("base_url") or agent.settings.base_url),
            wire=str(settings.get("wire") or agent.settings.wire),
            environment=environment,
        )
    except (BadKey, SettingError) as problem:
        return str(problem)
    return ""


async def opened(host: Host, args: argparse.Namespace, simulated: Simulated | None = None) -> Session:
    """The session that is asked for: by its id, the newest, or a new one. Raises ``SessionNotFound``."""
    settings: dict[str, Any] = session_settings(args)
    name = args.session
    if args.go_on and not name:
        rows = await host.agent.sessions(limit=1)
        if not rows:
            raise SessionNotFound("There is no session to go on with: `ullage chat` begins one.")
        name = rows[0].id
    name, is_known = await found(host.agent, name)
    if not is_known:
        if simulated is not None:
            settings.setdefault("model", simulated.model)
        return await host.begin(name, settings)
    session = await host.session(name)
    if settings:
        await session.set(**settings)
    return session


async def found(agent: Agent, name: str) -> tuple[str, bool]:
    """The whole id of the session that is called so or ends so, and whether there is one."""
    if not name:
        return "", False
    known = {row.id for row in await agent.sessions(limit=ALL_SESSIONS)}
    ending = [one for one in known if one.endswith(name)] if len(name) >= SHORTEST_ID else []
    if name in known or len(ending) != 1:
        return name, name in known
    return ending[0], True


def no_model(why: str) -> SettingError:
    """The error of a chat without a model, with the way out that needs no key."""
    return SettingError(f"{why}\nWithout a key, `ullage chat --simulate` talks to a simulated model on this machine.")
