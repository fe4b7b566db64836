"""Agents of frameworks without a plug-in, on OpenAI's Chat: ``ullage.attach`` follows the SDK client that they use.

The third argument is ``agno`` or ``strands``.
"""

from __future__ import annotations

import sys
from typing import Any

import openai
from plugin_session import SYSTEM, TRIGGER, URL, WINDOW, Step, drive, use

import ullage

WHERE: dict[str, Any] = {"base_url": URL, "api_key": "none", "max_retries": 0}


class Attached:
    """``compactor`` counts all calls of the client, summaries included."""

    packages: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.history: Any = None
        self.compactor = ullage.Compactor(wire="chat", window=WINDOW, trigger=TRIGGER)
        self.agent: Any = None

    def made(self, model: str) -> Any:
        raise NotImplementedError

    async def said(self, text: str) -> None:
        raise NotImplementedError

    async def turn(self, step: Step) -> None:
        if self.agent is None:
            self.agent = self.made(step.model)
        await self.said(step.said)

    def lose(self, step: Step) -> None:
        raise NotImplementedError

    def counted(self) -> tuple[int, int]:
        spent = self.compactor.reading().spend.all
        return spent.input or 0, spent.output or 0

    async def close(self) -> None:
        await self.compactor.aclose()


class Agno(Attached):
    packages = ("agno", "openai")

    def made(self, model: str) -> Any:
        from agno.agent import Agent  # type: ignore[import-not-found,unused-ignore]
        from agno.db.in_memory import InMemoryDb  # type: ignore[import-not-found,unused-ignore]
        from agno.models.openai import OpenAIChat  # type: ignore[import-not-found,unused-ignore]

        client = ullage.attach(openai.AsyncOpenAI(**WHERE), self.compactor)
        return Agent(
            model=OpenAIChat(id=model, async_client=client),
            system_message=SYSTEM,
            tools=[use],
            db=InMemoryDb(),
            session_id="bench",
            add_history_to_context=True,
            num_history_runs=1_000,
            telemetry=False,
        )

    async def said(self, text: str) -> None:
        done = await self.agent.arun(text)
        if "error" in str(done.status).lower():
            raise RuntimeError(str(done.content))


class Strands(Attached):
    packages = ("strands-agents", "openai")

    def made(self, model: str) -> Any:
        from strands import Agent, tool  # type: ignore[import-not-found,unused-ignore]
        from strands.agent.conversation_manager import NullConversationManager  # type: ignore[import-not-found,unused-ignore]
        from strands.models.openai import OpenAIModel  # type: ignore[import-not-found,unused-ignore]

        client = ullage.attach(openai.AsyncOpenAI(**WHERE), self.compactor)
        return Agent(
            model=OpenAIModel(client=client, model_id=model),
            system_prompt=SYSTEM,
            tools=[tool(use)],
            conversation_manager=NullConversationManager(),
            callback_handler=None,
        )

    async def said(self, text: str) -> None:
        await self.agent.invoke_async(text)


PROGRAMS = {"agno": Agno, "strands": Strands}
drive(PROGRAMS[sys.argv[3]]())
