"""A support bot over HTTP: text as server-sent events, and conversations that outlive the process."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

import ullage


@dataclass
class Customer:
    name: str
    orders: dict[str, str]


CUSTOMERS = {"ada": Customer("Ada", {"A1": "on its way"})}


def order_status(order: str, context: ullage.ToolContext[Customer]) -> str:
    """Where an order of the customer is."""
    return context.deps.orders.get(order, "unknown")


agent = ullage.Agent(
    "openai:gpt-5-mini",
    tools=[order_status],
    deps_type=Customer,
    system="You help customers of a wine shop.",
    store="support.db",
)


async def told(customer: str, text: str) -> AsyncIterator[str]:
    async with (
        agent.session(customer, deps=CUSTOMERS[customer]) as session,
        aclosing(session.stream(text)) as pieces,
    ):
        async for piece in pieces:
            yield f"data: {json.dumps(piece)}\n\n"


async def chat(request: Request) -> StreamingResponse:
    text = (await request.body()).decode()
    pieces = told(request.path_params["customer"], text)
    return StreamingResponse(pieces, media_type="text/event-stream")


app = Starlette(routes=[Route("/chat/{customer}", chat, methods=["POST"])])
