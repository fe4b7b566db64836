"""What a message is estimated to cost, in the units of the model's family: as a whole and by part.

Sums are additive, so that taking a message out of a sum takes away exactly what it added. Everything is in tokens as
the provider charges them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.codec.tool_references import referenced
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownPart,
)
from ullage.meter.policy import UNKNOWN_ITEM
from ullage.reasoning import Maker
from ullage.tokens.content import argument_tokens, is_exact, result_tokens, text_tokens
from ullage.tokens.families import PLAIN, Family
from ullage.tokens.text import TextCounter
from ullage.tokens.text_kinds import KindTokens, kind_tokens, summed

SUMMARY = "Summary"
TOOL_RESULTS = "Tool results"
TOOL_CALLS = "Tool calls"
ROLE_ROWS = {
    "user": "You",
    "assistant": "Assistant",
    "system": "System notes",
    "tool": TOOL_RESULTS,
}
REMINDERS = "Reminders"
ORIGIN_ROWS = {"summary": SUMMARY, "injected": REMINDERS}

MediaCost = Callable[[ImagePart | FilePart, bool], float]
"""Tokens of an image or a file; the second argument is true inside a tool result."""

NO_DECLARATIONS: Final[Mapping[str, float]] = {}


class Widths(NamedTuple):
    """Tokens below and above the estimate."""

    below: float
    above: float

    def plus(self, other: Widths) -> Widths:
        """Both together."""
        return Widths(self.below + other.below, self.above + other.above)


NO_DOUBT: Final = Widths(0.0, 0.0)


def media_doubt(part: ImagePart | FilePart, tokens: float, *, in_result: bool) -> Widths:
    """How much less or more an image or a file may cost than its formula says.

    With its size known an image is within a tenth (n=101, but for Groq's, 50 % dearer); inside a tool result a provider
    may leave it out. The text of a PDF page is charged beside its picture and was up to 1,070 tokens of it (n=58). Of
    unknown size, the formula gives the most that is possible.
    """
    if isinstance(part, ImagePart):
        if not part.width or not part.height:
            return Widths(tokens + 10, 0.15 * tokens + 15)
        slack = 50 if in_result else 10
        return Widths(0.1 * tokens + slack, 0.5 * tokens + 25)
    if part.seconds is not None:
        return Widths(0.4 * tokens + 15, 0.5 * tokens + 200)
    if part.pages is not None:
        below = tokens + 10 if in_result else 0.1 * tokens + 15
        return Widths(below, 0.1 * tokens + 1100 * part.pages)
    return Widths(tokens + 10, 0.2 * tokens + 1100)


class AnswerTokens(msgspec.Struct, frozen=True, array_like=True):
    """The content of an answer: tokens of its text, names, arguments and shown reasoning.

    Items of the provider's own (its tools' calls and results) are not included: they are not charged as output.
    """

    text: float = 0.0
    names: float = 0.0
    arguments: float = 0.0
    calls: int = 0
    parameters: int = 0
    reasoning: float = 0.0
    thoughts: int = 0
    """Reasoning parts, those without text included."""
    opaque_size: int = 0
    """Characters of the reasoning's signatures and encrypted content."""
    items: int = 0
    """The provider's own items, such as calls and results of its tools. The next request holds what they brought."""
    text_kinds: KindTokens = ()
    """Of the text and the arguments, tokens of each kind."""
    charged: float = 0.0
    """Of the shown reasoning, what is charged as text when it is sent back (``Family.charges_thoughts``)."""

    def visible(self, family: Family) -> float:
        """Tokens of the answer without its reasoning, as output."""
        wrapping = family.answering
        tokens = wrapping.once + (self.text + self.names + self.arguments)
        if self.text:
            tokens += wrapping.text
        if self.calls:
            tokens += wrapping.calling + wrapping.call * self.calls
        if self.calls > 1:
            tokens += wrapping.several
        return tokens + wrapping.parameter * self.parameters


