"""Every route has a scope."""

from __future__ import annotations

from pathlib import Path

import pytest
from litestar import get

from tests.server.served import Local, serving
from ullage.store.records import FileRecords
from ullage_server.app import HANDLERS
from ullage_server.guard import LINK
from ullage_server.scopes import NEEDED, check_table, name_of
from ullage_server.tokens import INCLUDED, SCOPES, NamedTokens

CHANGES = {"post", "put", "patch", "delete"}
READING = {"look_at_log", "redeem_link"}
"""A POST that changes nothing: its body is too large for an address."""
OWNERS = {"list_live", "follow_live", "get_changed_files"}
"""They change nothing, but show what was said to other programs, or the insides of files that no message shows."""


def test_each_route_is_in_the_table_and_each_entry_is_a_route() -> None:
    assert {name_of(handler) for handler in HANDLERS} == set(NEEDED)
    assert len(HANDLERS) == len(NEEDED)


def test_a_route_without_a_scope_stops_the_server_from_starting() -> None:
    @get("/v1/new")
    async def new_route() -> None: ...

    with pytest.raises(LookupError, match="new_route"):
        check_table([*HANDLERS, new_route])
    with pytest.raises(LookupError, match="get_spend"):
        check_table([handler for handler in HANDLERS if name_of(handler) != "get_spend"])


def test_what_changes_something_needs_more_than_to_read() -> None:
    for handler in HANDLERS:
        name = name_of(handler)
        changes = any(method.lower() in CHANGES for method in handler.http_methods)
        needs_more = NEEDED[name] in ("write", "approve", "admin")
        assert needs_more == ((changes and name not in READING) or name in OWNERS), name


def test_routes_refuse_tokens_without_their_scope(provider: str, tmp_path: Path) -> None:
    kept = NamedTokens(FileRecords(tmp_path))
    made = {scope: kept.add(scope, (scope,), expires=None, now=0) for scope in SCOPES}
    with serving(provider, tmp_path / "s.db", tokens=kept) as server:
        for handler in HANDLERS:
            needed = NEEDED[name_of(handler)]
            (path,) = handler.paths
            for method in handler.http_methods:
                if needed is None:
                    assert _status(server, method, path, "") < 400 or path.startswith(
                        ("/assets", LINK)
                    )
                    continue
                assert _status(server, method, path, "") == 401, path
                for scope, token in made.items():
                    if name_of(handler) == "follow_events" and needed in INCLUDED[scope]:
                        continue
                    is_refused = _status(server, method, path, token) == 403
                    assert is_refused == (needed not in INCLUDED[scope]), (
                        method,
                        path,
                        scope,
                    )


def _status(server: Local, method: str, path: str, token: str) -> int:
    for part in ("session", "message", "handle", "call", "grant", "live"):
        path = path.replace(f"{{{part}:str}}", "none")
    path = path.replace("{path:path}", "none.js")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if method in ("POST", "PUT", "PATCH"):
        headers["Content-Type"] = "application/json"
        return server.api.request(
            method, path, content=b"{}", headers=headers
        ).status_code
    return server.api.request(method, path, headers=headers).status_code
