"""To which conversation each request belongs, told from its body alone and not from Ullage's reading of the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ullage_simulators.drawn import Drawn
from ullage_simulators.server import Exchange
from ullage_simulators.wire import Bill

from bench.clients.client import Client, Lane
from bench.clients.parts import BilledParts, billed_parts, items_of, split
from bench.clients.scenarios import SUBTASK

HIDDEN_KEYS = frozenset(
    {"signature", "encrypted_content", "thoughtSignature", "id", "call_id"}
)
"""Fields of a message whose text is not text of the conversation."""


class BilledRequest(NamedTuple):
    """A request that the simulator answered. ``shown`` is whether its answer reached the client as a whole."""

    lane: Lane
    bill: Bill
    parts: BilledParts
    shown: bool = True

    @property
    def input(self) -> int:
        return self.bill.input


def billed_requests(
    client: Client,
    exchanges: Sequence[Exchange],
    interrupted: set[int],
    drawn: Mapping[str, Drawn],
) -> list[BilledRequest]:
    """The answered requests in order, each with its lane. ``drawn`` are the simulator's numbers of each model."""
    found = []
    for exchange in exchanges:
        bill = exchange.bill
        if bill is None:
            continue
        shown = exchange.number not in interrupted
        lane = lane_of(client, exchange.body)
        parts = billed_parts(exchange.body, drawn[bill.model], bill.kept)
        found.append(BilledRequest(lane, bill, parts, shown))
    return found


def lane_of(client: Client, body: Any) -> Lane:
    """The lane of a request."""
    said = list(user_texts(body))
    last = said[-1] if said else ""
    system = "\n".join(texts_in(split(body)[0]))
    if client.summary_prompt in last:
        return "summary"
    aside = any(words in last or words in system for words in client.side_prompts)
    if aside or not body.get("tools"):
        return "other"
    if any(SUBTASK in text for text in said[:3]) and "go-agent" not in " ".join(said):
        return "child"
    return "main"


def user_texts(body: Any) -> Iterator[str]:
    """The text of each user message."""
    for item in items_of(body):
        if isinstance(item, dict) and item.get("role") == "user":
            yield "\n".join(texts_in(item.get("content", item.get("parts"))))


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a JSON value but ids, kinds and signatures."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in HIDDEN_KEYS and key not in ("type", "role", "cache_control"):
                yield from texts_in(each)
