"""What a provider reported for one model call."""

from __future__ import annotations

import math

import msgspec
from msgspec.structs import replace

from ullage.envelope import MOST_TOKENS
from ullage.extensible import Extensible, OptionalRaw


class Cleared(Extensible, frozen=True, kw_only=True):
    """Content that the provider took out of a request before the model read it.

    ``count`` is how many tool calls lost their results, or how many turns their reasoning; ``None`` where it is not
    known.
    """

    tokens: int
    content: str = ""
    """``tool_results`` or ``reasoning``; empty for content of another kind."""
    count: int | None = None


class CacheVerdict(Extensible, frozen=True, kw_only=True):
    """Why a request was not read from the cache, as the provider says itself.

    ``reason`` is its own word, such as ``tools_changed``; ``tokens`` are those that it says were missed.
    """

    reason: str
    tokens: int | None = None


class Usage(Extensible, frozen=True, kw_only=True):
    """Token counts of one call, as reported; unknown is ``None``, never 0.

    ``input`` includes cache reads and writes, ``output`` includes reasoning, whatever the provider's own convention
    (https://github.com/open-telemetry/semantic-conventions/pull/3163 settles the inclusive meaning). ``context_input``
    and ``context_output`` are set where ``input`` and ``output`` are sums over several sampling passes: they are the
    last pass, which is what the window held (the earlier answers are inside its input).
    ``raw`` is the provider's object, byte for byte. A value that could not be true stays in ``raw``, is ``None`` here,
    and is named in ``flags``. ``cleared`` is content of the request that is not in ``input``, because the provider left
    it out.
    """

    input: int | None = None
    """Tokens of the request, those of the cache included."""
    output: int | None = None
    """Tokens of the answer, its reasoning included."""
    cache_read: int | None = None
    """Of ``input``: tokens that were read from the cache."""
    cache_write: int | None = None
    """Of ``input``: tokens that were written to the cache."""
    reasoning: int | None = None
    """Of ``output``: tokens of reasoning."""
    context_input: int | None = None
    """The input of the last sampling pass, where ``input`` is a sum over several."""
    context_output: int | None = None
    """Its output, likewise."""
    dialect: str | None = None
    """Whose way of filling in a usage it was read by."""
    verified: bool = True
    """False when the dialect is unknown: then nothing is read from ``raw``."""
    final: bool = True
    """False for a stream that was cut before its usage was complete."""
    placeholder: bool = False
    """True when ``output`` is known to be a streaming placeholder, not a count."""
    flags: tuple[str, ...] = ()
    """Values of ``raw`` that could not be true."""
    cleared: tuple[Cleared, ...] = ()
    """Content of the request that the provider left out, and that is not in ``input``."""
    verdict: CacheVerdict | None = None
    """What the provider says of a cache that it did not read, where it was asked."""
    raw: OptionalRaw = None
    """The provider's object, byte for byte."""

    @property
    def possible(self) -> Usage:
        """The same without counts that can't be true: these are ``None`` and named in ``flags``."""
        counts: dict[str, int | None] = {}
        flags = self.flags
        for name in (*KINDS, "context_input", "context_output"):
            given: object = getattr(self, name)
            counts[name], problem = (None, "") if given is None else token_count(given)
            if problem:
                flags = (*flags, f"{name}:{problem}")
        return replace(self, **counts, flags=flags)

    @property
    def context(self) -> int | None:
        """Input tokens the window held for this call: the last pass where several were summed."""
        return self.input if self.context_input is None else self.context_input

    @property
    def answer(self) -> int | None:
        """Output tokens that come after ``context``: the last pass's where several were summed."""
        return self.output if self.context_output is None else self.context_output

    @property
    def fresh_input(self) -> int | None:
        """Input that was neither read from nor written to a cache; ``None`` where it is unknown."""
        if self.input is None or self.cache_read is None:
            return None
        return self.input - self.cache_read - (self.cache_write or 0)

    @property
    def visible_output(self) -> int | None:
        """Output without reasoning; ``None`` when the provider did not say how much was reasoning."""
        if self.output is None or self.reasoning is None:
            return None
        return self.output - self.reasoning


class UsageSum(Extensible, frozen=True, kw_only=True):
    """Usage of several calls, summed by kind. Billing, never the content of a window.

    ``unsaid`` counts, by kind, the calls that did not report it: a sum with ``unsaid`` calls is a lower bound.
    """

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    estimated: int = 0
    """Input that was estimated because its report can't be true. It is not in ``input``; money and budgets count it."""
    unsaid: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def in_budget(self) -> int:
        """Input and output as budgets count them."""
        return self.input + self.estimated + self.output

    def plus(self, usage: Usage | None, estimated: int = 0) -> UsageSum:
        """This sum and one more call.

        Args:
            usage: What was reported; ``None``: nothing.
            estimated: The input in tokens of a call whose report can't be used.
        """
        reported = usage or Usage()
        unsaid = dict(self.unsaid)
        for kind in KINDS:
            if getattr(reported, kind) is None:
                unsaid[kind] = unsaid.get(kind, 0) + 1
        return UsageSum(
            calls=self.calls + 1,
            input=self.input + (reported.input or 0),
            output=self.output + (reported.output or 0),
            cache_read=self.cache_read + (reported.cache_read or 0),
            cache_write=self.cache_write + (reported.cache_write or 0),
            reasoning=self.reasoning + (reported.reasoning or 0),
            estimated=self.estimated + estimated,
            unsaid=unsaid,
        )


KINDS = ("input", "output", "cache_read", "cache_write", "reasoning")


def token_count(value: object) -> tuple[int | None, str]:
    """A token count, or why it can't be one.

    Args:
        value: What a provider, a program or a caller gives as a count.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, "not_a_number"
    if isinstance(value, float):
        if not math.isfinite(value):
            return None, "not_finite"
        if not value.is_integer():
            return None, "not_whole"
    if value < 0:
        return None, "negative"
    if value > MOST_TOKENS:
        return None, "too_large"
    return int(value), ""
