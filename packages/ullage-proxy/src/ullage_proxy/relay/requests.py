"""A request as it goes on to the upstream, and what of its head may be given to metering."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import h11

from ullage.upstreams import RelayedPath, Upstream
from ullage_proxy.relay.heads import HttpRequest

METERED: Final = (
    "/messages",
    "/chat/completions",
    "/responses",
    ":generateContent",
    ":streamGenerateContent",
)
"""Ends of the paths of calls to a model. ``ullage.codec.routes`` holds the same, with sources."""

SHOWN_HEADERS: Final = (
    "content-type",
    "content-encoding",
    "user-agent",
    "anthropic-beta",
)
"""The headers of a request that metering gets, beside those that the command line names (``RelayOptions.marks``). No
others leave the relay: they hold keys."""

SHOWN_OF_ANSWER: Final = ("content-type", "content-encoding", "retry-after")

VALUE_AT_MOST: Final = 2_000
"""Characters of a header that metering gets."""

SESSION: Final = b"x-ullage-session"
TOKEN: Final = b"x-ullage-token"

NOT_PASSED: Final = frozenset(
    {
        b"host",
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"upgrade",
        b"http2-settings",
        SESSION,
        TOKEN,
    }
)
"""Headers for the relay itself, or for one connection alone (RFC 9110, section 7.6.1)."""

FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
"""A client that names these in ``Connection`` would have the upstream read another body than the relay."""

READABLE: Final = (b"gzip", b"deflate", b"identity")
"""Content codings that the standard library reads."""


def is_metered(request: HttpRequest) -> bool:
    """Whether the request is a call of a model."""
    path = request.path.rstrip("/")
    return request.method == b"POST" and path.endswith(METERED)


def request_for_upstream(
    request: HttpRequest,
    path: RelayedPath,
    upstream: Upstream,
    *,
    metered: bool,
) -> h11.Request:
    """The head that the upstream gets."""
    rest = path.rest
    if not rest.startswith(b"/") and not upstream.path:
        rest = b"/" + rest
    headers = [(b"Host", upstream.authority.encode())]
    nominated = set(request.tokens(b"connection")) - FRAMING
    for raw_name, value in request.head.headers.raw_items():
        name = raw_name.lower()
        if name in NOT_PASSED or name in nominated:
            continue
        if metered and name == b"accept-encoding":
            headers.append((raw_name, readable_codings(value)))
        else:
            headers.append((raw_name, value))
    target = upstream.path.encode() + rest
    return h11.Request(method=request.method, target=target, headers=headers)


def readable_codings(value: bytes) -> bytes:
    """Those elements of ``accept-encoding`` that metering can read."""
    kept = []
    for element in value.split(b","):
        name = element.partition(b";")[0].strip().lower()
        if name in READABLE:
            kept.append(element.strip())
    return b", ".join(kept) or b"identity"


def shown_headers(
    headers: Iterable[tuple[bytes, bytes]], names: Collection[str]
) -> dict[str, object]:
    """The headers of these names, for metering."""
    shown: dict[str, object] = {}
    for raw_name, value in headers:
        name = raw_name.decode("latin-1")
        if name in names:
            shown.setdefault(name, value.decode("latin-1")[:VALUE_AT_MOST])
    return shown
