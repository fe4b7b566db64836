"""What each part is estimated to cost, in the units of the model's family."""

from typing import NamedTuple

from ullage.meter.growth import Added


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
    added: Added
    parts: tuple[PartCost, ...]
