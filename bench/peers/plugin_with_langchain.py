"""A LangChain agent that plays the steps: for ``plugin_langchain.py`` and ``own_langchain.py``."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent  # type: ignore[import-not-found,unused-ignore]
from langchain_core.callbacks import UsageMetadataCallbackHandler  # type: ignore[import-not-found,unused-ignore]
from langchain_core.messages import AIMessage, HumanMessage  # type: ignore[import-not-found,unused-ignore]
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]
from plugin_session import LOST_ARGUMENTS, MOST_STEPS, SYSTEM, URL, WINDOW, Step, use


def chat(model: str) -> ChatOpenAI:
    """The chat model, which knows its window as langchain's own models do."""
    return ChatOpenAI(
        model=model,
        base_url=URL,
        api_key="none",
        max_retries=0,
        stream_usage=True,
        profile={"max_input_tokens": WINDOW},
    )


class LangChain:
    """Keeps the messages itself, as the middleware of langchain is to work without a checkpointer as well."""

    packages = ("langchain", "langchain-openai")

    def __init__(self, middleware: list[Any]) -> None:
        self.history: list[Any] = []
        self.middleware = middleware
        self.agents: dict[str, Any] = {}
        self.used = UsageMetadataCallbackHandler()

    def agent(self, model: str) -> Any:
        if model not in self.agents:
            self.agents[model] = create_agent(
                chat(model), [use], system_prompt=SYSTEM, middleware=self.middleware
            )
        return self.agents[model]

    async def turn(self, step: Step) -> None:
        self.history.append(HumanMessage(step.said))
        config: dict[str, Any] = {
            "callbacks": [self.used],
            "recursion_limit": 3 * MOST_STEPS,
            "configurable": {"thread_id": "bench"},
        }
        agent = self.agent(step.model)
        given = {"messages": list(self.history)}
        if not step.streams:
            done = await agent.ainvoke(given, config)
            self.history = done["messages"]
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

    def lose(self, step: Step) -> None:
        call = {"name": "use", "args": LOST_ARGUMENTS, "id": step.lost_call}
        self.history += [HumanMessage(step.said), AIMessage("", tool_calls=[call])]

    def counted(self) -> tuple[int, int]:
        used = self.used.usage_metadata.values()
        given = sum(one["input_tokens"] for one in used)
        return given, sum(one["output_tokens"] for one in used)

    async def close(self) -> None:
        return None
