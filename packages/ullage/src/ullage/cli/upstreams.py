"""The providers that the proxy passes requests on to: their names in its addresses, and where they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from ullage.errors import SettingError
from ullage.models.providers import ProviderRow, known_providers, provider_at
from ullage.upstreams import NAME, RESERVED, BadUpstream, parse_upstream

PORT: Final = 4141
PROXY: Final = f"http://127.0.0.1:{PORT}"
"""Where ``ullage proxy`` listens, unless another port is given."""

BARE: Final[Mapping[str, str]] = {"google": "gemini", "anthropic": "", "openai": ""}
"""Providers whose clients have the version in their own part of an address, and the name that theirs has in it."""

CHATGPT: Final = "openai-codex"
CHATGPT_ADDRESS: Final = "https://chatgpt.com/backend-api/codex"
"""Where Codex sends the calls of a user who signed in with ChatGPT. Its program has the address (0.169.0)."""

_VERSION: Final = re.compile(r"/v\d+(alpha|beta)?\d*$")


def default_upstreams(endpoints: Mapping[str, ProviderRow]) -> dict[str, str]:
    """Every provider with a known address, and the user's own endpoints, by their names in the proxy's addresses.

    A server of the user's own, such as Ollama, is an upstream only where it is configured: whatever else listens at its
    usual port would be one too.
    """
    found = {}
    for row in known_providers():
        if row.name in BARE:
            name = BARE[row.name] or row.name
            found[name] = _VERSION.sub("", row.base_url)
        elif row.base_url and row.hosting != "own server":
            found[row.name] = row.base_url
    found[CHATGPT] = CHATGPT_ADDRESS
    for row in endpoints.values():
        found[row.name] = row.base_url.rstrip("/")
    return found


def read_upstreams(words: Iterable[str]) -> dict[str, str]:
    """The values of ``--upstream``. Raises ``SettingError``."""
    found = {}
    for word in words:
        try:
            upstream = parse_upstream(word)
        except BadUpstream as problem:
            raise SettingError(str(problem)) from None
        found[upstream.name] = f"{upstream.origin}{upstream.path}"
    return found


def checked_address(url: str, where: str) -> str:
    """The address of a server without a slash at its end. ``where`` it is set. Raises ``SettingError``."""
    try:
        upstream = parse_upstream(f"address={url}")
    except BadUpstream as problem:
        raise SettingError(f"{where}: {problem}") from None
    return f"{upstream.origin}{upstream.path}"


def through_proxy(url: str, upstreams: Mapping[str, str]) -> str:
    """The address of ``ullage proxy`` that leads to the same place; empty where none of its upstreams does."""
    if url.startswith(f"{PROXY}/"):
        return url
    for name, address in upstreams.items():
        if url == address or url.startswith(f"{address}/"):
            return f"{PROXY}/{name}{url[len(address) :]}"
    return ""


def address_behind(url: str, upstreams: Mapping[str, str]) -> tuple[str, str]:
    """The upstream that an address of ``ullage proxy`` names, and where that leads; both empty where it is unknown."""
    name, slash, rest = url.removeprefix(f"{PROXY}/").partition("/")
    if not url.startswith(f"{PROXY}/") or name not in upstreams:
        return "", ""
    return name, f"{upstreams[name]}{slash}{rest}"


def name_for(url: str, otherwise: str) -> str:
    """What an upstream is called: as the provider whose address this is, else ``otherwise``."""
    row = provider_at(urlsplit(url).hostname or "")
    if row is not None:
        return BARE.get(row.name) or row.name
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", otherwise)[:60]
    if NAME.fullmatch(name) is None or name in RESERVED:
        return f"other-{name}"
    return name
