"""What was made of a message whose content is not kept: its cost, as it is stored with the message."""

from __future__ import annotations

from typing import Final

import msgspec

from ullage.bounds import UNREADABLE
from ullage.envelope import MOST_TOKENS
from ullage.events import Amount
from ullage.messages import Message, ProviderItem
from ullage.meter.cost import Added, MessageCost, PartCost

_encoder: Final = msgspec.json.Encoder()
_of_cost: Final = msgspec.json.Decoder(MessageCost)


def as_measured(cost: MessageCost) -> msgspec.Raw:
    """A cost as it is stored."""
    return msgspec.Raw(_encoder.encode(cost))


def hidden_message(
    name: str, size: Amount, *, row: str, what: str, revision: int = 0
) -> Message:
    """Stands in a request for content of this size that no log holds. It is estimated as media are: not as text."""
    added = Added(
        media=size.tokens, under=size.tokens - size.low, over=size.high - size.tokens
    )
    part = PartCost(f"{name}/0", row, what, size.tokens)
    cost = MessageCost(size.tokens, 0.0, added, None, (part,))
    parts = (ProviderItem(id=part.id, kind=what),)
    return Message(
        id=name, role="tool", parts=parts, revision=revision, measured=as_measured(cost)
    )


def measured_cost(message: Message) -> MessageCost | None:
    """The cost that is stored with a message; ``None`` where there is none, or none that can be true."""
    if message.measured is None or bytes(message.measured) == b"null":
        return None
    try:
        cost = _of_cost.decode(message.measured)
    except UNREADABLE:
        return None
    parts = [part.tokens for part in cost.parts]
    for tokens in (cost.tokens, cost.reasoning, cost.added.text, *parts):
        if not 0 <= tokens <= MOST_TOKENS:
            return None
    return cost
