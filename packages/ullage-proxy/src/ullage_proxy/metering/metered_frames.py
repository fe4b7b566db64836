"""What the relay's frames hold for metering, and the frames that go back."""

from __future__ import annotations

from typing import Final, NamedTuple

from ullage.codec.routes import ApiRoute
from ullage.codec.wires import wire_named
from ullage.models.providers import canonical, is_listed
from ullage_proxy.relay.frames import TapFrame, encoded

REFUSED_NOTE: Final = "refused by the guard"
"""The relay's note on an answer that is the guard's refusal."""


class AboveLimit(NamedTuple):
    """The guard's, on a request that is above its limit: the tokens of the request, and the limit."""

    tokens: int
    limit: int


def headers_of(frame: TapFrame) -> dict[str, str]:
    """The headers of a frame that are text."""
    found: dict[str, str] = {}
    headers = frame.header.get("headers")
    if isinstance(headers, dict):
        for name, value in headers.items():
            if isinstance(value, str):
                found[str(name).lower()] = value
    return found


def at_of(frame: TapFrame) -> float:
    """When it happened, in seconds since 1970; 0 where the frame does not say."""
    at = frame.header.get("at")
    return (
        float(at)
        if isinstance(
            at,
            int | float,
        )
        and 0 <= at < 1e11
        else 0.0
    )


def provider_of(upstream: str, route: ApiRoute) -> str:
    """Who serves a call, by the upstream's name; the maker of its wire where the name says nothing."""
    if is_listed(upstream):
        return canonical(upstream)
    return wire_named(route.wire).maker


def stored_frame(call: str) -> bytes:
    """Tells the relay that a call is in the store."""
    return encoded({"kind": "stored", "call": call})


def verdict_frame(
    call: str,
    route: ApiRoute,
    verdict: AboveLimit | None,
    *,
    is_stream: bool,
) -> bytes:
    """Tells the relay whether a call may pass, and what its client is answered if not."""
    header: dict[str, object] = {"kind": "verdict", "call": call, "refuse": False}
    if verdict is None:
        return encoded(header)
    answer = wire_named(route.wire).overflow(
        verdict.tokens,
        verdict.limit,
        is_stream,
    )
    header["refuse"] = True
    header["status"] = answer.status
    header["content_type"] = answer.content_type
    return encoded(header, answer.body)
