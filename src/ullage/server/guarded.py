"""A check of host and token before the smaller servers: ``ullage mcp --http`` and ``ullage worker --metrics``."""

from __future__ import annotations

from collections.abc import Collection

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec.structs import replace

from ullage.errors import UllageError
from ullage.server.api_types import Problem
from ullage.server.guard import address_of, bearer_for, refuse
from ullage.server.problems import of_error, problem
from ullage.server.scopes import check_bearer
from ullage.server.tokens import Tokens, TokenScope
from ullage_relay.heads import host_name


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
    request: Scope, tokens: Tokens, scope: TokenScope, names: Collection[str]
) -> Problem | None:
    headers = dict(request["headers"])
    host = host_name(headers.get(b"host", b"").decode("latin-1"))
    if names and host not in names:
        return problem(
            403, "host", "The Host of this request is not this machine.", "Use 127.0.0.1."
        )
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    address = address_of(request)
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
