"""To which conversation each request belongs, told from its body alone and not from Ullage's reading of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.clients.client import Client, Lane
from bench.clients.scenarios import SUBTASK
from ullage_simulators.server import Exchange

HIDDEN_KEYS = frozenset(
    {"signature", "encrypted_content", "thoughtSignature", "id", "call_id"}
) | {"type", "role", "cache_control"}
"""Fields of a message whose text is not text of the conversation."""


class BilledRequest(NamedTuple):
    """A request that the simulator answered. ``shown`` is whether its answer reached the client as a whole."""

    lane: Lane
    input: int
    shown: bool = True


def billed_requests(
    client: Client, exchanges: Sequence[Exchange], interrupted: set[int]
) -> list[BilledRequest]:
    """The answered requests in order, each with its lane."""
    found = []
    for exchange in exchanges:
        if exchange.bill is not None:
            shown = exchange.number not in interrupted
            lane = lane_of(client, exchange.body)
            found.append(BilledRequest(lane, exchange.bill.input, shown))
    return found


def lane_of(client: Client, body: Any) -> Lane:
    """The lane of a request."""
    said = list(user_texts(body))
    last = said[-1] if said else ""
    system = "\n".join(texts_in(_prompt(body)))
    if client.summary_prompt in last:
        return "summary"
    aside = any(words in last or words in system for words in client.side_prompts)
    if aside or not body.get("tools"):
        return "other"
    if any(SUBTASK in text for text in said[:3]) and "go-agent" not in " ".join(said):
        return "child"
    return "main"


def items_of(body: Any) -> list[Any]:
    """The conversation of a request, whatever the wire."""
    for name in ("messages", "input", "contents"):
        items = body.get(name)
        if isinstance(items, list):
            return items
    return [{"role": "user", "content": body.get("input", "")}]


def _prompt(body: Any) -> list[Any]:
    """The system prompt. Where no field has it, it is the first item, if it has its role."""
    own = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
    first = items_of(body)[:1]
    if any(own) or not first or not isinstance(first[0], dict):
        return own
    return first if first[0].get("role") in ("system", "developer") else []


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
            if key not in HIDDEN_KEYS:
                yield from texts_in(each)
