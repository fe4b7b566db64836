"""A coding agent: works in a directory, and asks before each change and each command."""

import asyncio
import sys

import ullage
from ullage import events

agent = ullage.Agent(
    "openai:gpt-5-mini",
    tools=["read", "list", "search", "edit", "write", "shell"],
    approve=["edit", "write", "shell"],
    system="You mend programs. Run the tests, make the smallest change, run them again.",
    root=sys.argv[1],
)


async def answer(session: ullage.Session) -> None:
    for question in await session.questions():
        for line in question.lines:
            print("".join(piece.text for piece in line))
        said = await asyncio.to_thread(input, "Allow it? [y/N] ")
        await session.approve(question.call_id, said == "y", digest=question.digest)


async def main(task: str) -> None:
    async with agent.session() as session:
        await session.send(task)
        async for event in session.events(after=0):
            match event:
                case events.DraftPiece(kind="text", text=text):
                    print(text, end="", flush=True)
                case events.ApprovalAsked():
                    await answer(session)
                case events.TurnEnded():
                    break
        print(f"\n{await session.context()}")


asyncio.run(main(sys.argv[2]))
