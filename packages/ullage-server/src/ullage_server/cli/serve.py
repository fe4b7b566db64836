"""``ullage serve``: the HTTP API and the page, until SIGTERM or Ctrl-C.

The agent is the one that ``ullage run`` would be with the same options. Sessions outlive the server: the next one
resumes unfinished turns.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ullage.cli.stores import place_of
from ullage.directories import data_directory
from ullage.errors import MissingExtra, SettingError
from ullage.hosts import host_name
from ullage.installation import extra_command
from ullage.log_lines import logged
from ullage.loop_thread import run_to_end
from ullage.store.places import store_at
from ullage.store.records import FileRecords, Records
from ullage.store.sqlite.store import FILE
from ullage.store.store import SessionStore
from ullage_agent.cli.agent_options import (
    LOOKING,
    agent_with_instructions,
    endpoint_settings,
    own_defaults,
    sandbox_settings,
    tools_settings,
    warn_of,
)
from ullage_agent.cli.exporting import Exported, exporting
from ullage_agent.cli.simulated import simulated
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.dispatch import Dispatch
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.hosting import ANY_NUMBER
from ullage_server.cli.dispatching import check_dispatch, dispatch_of, drives_here
from ullage_server.own_token import FILE as OWN_TOKEN
from ullage_server.own_token import own_token
from ullage_server.tokens import NamedTokens

if TYPE_CHECKING:
    from ullage_server.notices import Notifier

TOKEN: Final = "ULLAGE_TOKEN"
"""The variable that holds the server's token: unlike an argument, no other program of the machine sees it."""

SIMULATED_TOOLS: Final = f"{LOOKING},write"
"""Those of a simulated model where none are named: one of them asks, so that an approval can be seen."""

OPEN_TO_ALL: Final = (
    "Open it in a browser. With --no-token every user and program of this machine, and every command in the network "
    "sandbox, may read and begin sessions here and approve tool calls."
)

STOPPED: Final = "Stopped. The next `ullage serve` resumes unfinished turns."


def run(args: argparse.Namespace) -> int:
    """Serve until told to end. 0 after an orderly end; raises ``UllageError`` for what can't be served."""
    try:
        from ullage_server.serving import listener
    except ImportError as problem:
        raise MissingExtra(
            f"`ullage serve` needs more than is installed ({problem.name}). Install it: {extra_command('server')}"
        ) from problem
    if args.scenario and not args.simulate:
        raise SettingError(
            "--scenario is a script for the simulator: give --simulate as well."
        )
    check_dispatch(args)
    with ExitStack() as stack:
        environment: Mapping[str, str] = dict(os.environ)
        if args.simulate:
            simulation = stack.enter_context(
                simulated(args.scenario, root=args.root, base_url=args.base_url)
            )
            args.tools = args.tools or SIMULATED_TOOLS
            environment = simulation.within(environment)
            data = shlex.quote(environment["ULLAGE_DATA"])
            told = f"Simulated sessions and tokens are apart: `export ULLAGE_DATA={data}` before `ullage admin`."
            print(told, file=sys.stderr)
        place = place_of(args.store) if args.store else data_directory(environment) / FILE
        store = store_at(place, awaits_server=True)
        dispatch = dispatch_of(args, place, drives=drives_here(args))
        tokens = token_sources(store, environment)
        level, form = args.log or "warning", args.log_format
        with logged(level, environment, args.token, form=form):
            has_named = any(each.read() for each in tokens)
        launch = launch_token(args.token, tokens, environment, is_off=args.no_token)
        has_token = has_named or bool(launch.text and launch.file is None)
        stack.enter_context(logged(level, environment, launch.text, form=form))
        listening = stack.enter_context(
            listener(args.host, args.port, has_token=has_token)
        )
        exported = stack.enter_context(exporting("ullage-server", environment))
        run_to_end(
            _serve(
                args, launch, tokens, store, listening, environment, dispatch, exported
            )
        )
    print(STOPPED if drives_here(args) else "Stopped.")
    return 0


