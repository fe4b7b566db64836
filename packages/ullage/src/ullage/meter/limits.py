"""What is publicly known of a model: window, input cap, largest answer, list prices. Unknown is ``None``, not a guess.

The catalogue (``models/catalogue.py``) is read on the first look-up. Where it is silent, rounded or wrong, the rows of
``CORRECTIONS`` below win; each names the page it was taken from. What a user, a provider at run time or an overflow
error says wins over both (``window.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ullage.models.providers import provider_named, vendors_of

K = 1_000


class Rate(NamedTuple):
    """US dollars per million tokens, for prompts of more than ``above`` tokens."""

    above: int
    input: float
    output: float
    cache_read: float | None
    cache_write: float | None


@dataclass(frozen=True, slots=True)
class Prices:
    """List prices by prompt size: crossing a tier puts all tokens of the call at that tier's rate."""

    tiers: tuple[Rate, ...]

    def at(self, prompt: int) -> Rate:
        """The rate for a prompt of that many tokens, cache included."""
        return max(
            (tier for tier in self.tiers if tier.above < prompt), default=self.tiers[0]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """What is known of one model. Tokens; ``None`` is unknown.

    ``window`` holds input and answer together, except on Gemini, where ``input_cap`` equals it and the answer has room
    of its own. ``source`` says where the window is from, or the prices when there is no window.
    """

    window: int | None = None
    input_cap: int | None = None
    max_output: int | None = None
    prices: Prices | None = None
    source: str = ""


class Correction(NamedTuple):
    """Facts about the models whose bare id matches ``pattern`` at ``vendors``; ``None`` leaves what is known."""

    vendors: tuple[str, ...]
    pattern: re.Pattern[str]
    window: int | None
    input_cap: int | None
    max_output: int | None
    source: str


_CLAUDE = "https://platform.claude.com/docs/en/about-claude/models/overview"
_OPENAI = "https://platform.openai.com/docs/models/"
_GEMINI = "https://ai.google.dev/gemini-api/docs/models"
_COHERE = "https://docs.cohere.com/docs/models"
_GROQ = "https://console.groq.com/docs/models"

_DATED = r"(-\d{8}|@\d{8}|-\d{4}-\d{2}-\d{2}|-latest)?"

# Vendors, page -> bare ids (a regular expression over the whole of them), window, input cap, largest answer.
_FACTS: tuple[
    tuple[
        tuple[str, ...], str, tuple[tuple[str, int | None, int | None, int | None], ...]
    ],
    ...,
] = (
    # The suffix by which Claude Code names the long-context variant.
    (
        ("anthropic",),
        "https://code.claude.com/docs/en/model-config",
        ((r"claude-.*\[1m\]", 1_000 * K, None, None),),
    ),
    # Sonnet 4 and 4.5 hold 200k; 1M was a beta behind a header, and some tables record it as the window.
    (
        ("anthropic", "aws", "google"),
        _CLAUDE,
        (
            (r"claude-(sonnet-4[-.]5|4[-.]5-sonnet).*", 200 * K, None, 64 * K),
            (rf"claude-(sonnet-4(-0)?|4-sonnet){_DATED}", 200 * K, None, 64 * K),
            (
                r"claude-(haiku-4[-.]5|opus-4[-.]5|4[-.]5-(haiku|opus)).*",
                200 * K,
                None,
                64 * K,
            ),
            (rf"claude-opus-4([-.][01])?{_DATED}", 200 * K, None, 32 * K),
            (r"claude-(3[-.]7-sonnet|sonnet-3[-.]7).*", 200 * K, None, 64 * K),
            (r"claude-3[-.]5-(sonnet|haiku).*", 200 * K, None, 8_192),
            (r"claude-3-(opus|sonnet|haiku).*", 200 * K, None, 4_096),
            (r"claude-sonnet-4[-.]6.*", 1_000 * K, None, 64 * K),
            (r"claude-opus-4[-.][678].*", 1_000 * K, None, 128 * K),
        ),
    ),
    (
        ("anthropic", "aws"),
        "https://www.anthropic.com/news/claude-2-1",
        (
            (r"claude-2\.1|claude-v2:1", 200 * K, None, 4_096),
            (r"claude-(2|2\.0|v2)", 100 * K, None, 4_096),
        ),
    ),
    # The chat variants are smaller than the models they are named after.
    (
        ("openai", "azure"),
        _OPENAI + "gpt-5-chat-latest",
        ((r"gpt-5([-.][123])?-chat(-latest)?", 128 * K, None, 16_384),),
    ),
    (
        ("openai",),
        _OPENAI + "gpt-5",
        (
            (
                rf"gpt-5(-mini|-nano|-codex){_DATED}|gpt-5{_DATED}",
                400 * K,
                272 * K,
                128 * K,
            ),
            (
                rf"gpt-5[-.][123](-mini|-codex(-max|-mini)?|-pro)?{_DATED}",
                400 * K,
                272 * K,
                128 * K,
            ),
            (rf"gpt-5[-.]4-(mini|nano){_DATED}", 400 * K, 272 * K, 128 * K),
            (rf"gpt-5[-.][45](-pro)?{_DATED}", 1_050 * K, 922 * K, 128 * K),
        ),
    ),
    (
        ("openai", "azure"),
        _OPENAI + "gpt-4o",
        (
            (r"gpt-4o-2024-05-13", 128 * K, None, 4_096),
            (
                rf"gpt-4o(-mini)?(-audio-preview|-search-preview)?{_DATED}",
                128 * K,
                None,
                16_384,
            ),
        ),
    ),
    (
        ("openai", "azure"),
        _OPENAI + "gpt-4.1",
        ((rf"gpt-4\.1(-mini|-nano)?{_DATED}", 1_047_576, None, 32_768),),
    ),
    (
        ("openai", "azure"),
        _OPENAI + "o3",
        ((rf"(o1|o1-pro|o3|o3-pro|o3-mini|o4-mini){_DATED}", 200 * K, None, 100 * K),),
    ),
    (
        ("openai",),
        _OPENAI + "gpt-4-turbo",
        ((rf"gpt-4-(turbo|vision)(-preview)?{_DATED}", 128 * K, None, 4_096),),
    ),
    (("openai",), _OPENAI + "gpt-4", ((r"gpt-4(-0613|-0314)?", 8_192, None, 8_192),)),
    (
        ("openai",),
        _OPENAI + "gpt-3.5-turbo",
        (
            (r"gpt-3\.5-turbo-(0613|0301)", 4_096, None, 4_096),
            (r"gpt-3\.5-turbo(-0125|-1106)?", 16_385, None, 4_096),
        ),
    ),
    # Google names an input limit and an output limit; the answer has room of its own.
    (
        ("google",),
        _GEMINI,
        (
            (r"gemini-2\.5-flash-image.*", 32_768, 32_768, 32_768),
            (r"gemini-2\.5-(flash|pro)(-preview)?-tts.*", 8_192, 8_192, 16_384),
            (r"gemini-3(\.1)?-pro-image.*", 65_536, 65_536, 32_768),
            (r"gemini-2\.0-flash.*", 1_048_576, 1_048_576, 8_192),
            (
                r"gemini-2\.5-(pro|flash|flash-lite)(-preview.*|-\d+.*)?",
                1_048_576,
                1_048_576,
                65_536,
            ),
            (
                r"gemini-3(\.[15])?-(pro|flash|flash-lite)(-preview.*)?",
                1_048_576,
                1_048_576,
                65_536,
            ),
        ),
    ),
    # The aliases were moved from V3 to V4 before they were retired.
    (
        ("deepseek",),
        "https://api-docs.deepseek.com/quick_start/pricing",
        ((r"deepseek-(chat|reasoner|v4-flash|v4-pro)", 1_000 * K, None, 384 * K),),
    ),
    (
        ("mistral",),
        "https://vercel.com/ai-gateway/models/mistral-medium-3.5",
        ((r"mistral-medium(-latest|-3[-.]5|-2604)", 262_144, None, None),),
    ),
    (
        ("cohere",),
        _COHERE,
        (
            (r"command-a-(03-2025|reasoning-08-2025)", 256 * K, None, None),
            (
                r"command-(a-plus-05-2026|r7b-12-2024|r-08-2024|r-plus-08-2024|r|r-plus)",
                128 * K,
                None,
                None,
            ),
        ),
    ),
    (
        ("groq",),
        _GROQ,
        (
            (r"llama-3\.3-70b-versatile", 131_072, None, 32_768),
            (
                r"meta-llama/llama-4-(scout|maverick)-17b-.*-instruct",
                131_072,
                None,
                8_192,
            ),
        ),
    ),
    (
        ("zai",),
        "https://docs.z.ai/guides/llm/glm-4.7",
        ((r"glm-4\.(6|7|7-flash|7-flashx)", 200 * K, None, 131_072),),
    ),
)

CORRECTIONS: tuple[Correction, ...] = tuple(
    Correction(vendors, re.compile(pattern), window, input_cap, max_output, source)
    for vendors, source, rows in _FACTS
    for pattern, window, input_cap, max_output in rows
)

_AWS = "aws"
_WITH_PATHS = frozenset({_AWS, "google", "azure"})
"""Clouds whose ids may stand behind the path of a resource."""

_NEVER = re.compile(r"(?!)")

_BEDROCK = re.compile(
    r"^(?:(?:us|eu|apac|jp|au|ca|in|sa|us-gov|global)\.)?(?P<vendor>[a-z0-9-]+)\.(?P<model>[a-z].*)$"
)


def lookup(provider: str, model: str) -> ModelLimits | None:
    """What is known of ``model`` as ``provider`` serves it; ``None`` when it is in no table.

    ``provider`` is who answers (``anthropic``, ``bedrock``, ``openrouter`` …); empty means the model's own vendor. A
    self-hosted server's window is never in a table. Ids may be dated, prefixed by vendor or region, or Bedrock ARNs.
    """
    return _lookup(provider.lower().strip(), model.lower().strip())


@lru_cache(maxsize=256)
def _lookup(provider: str, model: str) -> ModelLimits | None:
    if not model or provider_named(provider).is_own_server:
        return None
    from ullage.models.catalogue import (
        CatalogueRow,
        in_use,
    )  # the data is read when a model is first looked up

    catalogue = in_use()
    row: CatalogueRow | None = None
    correction: Correction | None = None
    for vendor, name in _candidates(provider, model):
        if row is None:
            row = catalogue.find(vendor, name)
        if correction is None:
            bare = _bedrock_bare(name) if vendor == _AWS else name
            correction = next(
                (
                    one
                    for one in CORRECTIONS
                    if vendor in one.vendors and one.pattern.fullmatch(bare)
                ),
                None,
            )
    if row is None and correction is None:
        return None
    window, tiers = (row.window, row.prices) if row is not None else (None, ())
    known = correction or Correction((), _NEVER, None, None, None, catalogue.source)
    return ModelLimits(
        window=known.window or window,
        input_cap=known.input_cap,
        max_output=known.max_output,
        prices=Prices(tuple(Rate(*tier) for tier in tiers)) if tiers else None,
        source=known.source,
    )


def _candidates(provider: str, model: str) -> Iterator[tuple[str, str]]:
    """Who might list the model, and under which id, the closest first."""
    row = provider_named(provider)
    who = row.catalogue or row.name
    name = _shortened(model)
    prefix, _, rest = name.rpartition("/")
    named = _in_catalogue(prefix.rpartition("/")[2])
    if who:
        yield who, name
        if name != model:  # Fireworks lists its models by their whole path
            yield who, model
        if rest != name and who in _WITH_PATHS:
            yield who, rest
    elif _BEDROCK.match(rest):
        yield _AWS, rest
    if named and (not who or row.hosting == "gateway"):
        yield named, rest.partition(":")[0]
    if row.resells or (not who and not named):
        for vendor in vendors_of(rest):
            if row.resells in ("", vendor.name):
                yield vendor.catalogue or vendor.name, rest


def _in_catalogue(provider: str) -> str:
    row = provider_named(provider)
    return row.catalogue or row.name


def _shortened(model: str) -> str:
    """The id without resource paths: ARNs, ``models/``, ``publishers/google/models/``."""
    if model.startswith("arn:"):
        return model.rpartition("/")[2]
    return (
        model.rpartition("/models/")[2]
        if "/models/" in model
        else model.removeprefix("models/")
    )


def _bedrock_bare(name: str) -> str:
    """The vendor's own id in a Bedrock id: ``us.anthropic.claude-sonnet-4-6-v1:0`` holds ``claude-sonnet-4-6``."""
    match = _BEDROCK.match(name)
    if match is None:
        return name
    bare = match["model"]
    return (
        bare
        if bare.startswith("claude-v")
        else re.sub(r"(-v\d+)?(:\d+)?(:\d+k)?$", "", bare)
    )
