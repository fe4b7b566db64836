"""The same checks as ``Guard`` before smaller servers: ``ullage mcp --http``, ``ullage admin worker --metrics``."""

from __future__ import annotations

from collections.abc import Collection

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send
from msgspec.structs import replace

from ullage.errors import UllageError
from ullage_server.api_types import Problem
from ullage_server.guard import bearer_of, refuse
from ullage_server.problems import of_error
from ullage_server.scopes import check_bearer
from ullage_server.tokens import Tokens, TokenScope


def guarded(
    app: ASGIApp,
    tokens: Tokens,
    scope: TokenScope,
    *,
    names: Collection[str] = (),
    is_open: Collection[str] = (),
) -> ASGIApp:
    """The application behind a check of the request's token, but for the paths that are open.

    ``names`` are the accepted hosts; empty: any.
    """

    async def checked(request: Scope, receive: Receive, send: Send) -> None:
        refused = None
        if request["type"] == ScopeType.HTTP and request["path"] not in is_open:
            refused = _refusal(request, tokens, scope, names)
        if refused is None:
            await app(request, receive, send)
        else:
            await refuse(send, refused)

    return checked


def _refusal(
    request: HTTPScope, tokens: Tokens, scope: TokenScope, names: Collection[str]
) -> Problem | None:
    bearer = bearer_of(request, tokens, names)
    if isinstance(bearer, Problem):
        return bearer
    try:
        # It shows logs of this machine, which belong to no tenant.
        check_bearer(bearer, scope, is_operators=True)
    except UllageError as error:
        # Not 404, by which a client of MCP understands that its session has ended.
        return replace(of_error(error), status=403, title="Forbidden")
    return None
