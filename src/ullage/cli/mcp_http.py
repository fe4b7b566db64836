"""``ullage mcp --http``: the MCP server over HTTP on this machine, with the tokens of ``ullage serve``."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ullage.errors import SettingError, UllageError
from ullage.server.api_types import Problem
from ullage.server.guard import LOOPBACK, address_of, bearer_for, refuse
from ullage.server.problems import of_error, problem
from ullage.server.scopes import check_bearer
from ullage.server.tokens import Tokens, TokenScope
from ullage_relay.heads import host_name

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"


def serve(server: Any, port: int, tokens: Tokens, scope: TokenScope) -> None:
    """Serve at ``/mcp`` until Ctrl-C or SIGTERM; ``scope`` is what a token has to allow. Raises ``SettingError``."""
    import uvicorn

    app = guarded(server.streamable_http_app(host=HOST), tokens, scope)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()
        except (OSError, OverflowError) as problem:
            raise SettingError(
                f"{HOST}:{port} can't be listened on: {problem}. --http 0 takes a free port."
            ) from problem
        address = f"http://{HOST}:{listening.getsockname()[1]}/mcp"
        how = "a token" if tokens.are_required() else "no token: every program of this machine may ask"  # fmt: skip
        print(f"MCP at {address} ({how}). Ctrl-C ends it.", file=sys.stderr, flush=True)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


def guarded(app: ASGIApp, tokens: Tokens, scope: TokenScope) -> ASGIApp:
    """The application behind a check of the request's host and token. Which pages may ask is checked by the SDK."""

    async def checked(request: Scope, receive: Receive, send: Send) -> None:
        refused = None
        if request["type"] == "http":
            refused = _refusal(request, tokens, scope)
        if refused is None:
            await app(request, receive, send)
        else:
            await refuse(send, refused)  # type: ignore[arg-type]

    return checked


def _refusal(request: Scope, tokens: Tokens, scope: TokenScope) -> Problem | None:
    headers = dict(request["headers"])
    if host_name(headers.get(b"host", b"").decode("latin-1")) not in LOOPBACK:
        # The SDK's check reads ``127.0.0.1:80@evil.example`` as this machine.
        return problem(
            403, "host", "The Host of this request is not this machine.", "Use 127.0.0.1."
        )
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    address = address_of(request)  # type: ignore[arg-type]
    bearer = bearer_for(tokens, authorization, address)
    if isinstance(bearer, Problem):
        return bearer
    try:
        # It shows logs of this machine, which belong to no tenant.
        check_bearer(bearer, scope, is_operators=True)
    except UllageError as error:
        # Not 404, by which a client of MCP understands that its session has ended.
        return replace(of_error(error), status=403, title="Forbidden")
    return None
