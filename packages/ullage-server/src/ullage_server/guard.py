"""Checks every request before the application sees it, including its token if one is required.

Without any token (``--no-token``) the server listens on loopback alone, for every user and program of the machine. No
CORS header is ever sent.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from ullage_agent.runtime.who import WHO
from ullage_server.admission import RequestHead, refusal
from ullage_server.api_types import Problem
from ullage_server.problems import MEDIA_TYPE, problem
from ullage_server.tokens import ANYONE, Bearer, TokenRecord, Tokens

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})

SLASH: Final = "\x1f"
"""Replaces a slash inside a path's segment (``parent%2Fchild``), so that it does not end the segment."""

_FILES: Final = "/assets/"

HEALTH: Final = ("/healthz", "/readyz", "/drainz")

LINK: Final = "/v1/link"

OPEN: Final = (*HEALTH, "/schema/", _FILES, LINK)
"""Paths that need no token besides the page itself: they hold nothing of a session."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""What the page may load: its own files and nothing else."""

FILE_HEADERS: Final = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Of the page's scripts, styles and pictures, which load nothing themselves: in half of the bytes."""

HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    *FILE_HEADERS[1:],
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)

_UNSTORED: Final = (b"cache-control", b"no-store")


class Guard:
    """An ASGI application before another.

    ``names`` are the accepted hosts; empty: any. ``origins``: further addresses of the server's own page.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens,
        names: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._names = frozenset(names)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        is_open = path == "/" or path.startswith(OPEN)
        tokens = None if is_open else self._tokens
        bearer = bearer_of(scope, tokens, self._names, self._origins)
        if isinstance(bearer, Problem):
            await refuse(send, bearer)
            return
        method = scope["method"]
        method = (
            "GET" if is_open and method == "HEAD" else method
        )  # the server omits the body
        state = {**scope.get("state", {}), "bearer": bearer}
        inner = {**scope, "method": method, "path": _path(scope), "state": state}
        added = _added(path, is_open=is_open)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                missing = [header for header in added if header[0] not in known]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        named = WHO.set(bearer.name)
        try:
            await self._app(inner, receive, with_headers)  # type: ignore[arg-type]
        finally:
            WHO.reset(named)


def bearer_of(
    scope: HTTPScope,
    tokens: Tokens | None,
    names: Collection[str] = (),
    origins: Collection[str] = (),
) -> Bearer | Problem:
    """The bearer of a request's token, or why the request is refused. ``tokens`` is ``None`` for an open path.

    ``names`` and ``origins``: see ``refusal``. A wrong token counts for the client's address.
    """
    head = RequestHead(
        scope["method"],
        scope["path"],
        tuple(scope["headers"]),
        scope["scheme"],
        scope.get("raw_path", b"") + b"?" + scope["query_string"],
        scope["http_version"],
    )
    refused = refusal(head, names, origins)
    if refused is not None:
        return refused
    if tokens is None or not tokens.are_required():
        return ANYONE
    client = scope.get("client")
    address = client[0] if client else ""
    return _bearer_for(tokens, head.value(b"authorization"), address)


def _bearer_for(tokens: Tokens, authorization: str, address: str) -> Bearer | Problem:
    scheme, _, given = authorization.partition(" ")
    token = given.strip() if scheme.lower() == "bearer" else ""
    if not token:
        return problem(401, "token", "This request needs the server's token.")
    found = tokens.bearer(token)
    if isinstance(found, Bearer):
        return found
    wait_s = tokens.wrong.wait_s(address)
    if wait_s:
        seconds = f"{wait_s:.0f} s"
        return problem(
            429,
            "token",
            "Too many wrong tokens came from this address.",
            f"Try again in {seconds}.",
        )
    tokens.wrong.note(address)
    if isinstance(found, TokenRecord):
        day = _day(found.expires)
        return problem(401, "token", f"The token {found.name!r} expired on {day}.")
    return problem(401, "token", "The token is wrong.")


def _added(path: str, *, is_open: bool) -> tuple[tuple[bytes, bytes], ...]:
    if path.startswith(_FILES):
        return FILE_HEADERS
    return HEADERS if is_open else (*HEADERS, _UNSTORED)


def _day(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds or 0))


def _path(scope: Scope) -> str:
    """The path, with ``SLASH`` for escaped slashes inside segments."""
    raw = scope.get("raw_path") or scope["path"].encode()
    if b"%2f" not in raw.lower():
        return scope["path"]
    segments = []
    for part in raw.partition(b"?")[0].split(b"/"):
        segment = unquote_to_bytes(part).decode("utf-8", "replace")
        segments.append(segment.replace("/", SLASH))
    return "/".join(segments)


def unescaped(segment: str) -> str:
    """A segment with its slashes."""
    return segment.replace(SLASH, "/")


async def refuse(send: Send, refused: Problem) -> None:
    """Answer a request with its refusal."""
    body = msgspec.json.encode(refused)
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        *HEADERS,
    ]
    headers.append(_UNSTORED)
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status == 429:
        headers.append((b"retry-after", b"60"))
    if refused.status in (400, 431, 505):
        headers.append(
            (b"connection", b"close")
        )  # the rest could be read as another request
    await send(
        {"type": "http.response.start", "status": refused.status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
