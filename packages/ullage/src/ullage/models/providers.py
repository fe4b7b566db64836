"""What is known of each provider, in one table, and how the name of a model leads to one.

    read_name("gemini:gemini-2.5-pro")      # the row of google, and "gemini-2.5-pro"

A provider that speaks a known wire is one row of ``providers.json``. What a provider documents of single models
(limits, framing, reasoning) stands with its source in the table of that subject.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.errors import SettingError
from ullage.models.facts import facts
from ullage.provider import Provider
from ullage.similar import did_you_mean, similar

Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"]
"""How a key is sent: ``Authorization: Bearer …``, or a header of that name."""

OWN_AUTH: Final[frozenset[Auth]] = frozenset({"x-api-key", "x-goog-api-key"})
"""Headers that belong to one wire: on another wire the same provider takes a bearer token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """What is known of one provider.

    ``wire`` is the one it speaks unless another is chosen; some (``converse``, ``cohere-v2``) are only measured.
    ``aliases`` are further names of it, before a model and in the logs of other programs. ``url_env`` and ``key_env``
    are variables, tried in order; ``url_path`` stands before the version in its address. Ullage sends nothing to a
    provider without ``base_url`` and ``url_env``, unless an address is given. ``catalogue`` and ``telemetry`` are its
    names in the catalogue of models and in OpenTelemetry, where those differ. ``models`` is a regular expression: a
    model of such a name, without a provider, is this provider's.
    """

    name: str
    wire: str = "chat"
    aliases: tuple[str, ...] = ()
    base_url: str = ""
    url_env: tuple[str, ...] = ()
    url_path: str = ""
    key_env: tuple[str, ...] = ()
    needs_key: bool = True
    auth: Auth = "bearer"
    hosting: Literal["vendor", "gateway", "own server"] = "vendor"
    """A gateway passes a request on to the vendor in the model's name; the window of an own server is its owner's."""
    models: str = ""
    catalogue: str = ""
    telemetry: str = ""
    dialects: Mapping[str, str] = field(default_factory=dict, hash=False)
    """How usage is reported on a wire, where it differs from the wire's own way: names of ``codec.dialects``."""
    resells: str = ""
    """The vendor in the catalogue whose models are served under the vendor's own ids and with its limits."""

    alone: str = ""
    """The names of its models that nobody else runs, as ``models``: whoever offers one passes the request on."""
    openai_rules: bool = False
    """Whether Chat and Responses are OpenAI's own, with what only they refuse; other servers are lenient."""
    mistral_rules: bool = False
    """Whether Chat is Mistral's own, which asks for ids of nine letters and for answers between user messages."""
    reads_claude: bool = False
    """Whether it serves Claude and takes back the signed thinking of the other platforms:
    https://platform.claude.com/docs/en/build-with-claude/extended-thinking#differences-in-thinking-across-model-versions
    """
    is_whole_claude: bool = False
    """Whether Claude has all of its API there; a gateway may refuse what is new in it."""
    tells_misses: bool = False
    """Whether it says why its cache was not read, where it is asked: on Claude's own API and OpenAI's alone.
    https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
    """
    takes_reasoning: bool = True
    """Whether Chat takes ``reasoning_content``; the others use another field or refuse an unknown one."""
    nests_effort: bool = False
    """Whether Chat takes the effort in an object: https://openrouter.ai/docs/use-cases/reasoning-tokens"""
    takes_call_ids: bool = True
    """Whether generateContent takes the id of a call: https://github.com/googleapis/python-genai"""
    overflows_silently: bool = False
    """Whether a request that is too long is answered by 400 or 413 without a word."""
    describes_models: bool = False
    """Whether ``/api/show`` describes a model: https://github.com/ollama/ollama/blob/main/docs/api.md"""

    source: Provider | None = field(default=None, compare=False)
    """The object that answers, where the program brought one; it speaks the wire ``python``."""

    counts_free: bool = False
    """Whether this provider's documentation says that counting a request is free, or names no price for it.

    A server of one's own is asked in any case.
    """

    @property
    def is_own_server(self) -> bool:
        """Whether its owner runs the model: its window is the owner's, and counting a request costs nothing."""
        return self.hosting == "own server"

    def auth_on(self, wire: str) -> Auth:
        """How a key is sent on this wire.

        Args:
            wire: The API format.
        """
        is_known_there = wire == self.wire or self.auth not in OWN_AUTH
        return self.auth if is_known_there else "bearer"


_rows: Final = msgspec.json.Decoder(list[ProviderRow])


@lru_cache(maxsize=1)
def known_providers() -> list[ProviderRow]:
    """Every provider that is known: ``providers.json``. Of two rows whose ``models`` fit a name the first counts."""
    return facts("providers", _rows)


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, ProviderRow]:
    return {name: row for row in known_providers() for name in (row.name, *row.aliases)}


NO_PROVIDER: Final = ProviderRow(name="", wire="")
"""Stands where a name names none."""

