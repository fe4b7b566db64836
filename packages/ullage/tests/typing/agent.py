"""An agent: answers of a type, deps, instructions, streams, events, retries, several agents."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import msgspec

import ullage
from ullage import events


@dataclass
class Cellar:
    casks: dict[int, str]


@ullage.tool
async def contents(cask: int, context: ullage.ToolContext[Cellar]) -> str:
    """What is in a cask."""
    known: dict[int, str] = context.deps.casks
    context.deps.barrels  # type: ignore[attr-defined]
    return known[cask]


@ullage.tool(retries=2)
def level(cask: int, context: ullage.ToolContext) -> str:
    """How full a cask is."""
    if cask > 9:
        raise ullage.ToolRetry(f"{context.session}: there are casks 1 to 9.")
    return "half full"


@ullage.tool(retries="two")  # type: ignore[call-overload,untyped-decorator]
def other() -> str:
    """Nothing."""
    return ""


agent = ullage.Agent("anthropic:claude-haiku-4-5", tools=[contents, level])
text: str = agent.run_sync("What is in cask 3?", deps=Cellar({3: "wine"})).text
agent.run_sync(3)  # type: ignore[call-overload]


def show(event: events.SessionEvent) -> str:
    match event:
        case events.DraftPiece(kind="text", text=piece):
            return piece
        case events.ToolStarted(name=name):
            return name
        case events.ToolEnded(outcome=outcome, retry_of=tool_name):
            return f"{tool_name} {outcome}"
        case events.TurnEnded(reason=reason):
            reason.strange()  # type: ignore[union-attr]
            return reason
        case _:
            return ""


async def main() -> None:
    stream = agent.stream("How full is cask 3?", deps=Cellar({}))
    async for piece in stream:
        piece.upper()
        piece.strange()  # type: ignore[attr-defined]
    spent: int = stream.result.reading.used.tokens
    async with agent.session("cellar", deps=Cellar({}), budget={"usd": 0.5}) as session:
        async with session.stream("And now?", Path("cask.png"), b"%PDF-1.7") as answer:
            async for piece in answer:
                print(piece, spent)
        async for event in session.events(until_rest=True):
            print(show(event))
        session.stream(3)  # type: ignore[call-overload]


class Invoice(msgspec.Struct):
    number: str
    total: float


class Line(TypedDict):
    size: int


def greet(turn: ullage.TurnContext[Cellar]) -> str:
    turn.deps.barrels  # type: ignore[attr-defined]
    return f"You keep {len(turn.deps.casks)} casks."


async def hour(turn: ullage.TurnContext[Cellar]) -> str:
    return turn.session.upper()


keeper = ullage.Agent(
    "anthropic:claude-haiku-4-5",
    instructions=["You keep casks.", greet, hour],
    instruction_files=["AGENTS.md"],
    deps_type=Cellar,
    output_type=Invoice,
    tools=[contents],
)
known: ullage.Agent[Invoice, Cellar] = keeper
invoice: Invoice = keeper.run_sync("Read it.", deps=Cellar({})).output
keeper.run_sync("Read it.", deps=3)  # type: ignore[call-overload]
keeper.run_sync("Read it.")  # wrong for pyright alone
keeper.run_sync("Read it.", deps=Cellar({})).output.strange  # type: ignore[attr-defined]
total: float = keeper.run_sync(
    "And the total?", deps=Cellar({}), output_type=float
).output
wrong_total: str = keeper.run_sync("Which?", deps=Cellar({}), output_type=float).output  # type: ignore[assignment]
lines: list[Line] = agent.run_sync("Which lines?", output_type=list[Line]).output
plain: str = agent.run_sync("Hello.").output
not_plain: int = agent.run_sync("Hello.").output  # type: ignore[assignment]
desk = ullage.Agent("openai:gpt-5", name="desk", handoffs=[keeper], output_by="tool")
ullage.Agent("openai:gpt-5", handoffs=["keeper"])  # type: ignore[list-item]
ullage.Agent("openai:gpt-5", output_by="schemas")  # type: ignore[arg-type]
ullage.Agent("openai:gpt-5", instructions=[3])  # type: ignore[list-item]
ullage.Agent("openai:gpt-5", instructions="Answer in French.")
ullage.Agent("openai:gpt-5", max_tokens=3)  # type: ignore[call-arg]
ullage.Agnt("openai:gpt-5")  # type: ignore[attr-defined]
agent.run("Hello.")  # type: ignore[attr-defined]
agent.run_sync("Hello.", session_id="s")  # type: ignore[call-overload]
agent.stream("Hello.", model="openai:gpt-5")  # type: ignore[call-overload]


async def typed() -> None:
    async with keeper.session("s", deps=Cellar({}), window=9_000) as session:
        result = await session.ask("Read it.")
        number: str = result.output.number
        stream = session.stream("Again.")
        async for piece in stream:
            print(number, piece)
        streamed: Invoice = stream.result.output
        stream.result.output.strange  # type: ignore[attr-defined]
        print(streamed.number)
        waited: Invoice = (await session.wait()).output
        later: int = (await session.ask("How many?", output_type=int)).output
        print(waited.total, later, result.reading.used.tokens, result.reason.upper())
    keeper.session("s", deps=Cellar({}), windows=9_000)  # type: ignore[call-arg]


with keeper.session_sync("s", deps=Cellar({})) as opened:
    opened.send("Read it.", kind="follow_up").position.bit_length()
    number: str = opened.wait().output.number
    for partial in opened.stream("Read it.", output_type=list[Line]).partials():
        print(partial[0]["size"])
    opened.approve("call", False, reason="Too dear.")
    opened.approve("call", note="Too dear.")  # type: ignore[arg-type]
    opened.pin(3)  # type: ignore[arg-type]
    opened.send("Read it.", kind="later")  # type: ignore[arg-type]
    opened.wait().strange  # type: ignore[attr-defined]
for page in keeper.stream_sync("Read it.", deps=Cellar({})).partials():
    page.total.is_integer()
