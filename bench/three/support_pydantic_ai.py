"""A support bot over HTTP: text as server-sent events, and conversations that outlive the process."""

import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


@dataclass
class Customer:
    name: str
    orders: dict[str, str]


CUSTOMERS = {"ada": Customer("Ada", {"A1": "on its way"})}
agent = Agent(
    "openai:gpt-5-mini",
    deps_type=Customer,
    instructions="You help customers of a wine shop.",
)
database = sqlite3.connect("support.db")
database.execute(
    "CREATE TABLE IF NOT EXISTS talks (customer TEXT PRIMARY KEY, talk BLOB)"
)


@agent.tool
def order_status(ctx: RunContext[Customer], order: str) -> str:
    """Where an order of the customer is."""
    return ctx.deps.orders.get(order, "unknown")


def stored(customer: str) -> list[ModelMessage]:
    found = database.execute("SELECT talk FROM talks WHERE customer = ?", (customer,))
    row = found.fetchone()
    return ModelMessagesTypeAdapter.validate_json(row[0]) if row else []


def store(customer: str, talk: bytes) -> None:
    with database:
        database.execute("INSERT OR REPLACE INTO talks VALUES (?, ?)", (customer, talk))


async def told(customer: str, text: str) -> AsyncIterator[str]:
    async with agent.run_stream(
        text, deps=CUSTOMERS[customer], message_history=stored(customer)
    ) as result:
        async for piece in result.stream_text(delta=True):
            yield f"data: {json.dumps(piece)}\n\n"
        store(customer, result.all_messages_json())


async def chat(request: Request) -> StreamingResponse:
    text = (await request.body()).decode()
    pieces = told(request.path_params["customer"], text)
    return StreamingResponse(pieces, media_type="text/event-stream")


app = Starlette(routes=[Route("/chat/{customer}", chat, methods=["POST"])])
