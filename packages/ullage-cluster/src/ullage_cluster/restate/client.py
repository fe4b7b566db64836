"""Reaches a Restate server at a URL, or at a Unix socket, which only its own user can open."""

from __future__ import annotations

from typing import Final

import httpx2

UNIX: Final = "unix:"
"""Before the path of a socket, as Restate writes it (https://docs.restate.dev/server/networking#unix-domain-sockets)."""

PUBLIC_KEY: Final = r"publickeyv1_[1-9A-HJ-NP-Za-km-z]{40,50}"
"""A key by which workers know Restate's requests (https://docs.restate.dev/services/security)."""


LOOKED_AT_S: Final = 1.0


def answers(address: str, path: str) -> bool:
    """Whether the server answers at this path. Blocks."""
    url, socket = _url_and_socket(address)
    reached = httpx2.HTTPTransport(uds=socket, trust_env=False)
    try:
        with httpx2.Client(
            transport=reached, timeout=LOOKED_AT_S, trust_env=False
        ) as client:
            return client.get(f"{url}{path}").is_success
    except httpx2.HTTPError:
        return False


def _url_and_socket(address: str) -> tuple[str, str | None]:
    """The base of URLs, and the socket to connect to instead of the host that they name."""
    if address.startswith(UNIX):
        return "http://restate", address.removeprefix(UNIX)
    return address.rstrip("/"), None


def restate_client(address: str, timeout_s: float) -> httpx2.AsyncClient:
    """A client for paths of this server. As a database, it is reached directly and not by the proxy of the environment.

    Raises ``httpx2.InvalidURL``.
    """
    url, socket = _url_and_socket(address)
    return httpx2.AsyncClient(
        base_url=url,
        timeout=timeout_s,
        transport=httpx2.AsyncHTTPTransport(uds=socket, trust_env=False),
        trust_env=False,
    )