def thought_tokens(answer: AnswerTokens, family: Family) -> float:
    """Tokens of reasoning whose count was not reported; 0 without any reasoning to estimate it from.

    Of Claude's, 245 answers with both a count and the text: 0.98 a token of it + 5 a part; where only a summary is
    shown, the signature tells more: 0.19 a character - 40. Over all families' 274 answers with both, the median error
    is 10 % for Claude (n=228) and 14 % for Grok (n=12). OpenAI's encrypted content is left out: by the same measure it
    says twice to four times what was counted (n=45).
    """
    if not answer.thoughts:
        return 0.0
    if family is PLAIN:
        return answer.reasoning
    shown = 0.0
    if answer.reasoning:
        shown = 0.98 * answer.reasoning + 5.0 * answer.thoughts
    if family.name.startswith("gpt-"):
        return shown
    return max(shown, 0.19 * answer.opaque_size - 40.0)


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """Answers whose text was counted because no reported output gave it: the basis of a number that may be off."""

    text: float = 0.0
    calls: int = 0
    text_kinds: KindTokens = ()
    """Of the text, tokens of each kind."""

    @classmethod
    def of(cls, answer: AnswerTokens) -> Counted:
        """The whole answer, but for its reasoning."""
        text = answer.text + answer.names + answer.arguments
        return cls(text, answer.calls, answer.text_kinds)

    def plus(self, other: Counted, sign: int = 1) -> Counted:
        """Both together; with ``sign=-1`` this without the other."""
        return Counted(
            self.text + sign * other.text,
            self.calls + sign * other.calls,
            summed(self.text_kinds, other.text_kinds, sign),
        )


NOTHING_COUNTED: Final = Counted()


class Added(msgspec.Struct, frozen=True, array_like=True):
    """What messages add to a request, as sums. Reasoning is not included."""

    text: float = 0.0
    names: float = 0.0
    media: float = 0.0
    users: int = 0
    results: int = 0
    under: float = 0.0
    """Tokens by which the media may cost less than estimated."""
    over: float = 0.0
    """Tokens by which the media may cost more."""
    text_kinds: KindTokens = ()
    """Of the text, tokens of each kind; none where it is counted with the provider's own tokenizer."""

    def plus(self, other: Added, sign: int = 1) -> Added:
        """Both together; with ``sign=-1`` this without the other."""
        return Added(
            self.text + sign * other.text,
            self.names + sign * other.names,
            self.media + sign * other.media,
            self.users + sign * other.users,
            self.results + sign * other.results,
            self.under + sign * other.under,
            self.over + sign * other.over,
            summed(self.text_kinds, other.text_kinds, sign),
        )

    def wrapping(self, family: Family, *, kept: bool = False) -> float:
        """Tokens of the wrapping around this content: per message and per tool result."""
        framing = family.framing_for(kept=kept)
        tokens = framing.user * max(0, self.users)
        if self.results == 1:
            tokens += framing.result + framing.name * self.names
        elif self.results > 1:
            tokens += (
                framing.pair
                + framing.further * (self.results - 2)
                + framing.names * self.names
            )
        return tokens

    def tokens(self, family: Family, *, kept: bool = False) -> float:
        """All tokens of this content in a request, without the closing of the answer before it."""
        return self.text + self.media + self.wrapping(family, kept=kept)


class PartCost(NamedTuple):
    """One part's share of a message's cost, and the row of the breakdown it belongs to."""

    id: str
    row: str
    name: str
    tokens: float


class MessageCost(NamedTuple):
    """A message as input: ``tokens`` with its framing and without reasoning, which is accounted by its own rules."""

    tokens: float
    reasoning: float
    """Estimate of its reasoning, were it sent back."""
    added: Added
    answer: AnswerTokens | None
    """What it is made of, if the model wrote it."""
    parts: tuple[PartCost, ...]
    carries: bool = False
    """Whether it holds reasoning, shown or opaque, also where that rides on another part (Gemini's signatures)."""
    maker: Maker | None = None
    """Who made that reasoning; ``None`` where it does not say."""
    references: tuple[str, ...] = ()
    """Deferred tools whose declarations the provider puts in the place of its results."""


