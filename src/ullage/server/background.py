"""An agent's HTTP server in a thread of its own, for programs that do more than serve."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from ullage.errors import MissingExtra, UllageError
from ullage.installation import extra_command
from ullage.runtime.agent import Agent


@contextmanager
def http_server(
    agent: Agent, *, host: str = "127.0.0.1", port: int = 0, token: str = ""
) -> Iterator[str]:
    """Serves an agent's sessions over HTTP until the block ends, and gives the address: docs/http.md lists its paths.

    Runs in a thread with its own event loop, so the agent must not be used elsewhere meanwhile. Port 0 is a free port.
    With a ``token`` each request needs it; another host than this machine requires one. Raises ``SettingError`` for an
    address that can't be listened on, ``StoreUnavailable``, and ``MissingExtra`` without ``ullage[server]``.
    """
    try:
        from ullage.server.app import application
        from ullage.server.guard import LOOPBACK
        from ullage.server.masking import secrets_in
        from ullage.server.serving import HttpServer, is_loopback, listener, url_of
    except ImportError as problem:
        raise MissingExtra(
            f"An HTTP server needs more than is installed ({problem.name}). Install it: {extra_command('server')}"
        ) from problem
    with listener(host, port, has_token=bool(token)) as listening:
        names = LOOPBACK if is_loopback(host) else ()
        app = application(
            agent, token=token, names=names, hidden=secrets_in(agent._environment)
        )
        server = HttpServer(app)
        started: Future[None] = Future()

        async def serve() -> None:
            try:
                await agent.sessions(
                    limit=1
                )  # a store that can't be opened is an error of this call
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(server.serve(sockets=[listening]))
                    while not (server.started or server.should_exit):
                        await asyncio.sleep(0.005)
                    if server.started:
                        started.set_result(None)
                if not started.done():
                    raise UllageError(
                        "The HTTP server could not start; the log of ullage.server says why. "
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
            yield url_of(listening)
        finally:
            server.should_exit = True
            thread.join()
