"""Where a model is reached: providers as configuration, keys from the environment and nowhere else."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import urlsplit

from ullage.errors import BadKey, SettingError

Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"]
"""How a key is sent: ``Authorization: Bearer …``, or a header of that name."""

WIRES: Final = ("messages", "responses", "chat", "generateContent")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What is known of a provider. ``key_env`` and ``url_env`` are tried in order; ``local`` needs no key."""

    name: str
    wire: str
    base_url: str
    key_env: tuple[str, ...] = ()
    url_env: tuple[str, ...] = ()
    auth: Auth = "bearer"
    local: bool = False


PROVIDERS: Final[tuple[Provider, ...]] = (
    Provider(
        name="anthropic",
        wire="messages",
        base_url="https://api.anthropic.com/v1",
        key_env=("ANTHROPIC_API_KEY",),
        url_env=("ANTHROPIC_BASE_URL",),
        auth="x-api-key",
    ),
    Provider(
        name="openai",
        wire="responses",
        base_url="https://api.openai.com/v1",
        key_env=("OPENAI_API_KEY",),
        url_env=("OPENAI_BASE_URL",),
    ),
    Provider(
        name="google",
        wire="generateContent",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        url_env=("GOOGLE_GEMINI_BASE_URL",),
        auth="x-goog-api-key",
    ),
    # https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle: v1 needs no api-version.
    Provider(
        name="azure",
        wire="responses",
        base_url="",
        key_env=("AZURE_OPENAI_API_KEY",),
        url_env=("AZURE_OPENAI_ENDPOINT",),
        auth="api-key",
    ),
    Provider(
        name="openrouter",
        wire="chat",
        base_url="https://openrouter.ai/api/v1",
        key_env=("OPENROUTER_API_KEY",),
        url_env=("OPENROUTER_BASE_URL",),
    ),
    Provider(
        name="deepseek",
        wire="chat",
        base_url="https://api.deepseek.com/v1",
        key_env=("DEEPSEEK_API_KEY",),
        url_env=("DEEPSEEK_BASE_URL",),
    ),
    Provider(
        name="xai", wire="chat", base_url="https://api.x.ai/v1", key_env=("XAI_API_KEY",), url_env=("XAI_BASE_URL",)
    ),
    Provider(
        name="groq",
        wire="chat",
        base_url="https://api.groq.com/openai/v1",
        key_env=("GROQ_API_KEY",),
        url_env=("GROQ_BASE_URL",),
    ),
    Provider(
        name="mistral",
        wire="chat",
        base_url="https://api.mistral.ai/v1",
        key_env=("MISTRAL_API_KEY",),
        url_env=("MISTRAL_BASE_URL",),
    ),
    Provider(
        name="moonshot",
        wire="chat",
        base_url="https://api.moonshot.ai/v1",
        key_env=("MOONSHOT_API_KEY",),
        url_env=("MOONSHOT_BASE_URL",),
    ),
    Provider(
        name="ollama",
        wire="chat",
        base_url="http://127.0.0.1:11434/v1",
        key_env=("OLLAMA_API_KEY",),
        url_env=("OLLAMA_HOST",),
        local=True,
    ),
    Provider(
        name="vllm",
        wire="chat",
        base_url="http://127.0.0.1:8000/v1",
        key_env=("VLLM_API_KEY",),
        url_env=("VLLM_BASE_URL",),
        local=True,
    ),
    Provider(
        name="llama.cpp",
        wire="chat",
        base_url="http://127.0.0.1:8080/v1",
        key_env=("LLAMA_API_KEY",),
        url_env=("LLAMA_BASE_URL",),
        local=True,
    ),
)

_BY_NAME: Final = {one.name: one for one in PROVIDERS} | {
    "gemini": next(one for one in PROVIDERS if one.name == "google"),
    "llamacpp": next(one for one in PROVIDERS if one.name == "llama.cpp"),
}
_GUESSES: Final = (
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini"), "google"),
    (re.compile(r"^(gpt-|o[1-9]|codex|chatgpt)"), "openai"),
    (re.compile(r"^deepseek-(chat|reasoner|v\d|flash|pro)"), "deepseek"),
    (re.compile(r"^grok"), "xai"),
    (re.compile(r"^(mistral|magistral|devstral|codestral|ministral)"), "mistral"),
)
_VERSION: Final = re.compile(r"v\d+(alpha|beta)?\d*")
_DEFAULT_VERSION: Final = {"generateContent": "v1beta"}
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "0.0.0.0", "host.docker.internal"})


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

    def __post_init__(self) -> None:
        if self.key and not self.key.is_bound:
            object.__setattr__(self, "key", self.key.bound_to(origin_of(self.base_url)))

    @property
    def is_local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return (urlsplit(self.base_url).hostname or "") in _LOOPBACK

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

    def shown_header(self) -> dict[str, str]:
        """The same with the key masked."""
        return dict.fromkeys(self.auth_header(), "(hidden)")


_ALIKE: Final = 0.9
"""``difflib``'s ratio above which a provider counts as misspelled: ``antropic`` has 0.94; ``mixtral``, a model,
has 0.86 to ``mistral``."""


