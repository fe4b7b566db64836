"""The relay's life: it listens, says where, and ends in order."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import sys
from typing import Any, Final

from ullage.log_lines import logged
from ullage.upstreams import BadUpstream, Upstream, parse_upstream
from ullage_proxy.relay.client_side import ClientConnection
from ullage_proxy.relay.connections import ClientConnections, most_connections
from ullage_proxy.relay.metering import MeteringChild, say
from ullage_proxy.relay.options import BadOption, RelayOptions, read_options, token_of
from ullage_proxy.relay.passing import RelayState
from ullage_proxy.relay.taps import Taps

FINISH_WITHIN_S: Final = 10.0
"""How long running answers may go on once the relay is to end."""

ASKED_TO_END: Final = "it was asked to end. Running answers get 10 s; then it stops."

LINE: Final = "ullage proxy: %(message)s"

STORE_WITHIN_S: Final = 20.0
"""How long metering may store after that."""


class StdinWatch(asyncio.Protocol):
    """Ends the relay when its stdin ends: whoever started it is gone then, even if it was killed."""

    def __init__(self, ending: asyncio.Event) -> None:
        self._ending = ending

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending.set()


class Ending:
    """What ends the relay: a signal, or the end of stdin. A second signal ends it at once."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.at_once = asyncio.Event()

    def signalled(self) -> None:
        if self.begun.is_set():
            self.at_once.set()
        self.begun.set()


def main(arguments: list[str]) -> int:
    """Run the relay. Gives the exit code."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    options = read_options(arguments[0])
    with logged("warning", os.environ, form=options.log_format, text=LINE):
        return _run(options)


def _run(options: RelayOptions) -> int:
    try:
        token = token_of(options)
        upstreams = [
            parse_upstream(f"{name}={url}") for name, url in options.upstreams.items()
        ]
    except (BadOption, BadUpstream) as error:
        say(str(error))
        return 2
    return asyncio.run(serve(options, upstreams, token))


async def serve(options: RelayOptions, upstreams: list[Upstream], token: bytes) -> int:
    """Listen until a signal or the end of stdin."""
    name = os.urandom(8).hex()
    taps = Taps(name)
    settings = json.dumps(options.metering_settings or {}).encode()
    metering = MeteringChild(list(options.metering), settings, taps)
    state = RelayState(
        upstreams,
        taps,
        metering,
        token=token,
        version=options.version,
        marks=options.marks,
    )
    connections = ClientConnections(most_connections())
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: state.say_once(_problem(context)))
    try:
        server = await loop.create_server(
            lambda: ClientConnection(state, connections), options.host, options.port
        )
    except OSError as error:
        say(_cannot_listen(options, error))
        return 2
    ending = Ending()
    await _watch(ending, options)
    metering.start()
    looking = asyncio.create_task(connections.look_after())
    _announce(options, server.sockets[0].getsockname()[1], name)
    await ending.begun.wait()
    if not options.until_stdin_closes:
        say(ASKED_TO_END)
    server.close()
    await _finish(connections, ending)
    looking.cancel()
    await metering.stop(STORE_WITHIN_S)
    return 0


async def _watch(ending: Ending, options: RelayOptions) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ending.signalled)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        loop.add_signal_handler(signal.SIGHUP, ending.signalled)
    if options.until_stdin_closes:
        # Ctrl-C is for the program that runs in the terminal, not for its relay.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        await loop.connect_read_pipe(lambda: StdinWatch(ending.begun), sys.stdin)
    else:
        loop.add_signal_handler(signal.SIGINT, ending.signalled)


async def _finish(connections: ClientConnections, ending: Ending) -> None:
    """Let running answers end, up to ``FINISH_WITHIN_S``."""
    for connection in connections.all():
        connection.stop()
    loop = asyncio.get_running_loop()
    until = loop.time() + FINISH_WITHIN_S
    while len(connections) and loop.time() < until and not ending.at_once.is_set():
        await asyncio.sleep(0.02)
    for connection in connections.all():
        connection.abort()
    await asyncio.sleep(0)


def _announce(options: RelayOptions, port: int, name: str) -> None:
    """Say where the relay listens: a line of JSON, or the text that was asked for.

    ``relay`` is what the ids of its calls begin with.
    """
    host = f"[{options.host}]" if ":" in options.host else options.host
    address = f"http://{host}:{port}"
    ready = {"listening": address, "port": port, "pid": os.getpid(), "relay": name}
    line = json.dumps(ready)
    if options.ready_message:
        line = options.ready_message.replace("{address}", address)
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        return


def _problem(context: dict[str, Any]) -> str:
    """What went wrong in the background, in place of a traceback."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            "new connections have to wait: too many files are open."
            " Raise the limit with `ulimit -n`, and start the proxy again."
        )
    what = type(error).__name__ if error is not None else context.get("message", "")
    return f"an error of its own ({what}); traffic goes on. Report it if calls fail."


def _cannot_listen(options: RelayOptions, error: OSError) -> str:
    where = f"{options.host}:{options.port}"
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {options.port} is in use by another program, perhaps another ullage proxy."
            " Stop it, or choose another port with --port (0 for any free one)."
        )
    reason = error.strerror or str(error)
    return (
        f"{where} can't be listened on: {reason}. Choose another with --host and --port."
    )
