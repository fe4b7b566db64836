"""A JSON body is checked before anything decodes it: what is no text, or nested too deep, is the client's mistake."""

from __future__ import annotations

from typing import Any

from litestar import Request
from litestar.exceptions import ClientException

from ullage.bounds import TOO_DEEP, json_excess
from ullage.envelope import JSON_DEPTH


async def check_body(request: Request[Any, Any, Any]) -> None:
    """Before every handler that takes JSON. Raises ``ClientException``."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or request.route_handler.parsed_data_field is None:
        return
    body = await request.body()
    try:
        body.decode()
    except UnicodeDecodeError as problem:
        raise ClientException(f"The body is not UTF-8: byte {problem.start} can't be read.") from problem
    if excess := json_excess(body):
        most = f": at most {JSON_DEPTH} levels" if excess == TOO_DEEP else ""
        raise ClientException(f"The body is JSON with {excess}{most}.".replace("with nested", "that is nested"))
