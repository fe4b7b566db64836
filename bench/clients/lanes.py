"""To which conversation each request belongs, told from its body alone and not from Ullage's reading of the log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ullage_simulators.server import Exchange
from ullage_simulators.tokenizer import tokens

from bench.clients.client import Client, Lane
from bench.clients.scenarios import SUBTASK

HIDDEN_KEYS = frozenset(
    {"signature", "encrypted_content", "thoughtSignature", "id", "call_id"}
)
"""Fields of a message whose text is not text of the conversation."""


class Shares(NamedTuple):
    """Tokens of a request's parts, of o200k and without framing."""

    system: int
    tools: int
    messages: int


class BilledRequest(NamedTuple):
    """A request that the simulator answered. ``shown`` is whether its answer reached the client as a whole."""

    lane: Lane
    model: str
    input: int
    shares: Shares
    shown: bool = True


def billed_requests(
    client: Client, exchanges: Sequence[Exchange], interrupted: set[int]
) -> list[BilledRequest]:
    """The answered requests in order, each with its lane."""
    found = []
    for exchange in exchanges:
        if exchange.bill is None:
            continue
        shown = exchange.number not in interrupted
        lane = lane_of(client, exchange.body)
        bill = exchange.bill
        found.append(
            BilledRequest(lane, bill.model, bill.input, shares_of(exchange.body), shown)
        )
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


def items_of(body: Any) -> list[Any]:
    """The conversation of a request, whatever the wire."""
    for name in ("messages", "input", "contents"):
        items = body.get(name)
        if isinstance(items, list):
            return items
    return [{"role": "user", "content": body.get("input", "")}]


def user_texts(body: Any) -> Iterator[str]:
    """The text of each user message."""
    for item in items_of(body):
        if isinstance(item, dict) and item.get("role") == "user":
            yield "\n".join(texts_in(item.get("content", item.get("parts"))))


def split(body: Any) -> tuple[list[Any], list[Any]]:
    """The system prompt and the messages. Where no field has the prompt, it is the first items in its role."""
    own = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
    items = items_of(body)
    if any(own):
        return own, items
    start = 0
    while start < len(items) and _role(items[start]) in ("system", "developer"):
        start += 1
    return items[:start], items[start:]


def _role(item: Any) -> Any:
    return item.get("role") if isinstance(item, dict) else None


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


def shares_of(body: Any) -> Shares:
    """How much text the system prompt, the tools and the messages are. Deferred tools are not part of the input."""
    tools = [each for each in body.get("tools") or [] if not each.get("defer_loading")]
    declared = json.dumps(tools, ensure_ascii=False) if tools else ""
    prompt, messages = split(body)
    system = sum(tokens(text) for text in texts_in(prompt))
    return Shares(system, tokens(declared), sum(map(tokens, texts_in(messages))))