class _Sums:
    """The sums of one message while its parts are counted, each text once."""

    def __init__(
        self,
        family: Family,
        counter: TextCounter,
        media: MediaCost,
        declarations: Mapping[str, float],
        *,
        is_answer: bool,
    ) -> None:
        self.is_answer = is_answer
        self.declarations = declarations
        self.references: list[str] = []
        self.family = family
        self.counter = counter
        self.media_cost = media
        self.text = self.names = self.arguments = self.reasoning = self.charged = 0.0
        self.calls = self.parameters = self.thoughts = self.opaque_size = self.items = 0
        self.users = self.results = 0
        self.media = self.under = self.over = 0.0
        self.text_kinds: KindTokens = ()
        self.is_exact = is_exact(family, counter)

    def add_text_kinds(self, text: str, tokens: float) -> None:
        """Add the kinds of a text of so many tokens to the sums."""
        if not self.is_exact:
            self.text_kinds = summed(self.text_kinds, kind_tokens(text, tokens))

    def count_media(self, part: ImagePart | FilePart, *, in_result: bool) -> float:
        """Tokens of an image or a file, added to the sums."""
        tokens = self.media_cost(part, in_result)
        doubt = media_doubt(part, tokens, in_result=in_result)
        self.media += tokens
        self.under += doubt.below
        self.over += doubt.above
        return tokens

    def count_call(self, part: ToolCallPart) -> float:
        """Tokens of a tool call with its wrapping, added to the sums."""
        name = text_tokens(part.name, self.family, self.counter)
        arguments = argument_tokens(part.arguments, self.family, self.counter)
        self.calls += 1
        if self.is_answer:
            self.names += name
            self.add_text_kinds(part.arguments, arguments.tokens)
        self.arguments += arguments.tokens
        self.parameters += arguments.parameters
        wrapping = self.family.answering
        return (
            arguments.tokens
            + name
            + (wrapping.call + wrapping.parameter * arguments.parameters)
        )

    def count_result(self, part: ToolResultPart, name: str) -> float:
        """Tokens of a tool's result with its wrapping, added to the sums."""
        tokens = result_tokens(part.text, self.family, self.counter)
        found = [tool for tool in referenced(part.content) if tool in self.declarations]
        if found:
            tokens = sum(self.declarations[tool] for tool in found)
            self.references += found
        shown = 0.0
        for inner in part.content:
            if isinstance(inner, ImagePart | FilePart):
                shown += self.count_media(inner, in_result=True)
        if not self.is_answer:
            self.results += 1
            self.text += tokens
            self.add_text_kinds(part.text, tokens)
            self.names += text_tokens(name, self.family, self.counter)
        return tokens + shown + self.family.framing.result


