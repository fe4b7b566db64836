"""Where a model is reached, with a key from the environment and from nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ullage.codec.wires import WIRES
from ullage.display.text import quoted
from ullage.errors import BadKey, SettingError
from ullage.isolation import reaches_network
from ullage.models.providers import (
    NO_ENDPOINTS,
    OWN_AUTH,
    UNNAMED,
    Auth,
    ProviderRow,
    check_wire,
    known_providers,
    provider_named,
    read_name,
    vendors_of,
)
from ullage.models.similar_models import similar_models
from ullage.provider import Provider


class Key:
    """A secret, bound to the origins it was configured for.

    Shown nowhere: it has no text but the one ``reveal`` gives, and can't be pickled. Without ``origins`` it is bound to
    the first endpoint that it is given to.
    """

    __slots__ = ("_origins", "_value")

    def __init__(self, value: str, *, origins: Iterable[str] = ()) -> None:
        self._value = value
        self._origins = frozenset(origins)

    @property
    def is_bound(self) -> bool:
        """Whether the key says where it may be sent."""
        return bool(self._origins)

    def bound_to(self, origin: str) -> Key:
        """The same key for this origin alone."""
        return Key(self._value, origins=(origin,))

    def reveal(self, origin: str) -> str:
        """The key itself, to be sent and not to be kept. Raises ``BadKey`` for an origin that it is not meant for."""
        if self._value and origin not in self._origins:
            meant = ", ".join(sorted(self._origins)) or "nowhere"
            raise BadKey(
                f"The key is meant for {meant} and is not sent to {origin}. Start the program with --base-url for that "
                "address, or set the provider's address variable."
            )
        return self._value

    def __repr__(self) -> str:
        return "Key(hidden)" if self._value else "Key(none)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> str:
        raise TypeError("A key is not written anywhere.")


_VERSION: Final = re.compile(r"v\d+(alpha|beta)?\d*")
_LOOPBACK: Final = frozenset(
    {"127.0.0.1", "localhost", "::1", "0.0.0.0", "host.docker.internal"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One place that speaks one wire. ``base_url`` ends with the version (``…/v1``), without a slash.

    ``headers`` go with every request; secrets belong into ``key``.
    """

    provider: str
    wire: str
    base_url: str
    key: Key = field(default_factory=lambda: Key(""))
    auth: Auth = "bearer"
    headers: tuple[tuple[str, str], ...] = ()
    source: Provider | None = None
    """Who answers in the place of a server, if the program brought one."""

    def __post_init__(self) -> None:
        if self.key and not self.key.is_bound:
            object.__setattr__(self, "key", self.key.bound_to(origin_of(self.base_url)))

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return (urlsplit(self.base_url).hostname or "") in _LOOPBACK

    @property
    def counts_free(self) -> bool:
        """Whether counting a request costs nothing here: on an own server, and where a provider documents it."""
        row = provider_named(self.provider)
        if self.is_local or row.is_own_server:
            return True
        return row.counts_free and origin_of(self.base_url) == origin_of(row.base_url)

    @property
    def root(self) -> Endpoint:
        """The same server without the version in its address, where llama.cpp, vLLM and Ollama have paths."""
        return replace(self, base_url=self.base_url.rpartition("/v1")[0] or self.base_url)

    def auth_header(self) -> dict[str, str]:
        """The header that carries the key, to be sent and not to be kept or shown; empty without a key.

        Raises ``BadKey`` where the key is meant for another origin than ``base_url``'s.
        """
        if not self.key:
            return {}
        secret = self.key.reveal(origin_of(self.base_url))
        if self.auth == "bearer":
            return {"authorization": f"Bearer {secret}"}
        return {self.auth: secret}


_IN_A_TEST: Final = (
    " Tests do not see it: use agent.override(model=…) with a model of ullage.testing, or mark the test with "
    "@pytest.mark.ullage_network."
)


class Destination(NamedTuple):
    """Who is asked for a model, with the wire that is spoken, and the model's own name there."""

    provider: ProviderRow
    model: str


