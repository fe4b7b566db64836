"""The scope that each route needs, in one table. The server does not start if a route is missing here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from litestar import get
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from ullage.encoding import shown_as
from ullage.store.refusals import no_session
from ullage.store.store import DEFAULT_TENANT
from ullage_server.api_types import AccessView
from ullage_server.guard import unescaped
from ullage_server.problems import OperatorOnly, ScopeMissing
from ullage_server.tokens import ANYONE, SCOPES, Bearer, TokenScope

NEEDED: Final[Mapping[str, TokenScope | None]] = {
    # The page without content, and the server's health: they hold nothing of a session.
    "index": None,
    "asset": None,
    "redeem_link": None,
    "get_health": None,
    "get_readiness": None,
    "get_drain": None,
    "get_access": "read",
    "get_metrics": "read",
    "get_quota": "read",
    "look_at_log": "read",
    "list_sessions": "read",
    "search_sessions": "read",
    "get_session": "read",
    "export_session": "read",
    "list_messages": "read",
    "list_queue": "read",
    "get_kept": "read",
    "get_settings": "read",
    "explain": "read",
    "get_context": "read",
    "list_steps": "read",
    "list_largest": "read",
    "get_spend": "read",
    "get_advice": "read",
    "get_picture": "read",
    "follow_events": "read",
    "resume_ai_sdk": "read",
    "list_ui_messages": "read",
    "begin_session": "write",
    "import_session": "write",
    "fork_session": "write",
    "send_message": "write",
    "chat_with_ai_sdk": "write",
    "run_ag_ui": "write",
    "edit_queued": "write",
    "withdraw_queued": "write",
    "cancel": "write",
    "resume": "write",
    "compact": "write",
    "uncompact": "write",
    "preview_compaction": "write",
    "accept_preview": "write",
    "list_droppable": "read",
    "drop": "write",
    "pin": "write",
    "rewind": "write",
    # It shows what is in files, which is more than the session's messages say.
    "get_changed_files": "write",
    "rename": "write",
    "add_link": "write",
    "list_approvals": "read",
    "list_all_approvals": "read",
    "list_grants": "read",
    "approve": "approve",
    "revoke_grant": "approve",
    # These show what was said to other programs of the machine, not this server's sessions alone.
    "list_live": "admin",
    "follow_live": "admin",
    # These change how sessions run, or delete a session.
    "change_settings": "admin",
    "delete_session": "admin",
}
"""By the handler's name; ``None`` needs no token at all."""

OF_ANY_LINK: Final = frozenset({"get_access"})
"""Handlers that name no session, for tokens that read one session alone."""

OF_THE_OPERATOR: Final = frozenset({"get_metrics", "list_live", "follow_live"})
"""Handlers that show what belongs to all tenants or to the machine: for tokens of the default tenant alone."""


def check_table(handlers: Iterable[HTTPRouteHandler]) -> None:
    """Raises ``LookupError`` for a handler without a scope, and for an entry without a handler."""
    names = {name_of(handler) for handler in handlers}
    if names != NEEDED.keys():
        raise LookupError(
            f"Routes and the table of their scopes differ: {sorted(names ^ NEEDED.keys())}"
        )


def name_of(handler: BaseRouteHandler) -> str:
    """The name of a handler's function."""
    return str(getattr(handler.fn, "__name__", ""))


def needed_by(handler: BaseRouteHandler) -> TokenScope | None:
    """The scope that a handler needs. The framework's own handlers (OPTIONS, the description) need none."""
    return NEEDED.get(name_of(handler))


def bearer_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Bearer:
    """The bearer of this request's token."""
    found = connection.scope.get("state", {}).get("bearer", ANYONE)
    assert isinstance(found, Bearer)
    return found


async def require_scope(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Guards every route. Raises ``ScopeMissing``, ``OperatorOnly``, ``SessionNotFound``."""
    bearer, name = bearer_of(connection), name_of(handler)
    check_bearer(bearer, needed_by(handler), is_operators=name in OF_THE_OPERATOR)
    if bearer.session and name not in OF_ANY_LINK:
        _check_link(bearer, unescaped(connection.path_params.get("session", "")))
        row = await connection.app.state.host.store.about(bearer.session)
        if row.created != bearer.session_created:
            raise no_session(bearer.session)


def _check_link(bearer: Bearer, session: str) -> None:
    """Raises ``ScopeMissing``, or ``SessionNotFound`` for a session that the link is not for."""
    if not session:
        raise ScopeMissing(
            f"The link {bearer.name!r} reads one session and nothing else. Use a token with the scope 'read'."
        )
    if session != bearer.session and not session.startswith(f"{bearer.session}/"):
        raise no_session(session)


def check_bearer(
    bearer: Bearer, needed: TokenScope | None, *, is_operators: bool
) -> None:
    """Raises ``OperatorOnly`` for a tenant's token where only the operator's may ask, ``ScopeMissing``."""
    is_tenants = bearer.tenant != DEFAULT_TENANT
    if is_tenants and is_operators:
        raise OperatorOnly(
            f"The token {bearer.name!r} belongs to the tenant {bearer.tenant!r}. This address shows what belongs to "
            "all tenants: use a token that was made without `--tenant`."
        )
    if needed is None or needed in bearer.scopes:
        return
    made = f"ullage admin token add NAME --scope {needed}"
    if is_tenants:
        made += f" --tenant {bearer.tenant}"
    raise ScopeMissing(
        f"The token {bearer.name!r} lacks the scope {needed!r}, which this request needs. "
        f"Use a token that has it: `{made}` makes one."
    )


@get(
    "/v1/access",
    summary="Name, scopes and expiry of the token",
)
async def get_access(
    request: ASGIConnection[Any, Any, Any, Any], state: State
) -> AccessView:
    """All scopes and no name if no token is required."""
    bearer = bearer_of(request)
    scopes = tuple(scope for scope in SCOPES if scope in bearer.scopes)
    is_operator = bearer.tenant == DEFAULT_TENANT
    is_owner = is_operator and NEEDED["list_live"] in bearer.scopes
    live = is_owner and state.live is not None
    return shown_as(AccessView, bearer, scopes=scopes, live=live)
