"""An agent's HTTP server in a thread of its own, for programs that do more than serve."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from ullage.errors import MissingExtra, UllageError
from ullage.installation import extra_command
from ullage_agent.runtime.agent import Agent


class ServerAddress(str):
    """The address of a server. ``token`` is what programs send, ``page`` a link that opens the page once."""

    __slots__ = ("page", "token")

    page: str
    token: str


@contextmanager
def http_server(
    agent: Agent, *, host: str = "127.0.0.1", port: int = 0, token: str | None = None
) -> Iterator[ServerAddress]:
    """Serves an agent's sessions over HTTP until the block ends, and gives the address: docs/http.md lists its paths.

    Runs in a thread with its own event loop.

    Args:
        agent: Whose sessions are served. It must not be used elsewhere meanwhile.
        host: The address to listen on; another one than this machine's requires a ``token``.
        port: 0 is a free port.
        token: What each request needs; by default that of this machine, in ``server-token`` of the data directory,
            which its user alone reads. With an empty one every user and program of the machine is let in.

    Raises:
        SettingError: The address can't be listened on, or the token can be guessed.
        StoreUnavailable: The store can't be opened.
        MissingExtra: ``ullage[server]`` is not installed.
    """
    try:
        from ullage.masking import secrets_in
        from ullage_server.app import application
        from ullage_server.guard import LOOPBACK
        from ullage_server.own_token import FILE, own_token
        from ullage_server.serving import HttpServer, is_loopback, listener, url_of
    except ImportError as problem:
        raise MissingExtra(
            f"An HTTP server needs more than is installed ({problem.name}). Install it: {extra_command('server')}"
        ) from problem
    with listener(host, port, has_token=bool(token)) as listening:
        names = LOOPBACK if is_loopback(host) else ()
        if token is None:
            token = own_token(agent._data / FILE)
        app = application(
            agent, token=token, names=names, hidden=secrets_in(agent._environment)
        )
        server = HttpServer(app)
        started: Future[None] = Future()

        async def serve() -> None:
            try:
                async with agent._opened(), asyncio.TaskGroup() as tasks:
                    tasks.create_task(server.serve(sockets=[listening]))
                    while not (server.started or server.should_exit):
                        await asyncio.sleep(0.005)
                    if server.started:
                        started.set_result(None)
                if not started.done():
                    raise UllageError(
                        "The HTTP server could not start; the log of ullage_server says why. "
                        "Repair that and start it again."
                    )
            except Exception as problem:
                if started.done():
                    raise
                started.set_exception(problem)

        thread = threading.Thread(
            target=lambda: asyncio.run(serve()), name="ullage: http server", daemon=True
        )
        thread.start()
        try:
            started.result()
            address = ServerAddress(url_of(listening))
            address.token = token
            address.page = f"{address}/#link={app.tokens.new_link()}"
            yield address
        finally:
            server.should_exit = True
            thread.join()
