"""Who may come in: the token, the name the server was called by, and the page a request comes from.

Stands before everything else. With a token, each request below ``/v1`` and ``/metrics`` has to bring it. Without one
the server listens on loopback alone, and then two doors remain that a web page on the same machine could use: a name
that was pointed at 127.0.0.1 (DNS rebinding), which its ``Host`` gives away, and a request that needs no answer, which
its ``Origin`` gives away. No CORS header is ever sent.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from ullage.server.answers import Problem
from ullage.server.problems import MEDIA_TYPE, problem

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})

SLASH: Final = "\x1f"
"""Stands for a slash inside a path's segment (``parent%2Fchild``), so that it is not taken for the segment's end."""

OPEN: Final = ("/healthz", "/schema/", "/assets/")
"""What needs no token besides the page itself: nothing of a session is in it."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page of ours may load: its own files and nothing else."""

_HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class Guard:
    """An ASGI application before another. ``names`` are the hosts that may be asked for; empty: any."""

    def __init__(self, app: ASGIApp, *, token: str = "", names: Iterable[str] = ()) -> None:
        self._app = app
        self._token = token.encode()
        self._names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await _refuse(send, refusal)
            return
        scope["path"] = _path(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> Problem | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._names and _name(host) not in self._names:
            return problem(
                403, "host", f"This server is not called {host[:100]!r}.", "Use the address that the server printed."
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin.partition("://")[2] != host:
            return problem(
                403,
                "origin",
                f"Pages of {origin[:100]!r} may not use this server.",
                "Call it from a program, or from its own page.",
            )
        if not self._token or path == "/" or path.startswith(OPEN):
            return None
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token):
            return None
        return problem(401, "token", "This request needs the server's token." if not given else "The token is wrong.")


def _name(host: str) -> str:
    """A host without its port: ``[::1]:80`` and ``localhost:80`` among them."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _path(scope: Scope) -> str:
    """The path with what was a slash inside a segment kept apart from those between segments."""
    raw = scope.get("raw_path") or scope["path"].encode()
    if b"%2f" not in raw.lower():
        return scope["path"]
    parts = (unquote_to_bytes(part).decode("utf-8", "replace") for part in raw.partition(b"?")[0].split(b"/"))
    return "/".join(part.replace("/", SLASH) for part in parts)


def unescaped(segment: str) -> str:
    """A segment as it was meant, slashes and all."""
    return segment.replace(SLASH, "/")


async def _refuse(send: Send, refusal: Problem) -> None:
    body = msgspec.json.encode(refusal)
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode()), *_HEADERS]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
