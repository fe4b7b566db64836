"""What is known of each provider, in one table, and how the name of a model leads to one.

    read_name("gemini:gemini-2.5-pro")      # the row of google, and "gemini-2.5-pro"

A provider that speaks a known wire is one row here. What a provider documents of single models (limits, framing,
reasoning) stands with its source in the table of that subject.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ullage.errors import SettingError
from ullage.similar import did_you_mean, similar

Auth = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key"]
"""How a key is sent: ``Authorization: Bearer …``, or a header of that name."""

OWN_AUTH: Final[frozenset[Auth]] = frozenset({"x-api-key", "x-goog-api-key"})
"""Headers that belong to one wire: on another wire the same provider takes a bearer token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
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

    counts_free: bool = False
    """Whether this provider's documentation says that counting a request is free, or names no price for it.

    A server of one's own is asked in any case.
    """

    @property
    def is_own_server(self) -> bool:
        """Whether its owner runs the model: its window is the owner's, and counting a request costs nothing."""
        return self.hosting == "own server"

    def auth_on(self, wire: str) -> Auth:
        """How a key is sent on this wire."""
        is_known_there = wire == self.wire or self.auth not in OWN_AUTH
        return self.auth if is_known_there else "bearer"


_BEDROCK_ID: Final = (
    r"^arn:aws[a-z-]*:bedrock:|"
    r"^([a-z]{2,4}(-gov)?\.|global\.)?(anthropic|amazon|meta|mistral|cohere)\.[a-z]"
)