def split_provider(name: str) -> tuple[str, str]:
    """``provider:model`` in its halves; the first is empty where the name begins with no provider we know.

    A colon that belongs to the model (``llama3.2:3b``) is left alone.
    """
    head, colon, tail = name.partition(":")
    if colon and tail and head.lower() in _BY_NAME:
        return _BY_NAME[head.lower()].name, tail
    return "", name


def _misspelled(model: str) -> str:
    """The model with the provider that its name nearly begins with; empty where it names one, or nothing alike."""
    head, colon, tail = model.partition(":")
    if not colon or head.lower() in _BY_NAME:
        return ""
    alike = difflib.get_close_matches(head.lower(), _BY_NAME, n=1, cutoff=_ALIKE)
    return f"{_BY_NAME[alike[0]].name}:{tail}" if alike else ""


def endpoint_for(
    model: str, *, base_url: str = "", wire: str = "", environment: Mapping[str, str] | None = None
) -> tuple[Endpoint, str]:
    """The endpoint that ``provider:model`` names, and the model's own name there.

    Without a provider it is told from the model's name; with ``base_url`` and neither, it is an OpenAI-compatible
    server. ``environment`` holds keys and addresses (``os.environ``). Raises ``SettingError`` for a name that leads
    nowhere, ``BadKey`` when a key is needed and not there: it names the variable.
    """
    environment = {} if environment is None else environment
    provider, bare = provider_of(model, base_url=base_url, wire=wire)
    address = base_url or _first(provider.url_env, environment) or provider.base_url
    if not address:
        raise SettingError(f"{provider.name} has no fixed address: set {provider.url_env[0]}, or give base_url.")
    endpoint = Endpoint(
        provider=provider.name,
        wire=provider.wire,
        base_url=full_address(address, provider),
        auth=provider.auth,
        key=Key(_first(provider.key_env, environment), origins=_origins(provider, base_url, environment)),
    )
    if not endpoint.key and endpoint.is_local:  # servers on this machine ignore the key, or want some, whatever it is
        return replace(endpoint, key=Key("none")), bare
    if endpoint.key or provider.local:
        return endpoint, bare
    raise BadKey(f"{provider.name} needs a key: set {' or '.join(provider.key_env)} in the environment.")


def provider_of(model: str, *, base_url: str = "", wire: str = "") -> tuple[Provider, str]:
    """The provider that ``provider:model`` names, with the wire that is to be spoken, and the model's own name there.

    Raises ``SettingError`` as ``endpoint_for`` does; needs no key.
    """
    name, bare = split_provider(model)
    if not name:
        name = next((guess for pattern, guess in _GUESSES if pattern.search(bare.lower())), "")
        if base_url and name not in ("anthropic", "google"):
            name = ""
    if not base_url and (meant := _misspelled(model)):
        raise SettingError(f"No provider is named {model.partition(':')[0]!r}. Did you mean {meant!r}?")
    if not name and not base_url:
        known = ", ".join(f"{one.name}:…" for one in PROVIDERS)
        if not model:
            raise SettingError(f"No model is set. Name one with its provider ({known}).")
        raise SettingError(
            f"No provider is known for {model!r}. Name one ({known}), or give its address with base_url."
        )
    if wire and wire not in WIRES:
        raise SettingError(f"There is no wire {wire!r}; known are: {', '.join(WIRES)}.")
    provider = _BY_NAME.get(name) or Provider(
        name="", wire="chat", base_url=base_url, key_env=("ULLAGE_API_KEY", "OPENAI_API_KEY"), local=True
    )
    if wire:
        provider = replace(provider, wire=wire)
    return provider, bare


def full_address(address: str, provider: Provider) -> str:
    """An address as people write it, with its scheme and the version the wire's paths begin with."""
    address = address.strip().rstrip("/")
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is no port, brackets without an address
        is_usable = False
    if not is_usable:
        raise SettingError(f"{address!r} is no address of a server: give one like https://host/v1.")
    segments = [one for one in parts.path.split("/") if one]
    if any(_VERSION.fullmatch(one) for one in segments):
        return address
    if provider.name == "azure" and "openai" not in segments:
        return f"{address}/openai/v1"
    if segments and provider.wire in ("chat", "responses") and provider.name != "azure":
        return address  # a gateway with paths of its own
    return f"{address}/{_DEFAULT_VERSION.get(provider.wire, 'v1')}"


def _origins(provider: Provider, base_url: str, environment: Mapping[str, str]) -> set[str]:
    """Where the provider's key may go: its own address, the one of its variable, and the operator's ``base_url``."""
    addresses = (provider.base_url, _first(provider.url_env, environment), base_url)
    return {origin_of(full_address(address, provider)) for address in addresses if address}


def origin_of(address: str) -> str:
    """Scheme, host and port of an address: what a key is bound to. ``https://api.example``, ``http://[::1]:8000``."""
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.scheme}://{shown}" if port == usual else f"{parts.scheme}://{shown}:{port}"


def same_address(one: str, other: str) -> bool:
    """Whether two addresses are the same as people write them."""
    return one.strip().rstrip("/") == other.strip().rstrip("/")


def _first(names: tuple[str, ...], environment: Mapping[str, str]) -> str:
    return next((value for name in names if (value := environment.get(name, "").strip())), "")
