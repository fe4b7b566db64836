"""The addresses that requests go to: what follows the relay's own address, and the provider behind each name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED: Final = ("s", "t", "ullage")
"""Beginnings of paths that have a meaning of their own."""

HOST: Final = re.compile(r"[A-Za-z0-9._:-]+")
"""A host's name in ASCII, or an address."""

SESSION_AT_MOST: Final = 200


class BadUpstream(ValueError):
    """An upstream that can't be used. The message says why and what to do."""


class Upstream(NamedTuple):
    """A provider's address. ``path`` is the prefix of all its paths, without a slash at its end."""

    name: str
    host: str
    port: int
    is_tls: bool
    path: str = ""

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.is_tls else 80
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The address without its path."""
        return f"{'https' if self.is_tls else 'http'}://{self.authority}"


def parse_upstream(text: str) -> Upstream:
    """``NAME=URL`` as an upstream. Raises ``BadUpstream``."""
    name, _, url = text.partition("=")
    if NAME.fullmatch(name) is None or name in RESERVED:
        raise BadUpstream(
            f"{text!r} is no upstream: its name has to be letters, digits, '.', '_' or '-', and not one of"
            f" {', '.join(RESERVED)}. Write it as NAME=URL, such as anthropic=https://api.anthropic.com."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError as error:
        raise BadUpstream(f"The address {url!r} can't be read: {error}.") from error
    if parts.scheme not in ("http", "https") or HOST.fullmatch(host) is None:
        raise BadUpstream(
            f"The address {url!r} of {name} is no http or https URL. Give one such as https://api.anthropic.com."
        )
    if parts.query or parts.fragment or parts.username is not None:
        raise BadUpstream(
            f"The address of {name} holds a key, a query or a fragment, which would go into every request."
            " Leave it out; the program sends its own key."
        )
    if re.search(r"[^!-~]", parts.path):
        raise BadUpstream(f"The path of {url!r} holds a space or no ASCII character.")
    is_tls = parts.scheme == "https"
    if port is None:
        port = 443 if is_tls else 80
    return Upstream(name, host, port, is_tls, parts.path.rstrip("/"))


class RelayedPath(NamedTuple):
    """What a request's target asks of the relay."""

    upstream: str
    """The first element of the path; ``ullage`` for the relay itself."""
    rest: bytes
    """What follows it, query included, as it came."""
    session: str = ""
    token: bytes = b""


def relayed_path(target: bytes) -> RelayedPath:
    """The parts of ``/t/TOKEN/s/NAME/UPSTREAM/REST``, the first two pairs of which may be missing."""
    token = b""
    session = ""
    if target.startswith(b"/t/"):
        token, target = _first(target[3:])
    if target.startswith(b"/s/"):
        name, target = _first(target[3:])
        session = session_name(name)
    upstream, rest = _first(target.removeprefix(b"/"))
    return RelayedPath(upstream.decode("latin-1"), rest, session, token)


def session_name(name: bytes) -> str:
    """A session's name as text that can be shown: it came from outside."""
    text = unquote(name.decode("latin-1"), errors="replace")
    return "".join(filter(str.isprintable, text))[:SESSION_AT_MOST]


def _first(path: bytes) -> tuple[bytes, bytes]:
    """The first element, and the rest from its slash or query on."""
    match = re.search(rb"[/?]", path)
    at = match.start() if match is not None else len(path)
    return path[:at], path[at:]


class HttpsProxy(NamedTuple):
    """The proxy that https connections go through (CONNECT)."""

    host: str
    port: int
    is_tls: bool
    authorization: str = ""
    """Name and password, as they stand in the address."""


def https_proxy(environment: Mapping[str, str], upstream: Upstream) -> HttpsProxy | None:
    """The proxy of the user's environment for this upstream. Raises ``BadUpstream`` if it can't be read."""
    if not upstream.is_tls or is_loopback(upstream.host):
        return None
    url = environment.get("https_proxy") or environment.get("HTTPS_PROXY") or ""
    if not url or _is_excepted(environment, upstream):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise BadUpstream("The address in HTTPS_PROXY can't be read.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadUpstream("HTTPS_PROXY is no http or https address.")
    is_tls = parts.scheme == "https"
    if port is None:
        port = 443 if is_tls else 80
    credentials = ""
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return HttpsProxy(parts.hostname, port, is_tls, credentials)


def is_loopback(host: str) -> bool:
    """Whether the host is this machine."""
    return (
        host in ("localhost", "::1") or re.fullmatch(r"127(\.\d+){3}", host) is not None
    )


def _is_excepted(environment: Mapping[str, str], upstream: Upstream) -> bool:
    """``NO_PROXY`` as curl reads it: names, which stand for what is below them too, with or without a port, or ``*``
    (https://everything.curl.dev/usingcurl/proxies/env.html)."""
    names = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    host = upstream.host.lower()
    for name in names.lower().replace(" ", "").split(","):
        bare = name.removesuffix(f":{upstream.port}").strip(".[]")
        if name == "*" or (bare and (host == bare or host.endswith(f".{bare}"))):
            return True
    return False