TABLE: Final[tuple[Provider, ...]] = (
    # vendors, and clouds that serve the models of vendors
    Provider(
        name="bedrock",
        wire="converse",
        aliases=("amazon-bedrock", "amazon", "aws"),
        models=_BEDROCK_ID,
        catalogue="aws",
        telemetry="aws.bedrock",
        reads_claude=True,
    ),
    Provider(name="bedrock-mantle", catalogue="aws"),
    Provider(
        name="vertex",
        wire="generateContent",
        aliases=("google-vertex", "vertexai"),
        models="^claude-.*@",
        catalogue="google",
        telemetry="gcp.vertex_ai",
        dialects={"generateContent": "vertex"},
        resells="anthropic",
        reads_claude=True,
        takes_call_ids=False,
    ),
    Provider(
        name="google-vertex-anthropic",
        wire="messages",
        catalogue="google",
        resells="anthropic",
        reads_claude=True,
        is_whole_claude=True,
    ),
    # https://platform.claude.com/docs/en/build-with-claude/token-counting: free to use, with limits of its own on
    # requests per minute that are independent of those on messages.
    Provider(
        name="anthropic",
        wire="messages",
        base_url="https://api.anthropic.com/v1",
        counts_free=True,
        url_env=("ANTHROPIC_BASE_URL",),
        key_env=("ANTHROPIC_API_KEY",),
        auth="x-api-key",
        models="claude",
        reads_claude=True,
        is_whole_claude=True,
    ),
    # https://developers.openai.com/api/docs/guides/token-counting names no price. No page says that it is free.
    Provider(
        name="openai",
        counts_free=True,
        wire="responses",
        aliases=("openai-codex",),
        base_url="https://api.openai.com/v1",
        url_env=("OPENAI_BASE_URL",),
        key_env=("OPENAI_API_KEY",),
        models=r"^(ft:)?(gpt-|o[1-9]|codex|chatgpt)",
        openai_rules=True,
        takes_reasoning=False,
    ),
    # https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle: v1 needs no api-version.
    Provider(
        name="azure",
        wire="responses",
        aliases=("azure-openai", "foundry"),
        url_env=("AZURE_OPENAI_ENDPOINT",),
        url_path="openai",
        key_env=("AZURE_OPENAI_API_KEY",),
        auth="api-key",
        telemetry="azure.ai.openai",
        resells="openai",
        openai_rules=True,
        reads_claude=True,
        takes_reasoning=False,
    ),
    # https://firebase.google.com/docs/vertex-ai/count-tokens: no charge on Vertex AI, and 3,000 requests a minute. For
    # this address https://ai.google.dev/gemini-api/docs/tokens names no price.
    Provider(
        name="google",
        wire="generateContent",
        aliases=("gemini", "google-gemini", "google-generative-ai"),
        counts_free=True,
        base_url="https://generativelanguage.googleapis.com/v1beta",
        url_env=("GOOGLE_GEMINI_BASE_URL",),
        key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        auth="x-goog-api-key",
        models="gemini",
        telemetry="gcp.gemini",
        dialects={"chat": "gemini-chat"},
        resells="anthropic",
    ),
    Provider(
        name="deepseek",
        base_url="https://api.deepseek.com/v1",
        url_env=("DEEPSEEK_BASE_URL",),
        key_env=("DEEPSEEK_API_KEY",),
        models=r"^deepseek-(chat|reasoner|v\d|flash|pro)",
        dialects={"chat": "deepseek"},
    ),
    Provider(
        name="xai",
        aliases=("x-ai",),
        base_url="https://api.x.ai/v1",
        url_env=("XAI_BASE_URL",),
        key_env=("XAI_API_KEY",),
        models="^grok",
        catalogue="x-ai",
        telemetry="x_ai",
        dialects={"chat": "xai", "responses": "xai-responses"},
    ),
    Provider(
        name="mistral",
        aliases=("mistralai",),
        base_url="https://api.mistral.ai/v1",
        url_env=("MISTRAL_BASE_URL",),
        key_env=("MISTRAL_API_KEY",),
        models="^(mistral|magistral|devstral|codestral|ministral)",
        telemetry="mistral_ai",
        dialects={"chat": "mistral"},
        mistral_rules=True,
        takes_reasoning=False,
        overflows_silently=True,
    ),
    Provider(
        name="moonshot",
        aliases=("moonshotai",),
        base_url="https://api.moonshot.ai/v1",
        url_env=("MOONSHOT_BASE_URL",),
        key_env=("MOONSHOT_API_KEY",),
        models="^kimi-",
        catalogue="moonshotai",
    ),
    Provider(name="cohere", wire="cohere-v2", models="^command"),
    Provider(name="zai", aliases=("z-ai", "z.ai"), models="^glm-"),
    Provider(name="meta", aliases=("meta-llama",)),
    Provider(name="minimax"),
    # hosts of open models
    Provider(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        url_env=("GROQ_BASE_URL",),
        key_env=("GROQ_API_KEY",),
        dialects={"chat": "groq"},
        takes_reasoning=False,
    ),
    Provider(name="cerebras", takes_reasoning=False, overflows_silently=True),
    Provider(name="together", aliases=("togetherai",), takes_reasoning=False),
    Provider(name="fireworks", aliases=("fireworks-ai",), takes_reasoning=False),
    Provider(name="perplexity"),
    Provider(name="avian"),
    Provider(name="snowflake"),
    # gateways
    Provider(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        url_env=("OPENROUTER_BASE_URL",),
        key_env=("OPENROUTER_API_KEY",),
        hosting="gateway",
        dialects={"chat": "openrouter"},
        takes_reasoning=False,
        nests_effort=True,
    ),
    # https://docs.litellm.ai/docs/providers/litellm_proxy: the two variables.
    Provider(
        name="litellm",
        aliases=("litellm_proxy",),
        url_env=("LITELLM_PROXY_API_BASE",),
        key_env=("LITELLM_PROXY_API_KEY",),
        hosting="gateway",
        dialects={"chat": "litellm"},
    ),
    Provider(
        name="vercel",
        aliases=("vercel-gateway", "vercel-ai-gateway"),
        hosting="gateway",
        dialects={"chat": "gateway"},
        takes_reasoning=False,
    ),
    Provider(name="github-copilot"),
    Provider(name="helicone", hosting="gateway"),
    Provider(name="opencode", hosting="gateway"),
    Provider(name="portkey", hosting="gateway"),
    # servers of the user's own
    Provider(
        name="ollama",
        base_url="http://127.0.0.1:11434/v1",
        url_env=("OLLAMA_HOST",),
        key_env=("OLLAMA_API_KEY",),
        needs_key=False,
        hosting="own server",
        describes_models=True,
    ),
    Provider(
        name="vllm",
        base_url="http://127.0.0.1:8000/v1",
        url_env=("VLLM_BASE_URL",),
        key_env=("VLLM_API_KEY",),
        needs_key=False,
        hosting="own server",
    ),
    Provider(
        name="llama.cpp",
        aliases=("llamacpp",),
        base_url="http://127.0.0.1:8080/v1",
        url_env=("LLAMA_BASE_URL",),
        key_env=("LLAMA_API_KEY",),
        needs_key=False,
        hosting="own server",
    ),
    Provider(name="gpustack", needs_key=False, hosting="own server"),
    Provider(name="lmstudio", needs_key=False, hosting="own server"),
    Provider(name="localai", needs_key=False, hosting="own server"),
    Provider(name="sglang", needs_key=False, hosting="own server"),
)
"""Every provider that is known. Of two rows whose ``models`` fit a name the first counts."""

