"""Who may use the relay: programs of this machine, or those that know the token. Never a page in a browser."""

from __future__ import annotations

from hmac import compare_digest
from typing import NamedTuple

from ullage.guessing import WrongTokens
from ullage.hosts import host_name
from ullage.upstreams import RelayedPath, is_loopback
from ullage_proxy.relay.heads import HttpRequest
from ullage_proxy.relay.requests import TOKEN

OF_A_PAGE = (b"cross-site", b"same-site")
"""Values of ``Sec-Fetch-Site`` for a request that another page makes (https://www.w3.org/TR/fetch-metadata/)."""


class AccessRefused(NamedTuple):
    """Why a request is not passed on."""

    status: int
    message: str


def objection(
    request: HttpRequest,
    path: RelayedPath,
    token: bytes,
    wrong: WrongTokens,
    address: str,
) -> AccessRefused | None:
    """Why this request is refused; ``None`` when it may pass. A wrong token counts for ``address``."""
    if request.has(b"origin") or request.get(b"sec-fetch-site").lower() in OF_A_PAGE:
        return AccessRefused(
            403,
            "A page in a browser made this request, and nothing was sent on: a page must not spend your key."
            " Use a program that sends no Origin header.",
        )
    if token:
        given = path.token or request.get(TOKEN)
        if compare_digest(given, token):
            return None
        return _wrong_token(given, wrong, address)
    host = host_name(request.get(b"host").decode("latin-1"))
    # A request of HTTP/1.0 may have no Host.
    if request.has(b"host") and not is_loopback(host.strip("[]")):
        return AccessRefused(
            403,
            "The Host header of this request is not this machine's, and nothing was sent on."
            " Use the address http://127.0.0.1 with the port of the proxy.",
        )
    return None


def _wrong_token(given: bytes, wrong: WrongTokens, address: str) -> AccessRefused:
    wait_s = wrong.wait_s(address) if given else 0.0
    if wait_s:
        return AccessRefused(
            429,
            "Too many wrong tokens came from this address, and nothing was sent on."
            f" Try again in {wait_s:.0f} s.",
        )
    if given:
        wrong.note(address)
    return AccessRefused(
        401,
        "The token is missing or wrong, and nothing was sent on."
        " Send it as the header x-ullage-token, or use the address …/t/TOKEN/…",
    )
