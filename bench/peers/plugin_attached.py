"""Agents of frameworks without a plug-in, on OpenAI's Chat: ``ullage.attach`` follows the SDK client that they use.

The mode is ``agno``, ``smolagents`` or ``strands``. With ``by-hand`` the messages of smolagents go
through ``Compactor.fit`` and the plain SDK, without ``attach``.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, ClassVar

import openai
import plugin_session as told

import ullage

WHERE: dict[str, Any] = {"base_url": told.URL, "api_key": "none", "max_retries": 0}


class Attached(told.Program):
    """``compactor`` counts all calls of the client, summaries included."""

    def __init__(self) -> None:
        super().__init__()
        self.compactor = ullage.Compactor(wire="chat", **{**told.OURS, "store": None})
        self.agent: Any = None

    def made(self, model: str) -> Any:
        raise NotImplementedError

    async def said(self, text: str) -> None:
        raise NotImplementedError

    async def turn(self, step: told.Step) -> None:
        if self.agent is None:
            self.agent = self.made(step.model)
        await self.said(step.said)

    def counted(self) -> tuple[int, int]:
        return told.spent(self.compactor.reading())

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
            system_message=told.SYSTEM,
            tools=[told.use],
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
            system_prompt=told.SYSTEM,
            tools=[tool(told.use)],
            conversation_manager=NullConversationManager(),
            callback_handler=None,
        )

    async def said(self, text: str) -> None:
        await self.agent.invoke_async(text)


class ByHand:
    """What smolagents uses of OpenAI's client, with ``fit`` before a call and ``after`` behind it."""

    def __init__(self, client: openai.OpenAI, compactor: ullage.Compactor) -> None:
        self.chat = self.completions = self
        self._client = client
        self._compactor = compactor
        compactor.lend(lambda body: client.chat.completions.create(**body))

    def create(self, **body: Any) -> Any:
        fitted = self._compactor.fit_sync(body)
        answer = self._client.chat.completions.create(**fitted.body)
        self._compactor.after(answer.usage, answer)
        return answer


class Smolagents(Attached):
    """Its runs end with a call of ``final_answer``: the text that the simulated model ends with is made into one."""

    packages = ("smolagents", "openai")

    def made(self, model: str) -> Any:
        from smolagents import (  # type: ignore[import-not-found,unused-ignore]
            LogLevel,
            OpenAIModel,
            Tool,
            ToolCallingAgent,
        )
        from smolagents.models import (  # type: ignore[import-not-found,unused-ignore]
            ChatMessageToolCall,
            ChatMessageToolCallFunction,
        )

        class AnsweringModel(OpenAIModel):  # type: ignore[misc,unused-ignore]
            def generate(self, *given: Any, **named: Any) -> Any:
                answer = super().generate(*given, **named)
                if not answer.tool_calls:
                    function = ChatMessageToolCallFunction(
                        name="final_answer", arguments={"answer": answer.content}
                    )
                    answer.tool_calls = [
                        ChatMessageToolCall(function, answer.raw.id, "function")
                    ]
                    answer.content = None
                return answer

        class Use(Tool):  # type: ignore[misc,unused-ignore]
            name = "use"
            description = "Do what ``call`` says."
            inputs: ClassVar = {
                "number": {"type": "integer", "description": "Of the call."},
                "call": {"type": "string", "description": "What to do."},
            }
            output_type = "string"

            def forward(self, number: int, call: str) -> str:
                return told.use(number, call)

        answering = AnsweringModel(
            model, api_base=told.URL, api_key="none", client_kwargs={"max_retries": 0}
        )
        if sys.argv[4:] == ["by-hand"]:
            answering.client = ByHand(answering.client, self.compactor)
        else:
            ullage.attach(answering.client, self.compactor)
        agent = ToolCallingAgent(
            [Use()], answering, max_steps=told.MOST_STEPS, verbosity_level=LogLevel.OFF
        )
        agent.prompt_templates["system_prompt"] = told.SYSTEM
        return agent

    async def said(self, text: str) -> None:
        await asyncio.to_thread(self.agent.run, text, reset=False)


PROGRAMS = {"agno": Agno, "smolagents": Smolagents, "strands": Strands}
told.drive(PROGRAMS[told.MODE]())