NO_PROVIDER: Final = Provider(name="", wire="")
"""Stands where a name names none."""

UNNAMED: Final = Provider(
    name="",
    key_env=("ULLAGE_API_KEY", "OPENAI_API_KEY"),
    needs_key=False,
    hosting="own server",
)
"""A server of which nothing but its address is known: OpenAI-compatible."""

_BY_NAME: Final[Mapping[str, Provider]] = {
    name: row for row in TABLE for name in (row.name, *row.aliases)
}
_NAMED_ALIKE: Final = 0.7
"""``difflib``'s ratio above which a provider's name is suggested: ``antropic`` has 0.94, ``goggle`` 0.83."""


def provider_named(name: str) -> Provider:
    """The row of a provider, by its name or an alias in any case; one that knows nothing where the table has none."""
    return _BY_NAME.get(name.strip().lower()) or _unlisted(name.strip())


def is_listed(name: str) -> bool:
    """Whether the table has a provider of this name or alias."""
    return name.strip().lower() in _BY_NAME


SIMULATED: Final = r"(^|[-/])simulated($|-)"
"""A simulator's own model, whatever else its name says: it counts with numbers that are drawn for each run."""


@lru_cache(maxsize=256)
def _unlisted(name: str) -> Provider:
    return Provider(name=name, wire="")


def provider_at(host: str) -> Provider | None:
    """The provider whose address has this host; ``None`` where the table has none, and for servers of one's own."""
    for row in TABLE:
        is_known = bool(row.base_url) and not row.is_own_server
        address = row.base_url.partition("://")[2]
        if is_known and address.partition("/")[0] == host:
            return row
    return None


def canonical(name: str) -> str:
    """The name that the table has for a provider; another one as it is."""
    listed = _BY_NAME.get(name.strip().lower())
    return name if listed is None else listed.name


def vendors_of(model: str) -> Iterator[Provider]:
    """Whose model this may be, by the model's name alone; the likeliest first."""
    lowered = model.lower()
    return (row for row in TABLE if row.models and re.search(row.models, lowered))


class ModelName(NamedTuple):
    """A model's name in its halves; ``provider`` is ``NO_PROVIDER`` where the name begins with none."""

    provider: Provider
    model: str


NO_ENDPOINTS: Final[Mapping[str, Provider]] = {}


def read_name(
    name: str, endpoints: Mapping[str, Provider] = NO_ENDPOINTS, *, provider: str = ""
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
    named = endpoints.get(head.strip().lower()) or _BY_NAME.get(head.strip().lower())
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


def _unknown_provider(head: str, model: str, endpoints: Mapping[str, Provider]) -> str:
    what = f"No provider is named {head!r}."
    names = [*endpoints, *_BY_NAME]
    meant = similar(head, names, cutoff=_NAMED_ALIKE)
    if meant:
        what += f" Did you mean '{meant}:{model}'?"
    else:
        what += f" Known are {', '.join([*endpoints, *(row.name for row in TABLE if row.base_url or row.url_env)])}."
    return (
        f"{what} A server of your own gets a name in your ullage.toml, under [endpoints.NAME]; where the model's own "
        f"name has the colon, put its provider before it, as in 'ollama:{head}:{model}'."
    )


def check_wire(wire: str, wires: Collection[str]) -> str:
    """The wire itself. Raises ``SettingError`` for one that is not in ``wires``, with the one that was meant."""
    if wire in wires:
        return wire
    meant = did_you_mean(wire, wires)
    raise SettingError(
        f"There is no wire {wire!r}.{meant} Known are: {', '.join(wires)}."
    )