UNNAMED: Final = ProviderRow(
    name="",
    key_env=("ULLAGE_API_KEY", "OPENAI_API_KEY"),
    needs_key=False,
    hosting="own server",
)
"""A server of which nothing but its address is known: OpenAI-compatible."""

_NAMED_ALIKE: Final = 0.7
"""``difflib``'s ratio above which a provider's name is suggested: ``antropic`` has 0.94, ``goggle`` 0.83."""


def provider_named(name: str) -> ProviderRow:
    """The row of a provider, by its name or an alias in any case; one that knows nothing where the table has none."""
    return _by_name().get(name.strip().lower()) or _unlisted(name.strip())


def is_listed(name: str) -> bool:
    """Whether the table has a provider of this name or alias."""
    return name.strip().lower() in _by_name()


SIMULATED: Final = r"(^|[-/])simulated($|-)"
"""A simulator's own model, whatever else its name says: it counts with numbers that are drawn for each run."""


@lru_cache(maxsize=256)
def _unlisted(name: str) -> ProviderRow:
    return ProviderRow(name=name, wire="")


def provider_at(host: str) -> ProviderRow | None:
    """The provider whose address has this host; ``None`` where the table has none, and for servers of one's own."""
    for row in known_providers():
        is_known = bool(row.base_url) and not row.is_own_server
        address = row.base_url.partition("://")[2]
        if is_known and address.partition("/")[0] == host:
            return row
    return None


def canonical(name: str) -> str:
    """The name that the table has for a provider; another one as it is."""
    listed = _by_name().get(name.strip().lower())
    return name if listed is None else listed.name


def vendors_of(model: str) -> Iterator[ProviderRow]:
    """Whose model this may be, by the model's name alone; the likeliest first."""
    lowered = model.lower()
    return (
        row for row in known_providers() if row.models and re.search(row.models, lowered)
    )


class ModelName(NamedTuple):
    """A model's name in its halves; ``provider`` is ``NO_PROVIDER`` where the name begins with none."""

    provider: ProviderRow
    model: str


NO_ENDPOINTS: Final[Mapping[str, ProviderRow]] = {}


def read_name(
    name: str, endpoints: Mapping[str, ProviderRow] = NO_ENDPOINTS, *, provider: str = ""
) -> ModelName:
    """``provider:model`` in its halves. ``endpoints`` are the user's own, by their names (``models/endpoints.py``).

    With ``provider`` the name is the model's own, whatever colons it has.

    A colon belongs to the model's own name where the part before it has a digit or a slash, or is ``ft`` or ``arn``,
    and where the part behind it is a tag, which begins with a digit or is ``latest``: ``llama3.2:3b``, ``qwq:32b``,
    ``ft:gpt-4o:org::id``, ``x/y:free``. Any other name must begin with a known provider. Raises ``SettingError`` for
    one that does not: sent as it is, it would reach a provider that the user did not mean.
    """
    if provider:
        return ModelName(
            endpoints.get(provider.strip().lower()) or provider_named(provider), name
        )
    head, colon, model = name.partition(":")
    if not colon:
        return ModelName(NO_PROVIDER, name)
    named = endpoints.get(head.strip().lower()) or _by_name().get(head.strip().lower())
    if named is not None and not model.strip():
        raise SettingError(
            f"{name!r} names no model. Write it behind the colon, as in '{named.name}:MODEL'."
        )
    if named is not None:
        return ModelName(named, model.strip())
    if _OWN_COLON.match(name):
        return ModelName(NO_PROVIDER, name)
    raise SettingError(_unknown_provider(head.strip(), model.strip(), endpoints))


_OWN_COLON: Final = re.compile(
    r"[^:]*[0-9/][^:]*:|(ft|arn):|[^:]+:(\d|latest$)", re.IGNORECASE
)


def _unknown_provider(head: str, model: str, endpoints: Mapping[str, ProviderRow]) -> str:
    what = f"No provider is named {head!r}."
    names = [*endpoints, *_by_name()]
    meant = similar(head, names, cutoff=_NAMED_ALIKE)
    if meant:
        what += f" Did you mean '{meant}:{model}'?"
    else:
        rows = [row for row in known_providers() if row.base_url or row.url_env]
        known = ", ".join([*endpoints, *(row.name for row in rows)])
        what += f" Known are {known}."
    return (
        f"{what} A server of your own gets a name in your ullage.toml, under [endpoints.NAME]; where the model's own "
        f"name has the colon, put its provider before it, as in 'ollama:{head}:{model}'. A provider that is an object "
        "of a program is known to that program alone: give the object to the agent again, as in Agent(MyProvider())."
    )


def check_wire(wire: str, wires: Collection[str]) -> str:
    """The wire itself. Raises ``SettingError`` for one that is not in ``wires``, with the one that was meant."""
    if wire in wires:
        return wire
    meant = did_you_mean(wire, wires)
    raise SettingError(
        f"There is no wire {wire!r}.{meant} Known are: {', '.join(wires)}."
    )