async def _serve(
    args: argparse.Namespace,
    launch: LaunchToken,
    tokens: Sequence[NamedTokens],
    store: SessionStore,
    listening: Any,
    environment: Mapping[str, str],
    dispatch: Dispatch,
    exported: Exported,
) -> None:
    from ullage.masking import secrets_in
    from ullage_server.app import application
    from ullage_server.guard import LOOPBACK
    from ullage_server.live import LiveSessions
    from ullage_server.metrics import Metrics, measured
    from ullage_server.serving import is_loopback, serve, url_of
    from ullage_server.traces import RequestTraces

    metrics = Metrics()
    agent = agent_of(
        args,
        store=measured(store, metrics),
        environment=environment,
        hooks=[metrics, *exported.hooks()],
    )
    warn_of(agent)
    is_local, url = is_loopback(args.host), url_of(listening)
    try:
        are_required = any(each.read() is not None for each in tokens)
        is_private = is_local and not are_required
        names = {*LOOPBACK, host_name(url.partition("://")[2])} if is_local else set()
        origins = set()
        if args.public_url:
            origin, name = public_address(args.public_url)
            origins.add(origin)
            names |= {name} if is_local else set()
        proxies = proxies_of(args.trusted_proxies)
        app = application(
            agent,
            metrics=metrics,
            token=launch.text,
            tokens=tokens,
            names=names,
            origins=origins,
            proxies=proxies,
            hidden=secrets_in(environment),
            shows=LiveSessions(own=getattr(store, "path", None))
            if should_show_live(args, is_private=is_private)
            else None,
            drain_s=args.drain,
            dispatch=dispatch,
            drives=ANY_NUMBER if drives_here(args) else 0,
            traces=RequestTraces(exported.spans),
            notifiers=notifiers_of(args, environment, args.public_url or url),
        )
        if launch.file is not None:
            page = args.public_url.rstrip("/") if args.public_url else url
            link = f"{page}/#link={app.tokens.new_link()}"
            opened = f"Open {link} in a browser: it works once. Programs send the token in {launch.file}."
        elif launch.text or are_required:
            opened = "Open it in a browser; the page asks for a token."
        else:
            opened = OPEN_TO_ALL
        who = "this machine only" if is_local else "everybody who has a token"
        model = agent.settings.model or "the model that each session names"
        async with agent._opened():
            print(f"Ullage serves {model} at {url} ({who}).\n{opened}", end=" ")
            print(
                f"{url}/schema/openapi.json describes the API. Ctrl-C stops it.",
                flush=True,
            )
            await serve(app, listening)
    finally:
        await store.close()


class LaunchToken(NamedTuple):
    """The token that a server was started with, empty for none. ``file`` has it where it is this machine's own."""

    text: str
    file: Path | None = None


def launch_token(
    given: str,
    tokens: Iterable[NamedTokens],
    environment: Mapping[str, str],
    *,
    is_off: bool,
) -> LaunchToken:
    """The token that was given; without one, and without named ones, this machine's own, unless it ``is_off``.

    Raises ``UllageError`` for tokens that can't be read.
    """
    text = given or environment.get(TOKEN, "")
    if text or is_off or any(each.read() for each in tokens):
        return LaunchToken(text)
    file = data_directory(environment) / OWN_TOKEN
    return LaunchToken(own_token(file), file)


def token_sources(
    store: SessionStore, environment: Mapping[str, str]
) -> list[NamedTokens]:
    """The tokens of this machine, and with them those of a store of several machines."""
    places: list[Records | None] = [
        FileRecords(data_directory(environment)),
        store.records(),
    ]
    return [NamedTokens(records) for records in places if records is not None]


def should_show_live(args: argparse.Namespace, *, is_private: bool) -> bool:
    """Whether the page lists what runs on this machine: by default where the user alone reaches the server."""
    if args.live is not None:
        return bool(args.live)
    return is_private and not args.simulate


def public_address(url: str) -> tuple[str, str]:
    """The origin and the host name of ``--public-url``. Raises ``SettingError``."""
    from ullage_server.admission import origin_of

    try:
        return origin_of(url)
    except ValueError as problem:
        raise SettingError(f"--public-url: {problem}") from problem


def proxies_of(text: str) -> list[str]:
    """The addresses and networks of ``--trusted-proxies``. Raises ``SettingError``."""
    proxies = [each.strip() for each in text.split(",") if each.strip()]
    for each in proxies:
        try:
            ip_network(each)
        except ValueError as problem:
            raise SettingError(
                f"--trusted-proxies: {problem}. Give addresses or networks, as 10.0.0.5 or 10.0.0.0/8, with commas."
            ) from problem
    return proxies


def notifiers_of(
    args: argparse.Namespace, environment: Mapping[str, str], page: str
) -> list[Notifier]:
    """Who is told of sessions that need a person. Raises ``SettingError``."""
    from ullage_server.notices import (
        Notifier,
        command_sender,
        webhook_key,
        webhook_sender,
    )

    found: list[Notifier] = []
    page = page.rstrip("/")
    if args.webhook:
        key = webhook_key(environment, args.webhook_secret)
        found.append(Notifier(args.webhook, webhook_sender(args.webhook, key), page))
    if args.notify_command:
        words = words_of(args.notify_command)
        name = f"{platform.node()} {args.notify_command}"
        found.append(Notifier(name, command_sender(words), page))
    return found


def words_of(command: str) -> list[str]:
    """The program of ``--notify-command`` and its arguments. Raises ``SettingError``."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise SettingError(f"--notify-command: {problem}. Correct it.") from problem
    if not words or not shutil.which(words[0]):
        raise SettingError(
            f"--notify-command: there is no program {command!r}. Install it, or give its path."
        )
    return words


def agent_of(
    args: argparse.Namespace,
    *,
    store: Any,
    environment: Mapping[str, str] | None = None,
    hooks: Sequence[Hook] = (),
) -> Agent:
    """The agent that the command line asks for, on top of files and environment: the ceiling of all its sessions.

    Raises ``SettingError``.
    """
    return agent_with_instructions(
        args.model or "",
        system=args.system,
        root=args.root,
        store=store,
        hooks=hooks,
        environment=environment,
        config=(
            *(() if args.simulate else read_configs(Path.cwd(), os.environ)),
            own_defaults(),
        ),
        yields=True,
        **tools_settings(args),
        **sandbox_settings(args),
        **endpoint_settings(args),
    )
