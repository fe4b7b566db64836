"""A request as it goes on to the upstream, and what of its head may be given to metering."""

from __future__ import annotations

from typing import Final

from ullage_relay.heads import HeaderField, HttpRequest
from ullage_relay.upstreams import RelayedPath, Upstream

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
    "x-claude-code-session-id",
    "x-claude-code-agent-id",
    "x-claude-code-parent-agent-id",
    "x-claude-code-request-class",
    "x-claude-code-auxiliary-type",
    "session-id",
    "session_id",
    "thread-id",
    "x-codex-turn-metadata",
    "x-openai-subagent",
    "x-session-id",
    "x-parent-session-id",
    "x-interaction-type",
    "x-initiator",
)
"""The headers of a request that metering gets. No others leave the relay: they hold keys.

``ullage.clients.marks`` has those that tell conversations apart, with sources."""

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


def head_for_upstream(
    request: HttpRequest,
    path: RelayedPath,
    upstream: Upstream,
    *,
    metered: bool,
    upgrade: bytes = b"",
    without: bytes = b"",
) -> bytes:
    """The head that the upstream gets. ``without`` names one more header that it does not get."""
    rest = path.rest
    if not rest.startswith(b"/") and not upstream.path:
        rest = b"/" + rest
    target = upstream.path.encode() + rest
    version = b"HTTP/1.%d" % request.minor
    lines = [b" ".join((request.method, target, version))]
    lines.append(b"Host: " + upstream.authority.encode())
    nominated = set(request.fields.tokens(b"connection")) - FRAMING
    for field in request.fields:
        if field.name in NOT_PASSED or field.name in nominated or field.name == without:
            continue
        if metered and field.name == b"accept-encoding":
            lines.append(b"accept-encoding: " + readable_codings(field.value))
        else:
            lines.append(field.line)
    if upgrade:
        lines.append(b"Connection: Upgrade")
        lines.append(b"Upgrade: " + upgrade)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def readable_codings(value: bytes) -> bytes:
    """Those elements of ``accept-encoding`` that metering can read."""
    kept = []
    for element in value.split(b","):
        name = element.partition(b";")[0].strip().lower()
        if name in READABLE:
            kept.append(element.strip())
    return b", ".join(kept) or b"identity"


def shown_headers(
    fields: tuple[HeaderField, ...], names: tuple[str, ...] = SHOWN_HEADERS
) -> dict[str, object]:
    """The headers of these names, for metering."""
    shown: dict[str, object] = {}
    for field in fields:
        name = field.name.decode("latin-1")
        if name in names and name not in shown:
            shown[name] = field.value.decode("latin-1")[:VALUE_AT_MOST]
    return shown
