"""What is publicly known of a model: window, input cap, largest answer, list prices. Unknown is ``None``, not a guess.

The catalogue (``models/catalogue.py``) is read on the first look-up. Where it is silent, rounded or wrong, the rows of
``models/limits.json`` win; each names the page it was taken from. What a user, a provider at run time or an overflow
error says wins over both (``window.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from ullage.models.facts import facts
from ullage.models.providers import is_listed, provider_named, vendors_of


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
        """The rate for a prompt of that many tokens.

        Args:
            prompt: All of its input, cache included.
        """
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


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about the models whose bare id matches ``pattern`` at ``vendors``; ``None`` leaves what is known."""

    vendors: tuple[str, ...]
    pattern: str
    source: str
    window: int | None = None
    input_cap: int | None = None
    max_output: int | None = None
    note: str = ""


_rows: Final = msgspec.json.Decoder(list[Correction])


@lru_cache(maxsize=1)
def corrections() -> list[Correction]:
    """The rows of ``models/limits.json``."""
    return facts("limits", _rows)


_AWS = "aws"
_WITH_PATHS = frozenset({_AWS, "google", "azure"})
"""Clouds whose ids may stand behind the path of a resource."""

_BEDROCK = re.compile(
    r"^(?:(?:us|eu|apac|jp|au|ca|in|sa|us-gov|global)\.)?(?P<vendor>[a-z0-9-]+)\.(?P<model>[a-z].*)$"
)


def lookup(provider: str, model: str) -> ModelLimits | None:
    """What is known of ``model`` as ``provider`` serves it; ``None`` when it is in no table.

    ``provider`` is who answers (``anthropic``, ``bedrock``, ``openrouter`` …); empty means the model's own vendor, as
    does a gateway, and the name of nobody known for a model that its vendor alone runs. A self-hosted server's window
    is never in a table. Ids may be dated, prefixed by vendor or region, or Bedrock ARNs.
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
            correction = _correction(vendor, bare)
    if row is None and correction is None:
        return None
    window, tiers = (row.window, row.prices) if row is not None else (None, ())
    known = correction or Correction((), "", catalogue.source)
    return ModelLimits(
        window=known.window or window,
        input_cap=known.input_cap,
        max_output=known.max_output,
        prices=Prices(tuple(Rate(*tier) for tier in tiers)) if tiers else None,
        source=known.source,
    )


def _correction(vendor: str, bare: str) -> Correction | None:
    for one in corrections():
        if vendor in one.vendors and re.fullmatch(one.pattern, bare):
            return one
    return None


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
    passes_on = row.hosting == "gateway" or not is_listed(provider)
    if row.resells or (passes_on and not named):
        for vendor in vendors_of(rest):
            is_only = bool(vendor.alone and re.search(vendor.alone, rest))
            is_own = not who or row.hosting == "gateway" or is_only
            if row.resells == vendor.name or (not row.resells and is_own):
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
