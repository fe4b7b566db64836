"""The same checks as ``Guard`` before a smaller server: ``ullage admin worker --metrics``."""

from __future__ import annotations

from collections.abc import Collection

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

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
    is_open: Collection[str],
) -> ASGIApp:
    """The application behind a check of the request's token, but for the paths that are open."""

    async def checked(request: Scope, receive: Receive, send: Send) -> None:
        refused = None
        if request["type"] == ScopeType.HTTP and request["path"] not in is_open:
            refused = _refusal(request, tokens, scope)
        if refused is None:
            await app(request, receive, send)
        else:
            await refuse(send, refused)

    return checked


def _refusal(request: HTTPScope, tokens: Tokens, scope: TokenScope) -> Problem | None:
    bearer = bearer_of(request, tokens)
    if isinstance(bearer, Problem):
        return bearer
    try:
        # It shows logs of this machine, which belong to no tenant.
        check_bearer(bearer, scope, is_operators=True)
    except UllageError as error:
        return of_error(error)
    return None