def message_cost(
    message: Message,
    family: Family,
    counter: TextCounter,
    *,
    tool_names: Mapping[str, str],
    media: MediaCost,
    declarations: Mapping[str, float] = NO_DECLARATIONS,
) -> MessageCost:
    """What one message costs, as a whole and by part. Counts each of its texts once; never raises.

    ``tool_names`` are by call id, for results that don't name their tool. An answer is counted by what it shows.
    ``declarations`` are tokens of the deferred tools, which are read where a result refers to them.
    """
    is_answer = message.role == "assistant"
    own_row = ORIGIN_ROWS.get(message.origin) or ROLE_ROWS[message.role]
    sums = _Sums(family, counter, media, declarations, is_answer=is_answer)
    parts: list[PartCost] = []
    for part in message.parts:
        row, name, tokens = own_row, "", 0.0
        if isinstance(part, ReasoningPart):
            sums.thoughts += 1
            sums.opaque_size += part.opaque_size
            if is_answer:
                shown = text_tokens(part.text, family, counter)
                sums.reasoning += shown
                # A log's thoughts, which nothing of the wire is with, are shown to a person and not sent.
                if family.charges_thoughts and part.provider is not None:
                    sums.charged += shown
            sums.users = 1
            continue
        if isinstance(part, ToolResultPart):
            name = part.name or tool_names.get(part.call_id, "")
            row, tokens = TOOL_RESULTS, sums.count_result(part, name)
            name = name or "unknown tool"
        elif isinstance(part, ToolCallPart):
            row, name, tokens = TOOL_CALLS, part.name, sums.count_call(part)
        elif isinstance(part, ImagePart):
            row, name, tokens = "Media", "images", sums.count_media(part, in_result=False)
        else:
            written = _text_of(part)
            tokens = text_tokens(written, family, counter)
            if isinstance(part, TextPart) or not is_answer:
                sums.text += tokens
                sums.add_text_kinds(written, tokens)
            if isinstance(part, TextPart):
                name = part.name
                if name and not is_answer and message.origin == "said":
                    row = REMINDERS
            if isinstance(part, FilePart):
                row, name, tokens = (
                    "Media",
                    "files",
                    sums.count_media(part, in_result=False) + tokens,
                )
            elif isinstance(part, ProviderItem) and not _is_known(part, message):
                sums.items += 1
                sums.over += UNKNOWN_ITEM
        if not isinstance(part, ToolResultPart):
            sums.users = 1
        parts.append(PartCost(part.id, row, name, tokens))
    if not is_answer:
        added = Added(
            sums.text,
            sums.names,
            sums.media,
            sums.users,
            sums.results,
            sums.under,
            sums.over,
            sums.text_kinds,
        )
        return MessageCost(
            added.tokens(family),
            0.0,
            added,
            None,
            tuple(parts),
            references=tuple(sums.references),
        )
    answer = AnswerTokens(
        sums.text,
        sums.names,
        sums.arguments,
        sums.calls,
        sums.parameters,
        sums.reasoning,
        sums.thoughts,
        sums.opaque_size,
        sums.items,
        sums.text_kinds,
        sums.charged,
    )
    added = Added(
        text=answer.visible(family) + answer.charged,
        media=sums.media,
        under=sums.under,
        over=sums.over,
    )
    return MessageCost(
        added.tokens(family),
        thought_tokens(answer, family),
        added,
        answer,
        tuple(parts),
        *_reasoning_carried(message),
    )


class _ReasoningCarried(NamedTuple):
    """Whether a message carries reasoning, and who made it, where that is known."""

    any: bool = False
    maker: Maker | None = None


def _reasoning_carried(message: Message) -> _ReasoningCarried:
    """The reasoning that parts carry. An answer is one model's, so that any of its parts tells who made it."""
    carried = _ReasoningCarried()
    for part in message.parts:
        if isinstance(part, ToolCallPart | TextPart):
            is_opaque = isinstance(part, ToolCallPart) and part.opaque_size > 0
            is_signed = part.provider is not None and b"ignature" in bytes(
                part.provider.data
            )
            if not is_opaque and not is_signed:
                continue
        elif not isinstance(part, ReasoningPart):
            continue
        data = part.provider
        if data is not None:
            return _ReasoningCarried(True, Maker(data.wire, data.provider, data.model))
        carried = _ReasoningCarried(True)
    return carried


def _is_known(part: ProviderItem, message: Message) -> bool:
    """Whether the item's text is all that it costs: of a compaction's items, those that are not encrypted."""
    if message.origin != "summary" or part.provider is None:
        return False
    return b'"encrypted_content"' not in bytes(part.provider.data)


def _text_of(part: TextPart | FilePart | ProviderItem | UnknownPart) -> str:
    return (
        bytes(part.raw).decode("utf-8", "replace")
        if isinstance(part, UnknownPart)
        else part.text
    )
