"""``ullage mcp --http``: the MCP server over HTTP on this machine, with the tokens of ``ullage serve``."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import TYPE_CHECKING, Any, Final

from ullage.errors import SettingError
from ullage.server.tokens import Bearer, Tokens, TokenScope
from ullage.store.store import DEFAULT_TENANT

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
    """The application behind a check of the request's token. Which hosts and pages may ask is checked by the SDK."""

    async def checked(request: Scope, receive: Receive, send: Send) -> None:
        if request["type"] == "http" and not _may(request, tokens, scope):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            begin = {"type": "http.response.start", "status": 401, "headers": headers}
            await send(begin)
            await send({"type": "http.response.body", "body": b""})
            return
        await app(request, receive, send)

    return checked


def _may(request: Scope, tokens: Tokens, scope: TokenScope) -> bool:
    if not tokens.are_required():
        return True
    address = str((request.get("client") or ("",))[0])
    given = dict(request["headers"]).get(b"authorization", b"").decode("latin-1")
    scheme, _, token = given.partition(" ")
    if scheme.lower() != "bearer":
        return False
    found = tokens.bearer(token.strip(), is_limited=tokens.wrong.wait_s(address) > 0)
    if isinstance(found, Bearer):
        # It shows logs of this machine, which belong to no tenant.
        return scope in found.scopes and found.tenant == DEFAULT_TENANT
    tokens.wrong.note(address)
    return False
