"""The calls of all sessions that need approval. They are approved at their own session's address."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from ullage.encoding import shown_as
from ullage.store.approvals import arguments_of
from ullage.store.store import SessionRow, SessionStore
from ullage.turns.standing import AskedApproval
from ullage_server.api_types import ApprovalList, WaitingApproval
from ullage_server.policy import SHOWN_ARGUMENTS
from ullage_server.requests import TheHost
from ullage_server.sessions import CURSOR, Before, next_page, place_of


@get(
    "/v1/approvals",
    summary="The calls of all sessions that need approval",
)
async def list_all_approvals(
    host: TheHost,
    limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
    before: Before = None,
) -> ApprovalList:
    """Of at most ``limit`` sessions, the one changed last first. ``before`` is the value from the previous list."""
    cursor = place_of(before, CURSOR)
    found: list[WaitingApproval] = []
    rows = await host.store.sessions(
        limit=limit, before=cursor, states=["needs_approval"]
    )
    for row in rows:
        found += [await _shown(host.store, row, each) for each in row.standing.approvals]
    following = next_page(rows, limit)
    return ApprovalList(approvals=tuple(found), before=following)


async def _shown(
    store: SessionStore, row: SessionRow, asked: AskedApproval
) -> WaitingApproval:
    arguments = await arguments_of(store, row.id, asked)
    return shown_as(
        WaitingApproval,
        asked,
        session=row.id,
        root=row.id.partition("/")[0],
        title=row.title,
        model=row.model,
        place=row.place,
        arguments=None if arguments is None else arguments[:SHOWN_ARGUMENTS],
        size=None if arguments is None else len(arguments),
    )
