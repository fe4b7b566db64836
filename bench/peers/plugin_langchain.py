"""langchain's agent with Ullage's middleware, or (``own``) with its SummarizationMiddleware.

That one is as documented: a share of the window, 20 messages kept. With ``whole`` it shows all that leaves to the model
that summarises, where it otherwise shows the newest 4,000 tokens of it.
"""

from __future__ import annotations

from typing import Any

import plugin_session as told
from langchain.agents import create_agent  # type: ignore[import-not-found,unused-ignore]
from langchain_core.callbacks import UsageMetadataCallbackHandler  # type: ignore[import-not-found,unused-ignore]
from langchain_core.messages import AIMessage, HumanMessage  # type: ignore[import-not-found,unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]


def chat(model: str) -> ChatOpenAI:
    """The chat model, which knows its window as langchain's own models do."""
    where: dict[str, Any] = {"base_url": told.URL, "api_key": "none", "max_retries": 0}
    profile = {"max_input_tokens": told.WINDOW}
    return ChatOpenAI(model=model, stream_usage=True, profile=profile, **where)


class LangChain(told.Program):
    """Keeps the messages itself, as the middleware of langchain is to work without a checkpointer as well."""

    packages = ("langchain", "langchain-openai")

    def __init__(self) -> None:
        super().__init__()
        self.agents: dict[str, Any] = {}
        self.used = UsageMetadataCallbackHandler()

    def middleware(self, model: str) -> Any:
        from langchain.agents.middleware import SummarizationMiddleware  # type: ignore[import-not-found,unused-ignore]

        trigger = ("fraction", told.TRIGGER)
        shown = {"trim_tokens_to_summarize": None} if told.MODE == "whole" else {}
        return SummarizationMiddleware(
            chat(model), trigger=trigger, keep=("messages", 20), **shown
        )

    def agent(self, model: str) -> Any:
        if model not in self.agents:
            given = {"system_prompt": told.SYSTEM, "middleware": [self.middleware(model)]}
            self.agents[model] = create_agent(chat(model), [told.use], **given)
        return self.agents[model]

    async def turn(self, step: told.Step) -> None:
        self.history.append(HumanMessage(step.said))
        config: dict[str, Any] = {
            "callbacks": [self.used],
            "recursion_limit": 3 * told.MOST_STEPS,
            "configurable": {"thread_id": "bench"},
        }
        agent = self.agent(step.model)
        given = {"messages": list(self.history)}
        if not step.streams:
            self.history = (await agent.ainvoke(given, config))["messages"]
            return
        pieces = 0
        stream = agent.astream(given, config, stream_mode=["messages", "values"])
        async for mode, piece in stream:
            if mode == "values":
                self.history = piece["messages"]
                continue
            pieces += 1
            if pieces == step.stop_after:
                await stream.aclose()
                return

    def lose(self, step: told.Step) -> None:
        call = {"name": "use", "args": told.LOST_ARGUMENTS, "id": step.lost_call}
        self.history += [HumanMessage(step.said), AIMessage("", tool_calls=[call])]

    def counted(self) -> tuple[int, int]:
        used = self.used.usage_metadata.values()
        given = sum(one["input_tokens"] for one in used)
        return given, sum(one["output_tokens"] for one in used)


class WithUllage(LangChain):
    """Counts by what the middleware has counted, not by langchain's own callback."""

    counts_all = True

    def __init__(self) -> None:
        from ullage.plugins.langchain import UllageMiddleware

        super().__init__()
        self.plugin = UllageMiddleware(**told.OURS)

    def middleware(self, model: str) -> Any:
        return self.plugin

    def counted(self) -> tuple[int, int]:
        return told.spent(self.plugin.reading("bench"))

    async def close(self) -> None:
        await self.plugin.aclose()


told.drive(LangChain() if told.MODE else WithUllage())
