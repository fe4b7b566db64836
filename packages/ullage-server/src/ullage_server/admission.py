"""Decides whether a request is accepted, by its framing, the host it names, and the page it comes from.

Pure functions of a request's head. Any page can make a browser on the same machine send requests. ``Host`` reveals a
name that was pointed at 127.0.0.1 (DNS rebinding); ``Origin``, ``Sec-Fetch-Site`` and the content types that a form can
send reveal another site's page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from ullage.hosts import host_name
from ullage_server.api_types import Problem
from ullage_server.problems import problem

Headers = Sequence[tuple[bytes, bytes]]
"""A request's headers in order, names in lower case, an entry for each line."""

HEAD_BYTES: Final = 32 * 1024
"""The request line and the headers together. Browsers send 1 to 8 kB."""

HEADER_LINES: Final = 100
"""Lines of a request's head. Browsers behind a proxy send about 40."""

CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})

FORM_TYPES: Final = frozenset(
    {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"}
)
"""Content types that any page may send to any server (https://fetch.spec.whatwg.org/#cors-safelisted-request-header)."""

_LENGTH: Final = re.compile(rb"[0-9]{1,15}")
_ONCE: Final = (
    b"host",
    b"origin",
    b"content-length",
    b"transfer-encoding",
    b"authorization",
    b"content-type",
)


class RequestHead(NamedTuple):
    """A request before its body. ``target`` is the undecoded path and query, ``scheme`` the connection's."""

    method: str
    path: str
    headers: Headers
    scheme: str = "http"
    target: bytes = b""
    version: str = "1.1"

    def value(self, name: bytes) -> str:
        """A header's value; empty if it is missing."""
        for key, value in self.headers:
            if key == name:
                return value.decode("latin-1")
        return ""

    def has(self, name: bytes) -> bool:
        """Whether there is such a header."""
        return any(key == name for key, _ in self.headers)


def refusal(
    head: RequestHead, names: Collection[str], origins: Collection[str]
) -> Problem | None:
    """Why a request is refused; ``None`` if it is accepted.

    ``names`` are the accepted hosts; empty: any. ``origins`` are further addresses of the server's own page, such as
    that of a proxy before it.
    """
    return (
        _framing(head)
        or _host(head, names)
        or _origin(head, origins)
        or _site(head)
        or _content_type(head)
    )


def _framing(head: RequestHead) -> Problem | None:
    """Refuses requests that two programs could read differently."""
    if head.version not in ("1.0", "1.1"):
        return problem(
            505,
            "http-version",
            f"This server does not speak HTTP/{head.version}.",
            "Use HTTP/1.1.",
        )
    size = len(head.target) + sum(
        len(name) + len(value) + 4 for name, value in head.headers
    )
    if size > HEAD_BYTES:
        return problem(
            431,
            "headers",
            f"The request's head has more than {HEAD_BYTES:,} bytes.",
            "Send less.",
        )
    if len(head.headers) > HEADER_LINES:
        return problem(
            431,
            "headers",
            f"The request has {len(head.headers)} header lines.",
            "Send at most 100.",
        )
    for name in _ONCE:
        if sum(key == name for key, _ in head.headers) > 1:
            return problem(
                400,
                "bad-request",
                f"The request has more than one {name.decode()!r} header.",
                "Send one.",
            )
    if head.has(b"transfer-encoding") and head.has(b"content-length"):
        return problem(
            400,
            "bad-request",
            "The request has both Content-Length and Transfer-Encoding.",
            "Send one.",
        )
    length = head.value(b"content-length").encode("latin-1")
    if length and not _LENGTH.fullmatch(length):
        return problem(400, "bad-request", "The Content-Length is no number of bytes.")
    if not head.path.startswith("/"):
        return problem(
            400,
            "bad-request",
            "The request's target is no path.",
            "Ask for a path that begins with `/`.",
        )
    if "\0" in head.path:
        return problem(400, "bad-request", "The path has a NUL.", "Leave it out.")
    return None


def _host(head: RequestHead, names: Collection[str]) -> Problem | None:
    host = head.value(b"host")
    name = host_name(host)
    if name and (not names or name in names):
        return None
    detail = (
        f"This server is not called {host[:100]!r}."
        if host
        else "The request names no host."
    )
    return problem(
        403,
        "host",
        detail,
        "Use the address that the server printed; behind a proxy, `ullage serve` takes --public-url.",
    )


def _origin(head: RequestHead, origins: Collection[str]) -> Problem | None:
    if not head.has(b"origin"):
        return None
    origin, host = head.value(b"origin").lower(), head.value(b"host").lower()
    accepted = {public for public in origins if public.partition("://")[2] == host}
    if not accepted:
        accepted = {f"{head.scheme}://{host}", *origins}
    if origin in accepted:
        return None
    return problem(
        403,
        "origin",
        f"Pages of {origin[:100]!r} may not use this server.",
        "Call it from a program, or from its own page; behind a proxy, start it with --public-url.",
    )


def _site(head: RequestHead) -> Problem | None:
    """Refuses other sites by what the browser reports of the request's origin (https://www.w3.org/TR/fetch-metadata/)."""
    site = head.value(b"sec-fetch-site").lower()
    if site in ("", "same-origin", "none"):
        return None
    is_navigation = head.value(b"sec-fetch-mode").lower() == "navigate"
    if head.method == "GET" and head.path == "/" and is_navigation:  # a link to the page
        return None
    return problem(
        403,
        "origin",
        "Pages of other sites may not use this server.",
        "Open the server's own page.",
    )


def _content_type(head: RequestHead) -> Problem | None:
    has_body = head.has(b"transfer-encoding") or head.value(b"content-length") not in (
        "",
        "0",
    )
    if head.method not in CHANGING or not has_body:
        return None
    kind = head.value(b"content-type").partition(";")[0].strip().lower()
    if kind and kind not in FORM_TYPES:
        return None
    detail = "The body has no Content-Type."
    if kind:
        detail = f"The body's type is {kind!r}, which pages of any site can send."
    return problem(
        415,
        "content-type",
        detail,
        "Send `Content-Type: application/json`, or `application/octet-stream` for a file.",
    )


def origin_of(url: str) -> tuple[str, str]:
    """The origin and the host name of an address for ``--public-url``. Raises ``ValueError``."""
    scheme, separator, rest = url.strip().lower().rstrip("/").partition("://")
    name = host_name(rest)
    if not separator or scheme not in ("http", "https") or not name:
        raise ValueError(
            f"{url!r} is no address: write one like https://agent.example.com"
        )
    return f"{scheme}://{rest}", name
