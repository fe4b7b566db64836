"""The input of a compaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from ullage.context.costs import Sizes, count_images, size_bytes, sizes_of
from ullage.context.exchanges import HistoryExchange, exchanges, in_view, latest_request
from ullage.context.rules import CompactionRules
from ullage.context.shorten import READER
from ullage.events import CompactionTrigger
from ullage.messages import Message
from ullage.meter.fold import Fold
from ullage.tokens.content import text_tokens

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A session that needs a smaller request. Neither the situation nor the view may change during a compaction.

    ``fold`` holds the view with the incoming messages; it is read, never changed. ``compaction`` names this compaction
    and is the prefix of the ids that it creates. ``pins`` are ids of messages that must not change, ``waiting`` ids of
    calls that wait for a person or a tool. ``task_start`` is the first message since the last finished task.
    ``correction`` is the provider's tokens per token of the reading, after a refusal of a request that fits by the
    reading (``budget.correction_of``). ``bytes_limit`` and ``image_limit`` are the provider's limits, if known.
    With ``up_to`` a person wants this message and all behind it to stay, with ``from_`` all before this message, and
    nothing else of its own accord.
    ``has_refused`` says that the endpoint has refused to compact a conversation itself.
    """

    fold: Fold
    trigger: CompactionTrigger = "point"
    compaction: str = "compaction"
    snapshot: str = ""
    epoch: int = 0
    rules: CompactionRules = field(default_factory=CompactionRules)
    pins: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    task_start: str = ""
    instructions: str = ""
    correction: float = 1.0
    bytes_limit: int | None = None
    image_limit: int | None = None
    has_refused: bool = False
    up_to: str = ""
    from_: str = ""
    _worked_out: dict[object, object] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def once(self, key: object, make: Callable[[], T]) -> T:
        """The result of ``make``, computed once for this situation: strategies ask again after every answer.

        Args:
            key: Names what is computed.
            make: Computes it.
        """
        if key not in self._worked_out:
            self._worked_out[key] = make()
        return cast(T, self._worked_out[key])

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages of the next request, as they go out."""
        return in_view(entry.message for entry in self.fold.view)

    @cached_property
    def exchanges(self) -> tuple[HistoryExchange, ...]:
        """The messages as exchanges that stay or leave together."""
        return exchanges(self.messages)

    @cached_property
    def sizes(self) -> Sizes:
        """What each message costs."""
        return sizes_of(self.fold)

    @cached_property
    def request(self) -> Message | None:
        """The newest message of a person."""
        return latest_request(self.messages)

    @property
    def is_partial(self) -> bool:
        """Whether a person named the part that is to be summarised."""
        return bool(self.up_to or self.from_)

    @cached_property
    def unnamed(self) -> frozenset[str]:
        """Ids of the messages outside of the part that a person named: all, where its message has left the view."""
        if not self.is_partial:
            return frozenset()
        ids = [message.id for message in self.messages]
        chosen = self.up_to or self.from_
        if chosen not in ids:
            return frozenset(ids)
        place = ids.index(chosen)
        return frozenset(ids[place:] if self.up_to else ids[:place])

    @cached_property
    def bytes(self) -> Mapping[str, int]:
        """Bytes on the wire by message id."""
        return {message.id: size_bytes(message) for message in self.messages}

    @cached_property
    def fixed_bytes(self) -> int:
        """Bytes of system prompt and tools."""
        system = sum(
            len(block.text.encode("utf-8", "replace")) for block in self.fold.system or ()
        )
        tools = sum(
            len(bytes(tool.schema)) + len(tool.description.encode()) + 100
            for tool in self.fold.tools or ()
            if not tool.deferred
        )
        return system + tools

    @property
    def all_bytes(self) -> int:
        """Of the whole body."""
        return self.fixed_bytes + sum(self.bytes.values())

    @property
    def is_over_bytes(self) -> bool:
        """Whether the body has more bytes than the provider takes."""
        return self.bytes_limit is not None and self.all_bytes > self.bytes_limit

    @cached_property
    def images(self) -> int:
        """Images and files in the next request."""
        return sum(count_images(message) for message in self.messages)

    def weigh(self, ids: Iterable[str]) -> float:
        """The weight of messages in a plan: their tokens, or their bytes if the request has too many of them.

        Args:
            ids: The messages.
        """
        if not self.is_over_bytes:
            return self.sizes.of(ids)
        return sum(
            max(self.sizes.each.get(each, 0.0), self.bytes.get(each, 0) * self._per_byte)
            for each in ids
        )

    @cached_property
    def _per_byte(self) -> float:
        """Tokens per byte, so that the allowed bytes weigh as much as the view has tokens."""
        allowed = max(1, (self.bytes_limit or 0) - self.fixed_bytes)
        return max(self.sizes.messages, 1.0) / allowed

    @cached_property
    def can_read(self) -> bool:
        """Whether the model has the tool that reads stored texts."""
        return any(tool.name == READER for tool in self.fold.tools or ())

    @property
    def is_over_images(self) -> bool:
        """Whether the request has more images than the provider takes."""
        return self.image_limit is not None and self.images > self.image_limit

    @property
    def is_urgent(self) -> bool:
        """Whether the next request can't be sent as it is, so that any fitting request is better."""
        limit = self.fold.limits.denominators.input_limit
        is_over = limit is not None and self.sizes.high > limit / max(
            1.0, self.correction
        )
        is_short = self.is_over_bytes or self.is_over_images
        return (
            self.trigger in ("limit", "overflow", "model_changed") or is_over or is_short
        )

    @property
    def is_only_asked(self) -> bool:
        """Whether a person asked for a summary, one can be had, and nothing else calls for a smaller request."""
        is_asked = self.trigger == "asked" and self.rules.asks_model
        return is_asked and not self.is_urgent

    def count(self, text: str) -> float:
        """Tokens of a text by itself, without framing.

        Args:
            text: The text.
        """
        forecaster = self.fold.forecaster
        return text_tokens(text, forecaster.family, forecaster.counter)

    def cost(self, message: Message) -> float:
        """Tokens of a message that is not in view, as the reading would count it.

        Args:
            message: The message.
        """
        return self.fold.forecaster.message(message, self.fold.view.tool_names).tokens
