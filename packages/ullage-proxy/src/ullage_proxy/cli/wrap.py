"""``ullage wrap CLIENT``: one run of a client, with a proxy of its own that ends with it."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from ullage.cli.client_names import CLIENTS, client_name
from ullage.cli.foreground import run_in_foreground
from ullage.cli.upstreams import PROXY
from ullage.cli.wrapping import other
from ullage.cli.wrapping.setup import (
    ClientSetup,
    Start,
    WrapRefused,
    asking,
    client_of,
    reached_directly,
)
from ullage.display.text import quoted, safe
from ullage.errors import SettingError
from ullage.similar import similar
from ullage_programs.programs import PROGRAMS
from ullage_proxy.cli.relaying import RelayRun, metering_settings


class WrappedClient(NamedTuple):
    """A client that can be wrapped."""

    program: str
    title: str
    setup: Callable[[Start], ClientSetup]
    package: str = ""
    """On npm."""


NOT_STARTED: Final = 127
"""What a shell says of a program that is not there."""

ANSWERS_IN_S: Final = 10


def wrap(options: argparse.Namespace) -> int:
    """Start the client and wait for its end; gives its exit code. Raises ``SettingError``."""
    client, command = _command(options)
    environment = dict(os.environ)
    agree = asking(client.title, environment)
    start = Start(environment, Path.cwd(), command[1:], agree)
    planned = client.setup(start)
    _refuse_a_proxy_behind_ours(client, start)
    metering = metering_settings(options, start.upstreams, lines=False)
    with contextlib.ExitStack() as stack:
        own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ullage-")))
        relay = RelayRun(start.upstreams, metering, own / "proxy.log")
        stack.callback(relay.close)
        setup = planned.at(relay.address)
        environment |= reached_directly(environment.get)
        environment |= setup.environment
        environment |= _written(setup, own)
        if not options.quiet:
            _say(_started(client, start, setup, relay.address))
        words = [command[0], *setup.arguments, *command[1:]]
        code = run_in_foreground(words, environment, kept_open=relay.kept_open)
        said = relay.end()
    if not options.quiet:
        for line in _ended(client, metering, relay.name, said):
            _say(line)
    return code


def _written(setup: ClientSetup, directory: Path) -> dict[str, str]:
    """Files of this run. Gives the variables that name them."""
    named = {}
    for variable, content in setup.files.items():
        path = directory / f"{variable}.json"
        path.write_text(content, encoding="utf-8")
        named[variable] = str(path)
    return named


def _ended(
    client: WrappedClient, metering: Mapping[str, Any], relay: str, said: str
) -> Iterator[str]:
    """What the run came to."""
    if said:
        yield said
    if not metering["is_stored"]:
        yield "nothing was stored, as --no-store asks for."
        return
    from ullage_proxy.cli.wrapped_calls import wrapped_calls

    lines = wrapped_calls(metering.get("store", ""), relay)
    yield from lines
    if not lines:
        yield f"{client.title} made no call through the proxy: docs/proxy.md says which calls don't take its address."


def _command(options: argparse.Namespace) -> tuple[WrappedClient, list[str]]:
    """Who is started, and its command line without what the setup adds."""
    arguments = list(options.arguments or ())
    if not options.client:
        if not arguments:
            raise SettingError(
                f"`ullage wrap` needs a client: {', '.join(CLIENTS.values())}. "
                "For any other program write `ullage wrap -- PROGRAM ARGUMENTS`."
            )
        name = arguments.pop(0)
        client = WrappedClient(name, name, other.setup)
    elif options.client in CLIENTS.values():
        name = options.client
        facts = PROGRAMS[name]
        setup = client_of(name).setup
        client = WrappedClient(facts.command, facts.title, setup, facts.package)
    else:
        raise SettingError(_unknown(options.client))
    path = shutil.which(client.program)
    if path is None:
        raise SettingError(_not_installed(client))
    return client, [path, *arguments]


def _unknown(name: str) -> str:
    likely = similar(name, [*CLIENTS, *CLIENTS.values()], cutoff=0.5)
    for known, client in CLIENTS.items():
        if name.startswith(known) or name == PROGRAMS[client].title.lower():
            likely = known
    meant = f" Did you mean `ullage wrap {client_name(likely)}`?" if likely else ""
    return (
        f"There is no client {quoted(name)}.{meant} Known are {', '.join(CLIENTS.values())}; any other program is "
        f"started with `ullage wrap -- {name}`, if it takes its address from the usual variables."
    )


def _not_installed(client: WrappedClient) -> str:
    if not client.package:
        return f"There is no program {quoted(client.program)} on the PATH. Check its name, or give its whole path."
    return (
        f"{client.title} is not installed: there is no program `{client.program}` on the PATH. "
        f"Install it with `npm install -g {client.package}`."
    )


def _refuse_a_proxy_behind_ours(client: WrappedClient, start: Start) -> None:
    """Two proxies behind each other would meter each call twice."""
    for name, url in start.upstreams.items():
        parts = urlsplit(url)
        if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            continue
        origin = f"{parts.scheme}://{parts.netloc}"
        if _is_ullage(origin):
            raise WrapRefused(
                f"{client.title} already sends its calls to the proxy at {origin}, which meters them. "
                f"Start `{client.program}` by itself, or take the address out again "
                "(`ullage install CLIENT --remove --proxy`)."
            )
        if origin == PROXY and not _health(origin):
            raise WrapRefused(
                f"{client.title} is set to send its calls to a proxy at {origin}/{name}, and none runs there. "
                "Start `ullage proxy`, or take the address out again (`ullage install CLIENT --remove --proxy`)."
            )


def _is_ullage(origin: str) -> bool:
    return b'"program":"ullage"' in _health(origin).replace(b" ", b"")


def _health(origin: str) -> bytes:
    """What a server says of itself; empty when nothing answers."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{origin}/ullage/health", timeout=ANSWERS_IN_S) as answer:
            found: bytes = answer.read(10_000)
            return found or b"-"
    except urllib.error.HTTPError:
        return b"-"
    except (OSError, ValueError):
        return b""


def _started(client: WrappedClient, start: Start, setup: ClientSetup, relay: str) -> str:
    """What was set, in one line."""
    ways = ", ".join(start.upstreams.values())
    first = f"{client.title}'s calls to {ways} are metered at {relay}"
    return "; ".join([first, *setup.said])


def _say(text: str) -> None:
    """Standard output is the client's."""
    with contextlib.suppress(OSError):
        print(f"ullage: {safe(text)}", file=sys.stderr, flush=True)
