"""The support agent of a wine shop, as a program would import it; test_shop.py tests it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ullage
from ullage.hooks import Refusal


@dataclass
class Order:
    item: str
    euros: float
    status: str


@dataclass
class Shop:
    """What the tools work with: the customer that is logged in."""

    customer: str
    orders: dict[str, Order]
    refunds: list[tuple[str, float]] = field(default_factory=list)


@dataclass
class Reply:
    text: str
    order: str = ""
    needs_person: bool = False


@dataclass
class Wine:
    name: str
    euros: float


def order_status(order: str, context: ullage.ToolContext[Shop]) -> str:
    """Where an order of the customer is."""
    found = context.deps.orders.get(order)
    if found is None:
        known = ", ".join(sorted(context.deps.orders))
        raise ullage.ToolRetry(f"There is no order {order}. The customer has {known}.")
    return f"{order} ({found.item}) is {found.status}."


def is_large(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["euros"] > 20)


@ullage.tool(needs_approval=is_large)
def refund(order: str, euros: float, context: ullage.ToolContext[Shop]) -> str:
    """Pay an order back, in part or whole. More than 20 euros need a person."""
    context.deps.refunds.append((order, euros))
    return f"{euros:.2f} euros of {order} are paid back."


def terms() -> str:
    """The terms of the shop, all of them."""
    lines = [f"{n}. Bottle {n} of a case may be sent back." for n in range(150)]
    lines[75] = "75. Corked bottles are replaced for 400 days."
    return "\n".join(lines)


sommelier = ullage.Agent(
    "anthropic:claude-haiku-4-5", output_type=Wine, system="You choose one wine."
)


@ullage.subagent(sommelier)
def recommend(dish: str, euros: float = 15.0) -> str:
    """Choose a wine for a dish."""
    return f"Choose a wine for {dish}, at most {euros:.0f} euros."


def who(turn: ullage.TurnContext[Shop]) -> str:
    return f"You serve {turn.deps.customer}."


def no_cards(text: str) -> Refusal | None:
    digits = re.sub(r"[ -]", "", text)
    return Refusal("It has a card's number.") if re.search(r"\d{16}", digits) else None


def known_order(reply: Reply, turn: ullage.TurnContext[Shop]) -> None:
    if reply.order and reply.order not in turn.deps.orders:
        raise ullage.ToolRetry(f"The customer has no order {reply.order}.")


support = ullage.Agent(
    "anthropic:claude-haiku-4-5",
    tools=[order_status, refund, terms, recommend],
    deps_type=Shop,
    output_type=Reply,
    instructions=["You are brief and kind.", who],
    input_guardrails=[no_cards],
    output_guardrails=[known_order],
    budget={"tool_calls": 5},
    max_output=1_000,
)