def endpoint_for(
    model: str,
    *,
    base_url: str = "",
    wire: str = "",
    environment: Mapping[str, str] | None = None,
    endpoints: Mapping[str, ProviderRow] = NO_ENDPOINTS,
) -> tuple[Endpoint, str]:
    """The endpoint that ``provider:model`` names, and the model's own name there.

    ``environment`` holds keys and addresses (``os.environ``), ``endpoints`` are the user's own, by name. Raises
    ``SettingError`` as ``destination_of`` does, for a provider without an address, and for ``base_url`` beside an
    endpoint that has its own; ``BadKey`` when a key is needed and not there: it names the variable.
    """
    environment = {} if environment is None else environment
    provider, bare = destination_of(
        model, base_url=base_url, wire=wire, endpoints=endpoints
    )
    if provider.source is not None:
        return Endpoint(
            provider=provider.name,
            wire=provider.wire,
            base_url=f"python://{provider.name}",
            source=provider.source,
        ), bare
    if base_url and provider.name in endpoints:
        raise SettingError(
            f"{provider.name} has an address of its own ({provider.base_url}), and its key goes nowhere else: "
            "leave base_url out."
        )
    if provider.wire not in WIRES:
        raise SettingError(
            f"Ullage measures the requests of {provider.name} and can't send on its wire ({provider.wire}). "
            "Give the address of a gateway with base_url and its wire with wire."
        )
    address = base_url or _first(provider.url_env, environment) or provider.base_url
    if not address:
        ways = [f"set {name}" for name in provider.url_env[:1]] + ["give base_url"]
        raise SettingError(f"{provider.name} has no fixed address: {', or '.join(ways)}.")
    variables = provider.key_env
    if provider.needs_key and not variables:
        variables = UNNAMED.key_env[:1]
    endpoint = Endpoint(
        provider=provider.name,
        wire=provider.wire,
        base_url=full_address(address, provider),
        auth=provider.auth,
        key=Key(
            _first(variables, environment),
            origins=_origins(provider, base_url, environment),
        ),
    )
    if endpoint.key:
        return endpoint, bare
    if provider.needs_key and (provider.name in endpoints or not endpoint.is_local):
        raise BadKey(
            f"{provider.name} needs a key: set {' or '.join(variables)} in the environment."
            + ("" if reaches_network() else _IN_A_TEST)
        )
    if (
        endpoint.is_local
    ):  # servers on this machine ignore the key, or want some, whatever it is
        return replace(endpoint, key=Key("none")), bare
    return endpoint, bare


def destination_of(
    model: str,
    *,
    base_url: str = "",
    wire: str = "",
    endpoints: Mapping[str, ProviderRow] = NO_ENDPOINTS,
) -> Destination:
    """Who ``provider:model`` names, with the wire that is to be spoken, and the model's own name there.

    Without a provider it is told from the model's name. With ``base_url`` only Anthropic and Google are, whose wires
    are their own, and only on their wire: anything else there is an OpenAI-compatible server. Raises ``SettingError``
    for a name that leads nowhere and for an unknown wire.
    """
    if not model:
        raise SettingError(
            f"No model is set. Name one with its provider ({_examples(endpoints)})."
        )
    if wire:
        check_wire(wire, WIRES)
    provider, bare = read_name(model, endpoints)
    found = provider if provider.name else _guessed(bare, base_url, wire)
    if found is None:
        meant = " or ".join(similar_models(bare))
        hint = f" Did you mean {meant}?" if meant else ""
        raise SettingError(
            f"No provider is known for {quoted(model)}.{hint} Name one ({_examples(endpoints)}), or give its address "
            "with base_url."
        )
    spoken = found.wire if found.source is not None else wire or found.wire
    return Destination(replace(found, wire=spoken, auth=found.auth_on(spoken)), bare)


def _guessed(model: str, base_url: str, wire: str) -> ProviderRow | None:
    """Who is meant by a model's name without a provider."""
    if not base_url:
        return next(vendors_of(model), None)
    for vendor in vendors_of(model):
        if vendor.auth in OWN_AUTH and wire in ("", vendor.wire):
            return vendor
    return UNNAMED


def _examples(endpoints: Mapping[str, ProviderRow]) -> str:
    return ", ".join(
        f"{name}:…"
        for name in [
            *endpoints,
            *(row.name for row in known_providers() if row.base_url or row.url_env),
        ]
    )


@lru_cache(maxsize=256)
def full_address(address: str, provider: ProviderRow) -> str:
    """An address as people write it, with its scheme and the version the wire's paths begin with."""
    address = address.strip().rstrip("/")
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        is_usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port or 1) > 0
        )
    except ValueError:  # a port that is no port, brackets without an address
        is_usable = False
    if not is_usable:
        raise SettingError(
            f"{address!r} is no address of a server: give one like https://host/v1."
        )
    segments = [one for one in parts.path.split("/") if one]
    if any(_VERSION.fullmatch(one) for one in segments):
        return address
    if provider.url_path and provider.url_path not in segments:
        return f"{address}/{provider.url_path}/v1"
    wire = WIRES.get(provider.wire)
    if segments and wire is not None and not wire.adds_version and not provider.url_path:
        return address  # a gateway with paths of its own
    return f"{address}/{'v1' if wire is None else wire.version}"


def _origins(
    provider: ProviderRow, base_url: str, environment: Mapping[str, str]
) -> set[str]:
    """Where the provider's key may go: its own address, the one of its variable, and the operator's ``base_url``."""
    addresses = (provider.base_url, _first(provider.url_env, environment), base_url)
    return {
        origin_of(full_address(address, provider)) for address in addresses if address
    }


@lru_cache(maxsize=256)
def origin_of(address: str) -> str:
    """Scheme, host and port of an address: what a key is bound to. ``https://api.example``, ``http://[::1]:8000``."""
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    return (
        f"{parts.scheme}://{shown}"
        if port == usual
        else f"{parts.scheme}://{shown}:{port}"
    )


def same_address(one: str, other: str) -> bool:
    """Whether two addresses are the same as people write them."""
    return one.strip().rstrip("/") == other.strip().rstrip("/")


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> str:
    return next(
        (value for name in names if (value := environment.get(name, "").strip())), ""
    )
