"""Ullage in LangChain and LangGraph agents: the window is metered, and compacted before the call that would not fit.

    from langchain.agents import create_agent
    from ullage.plugins.langchain import UllageMiddleware

    agent = create_agent("openai:gpt-5.4", tools, middleware=[UllageMiddleware()])

Needs ``pip install 'ullage[langchain]'``. What the graph's state holds is not touched: only the messages of the call
are others, and those that stay are the same objects. The agent's own chat model writes the summaries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Unpack

from ullage.codec.dialects import normalise
from ullage.codec.framework_usage import LANGCHAIN
from ullage.codec.stream import Answer, Stop
from ullage.compactor.compactor import Compactor
from ullage.context.compactor import Fitted
from ullage.errors import UllageError
from ullage.messages import Message, TextPart, clean_text
from ullage.meter.reading import Reading
from ullage.plugins.conversations import ConversationSettings, conversations_of
from ullage.plugins.missing_framework import importing
from ullage.usage import Usage

with importing("langchain", "langchain", "langchain_core"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
    from langchain_core.runnables import RunnableBinding, RunnableConfig
    from langchain_core.runnables.config import ensure_config, merge_configs

    from ullage.plugins.langchain_bodies import (
        ModelBody,
        body_of,
        summary_settings,
    )

SUMMARY_CONFIG: Final[RunnableConfig] = {
    "run_name": "ullage summary",
    "tags": ["nostream"],
    "metadata": {"lc_source": "summarization"},
}
"""How a call for a summary is told from others in traces and streams, as LangChain's own summaries are."""

CUT: Final = frozenset({"length", "max_tokens"})
"""Reasons of an answer's end, in lower case: OpenAI's, and those of Anthropic and Google."""

AGAIN: Final = "a call that is not made again has raised"

_SEPARATORS: Final = ("|", ":")
"""In a checkpoint namespace: between graphs, and between a node's name and its task."""


class _LangChainCall:
    """One model call of an agent: what would be sent, and where it belongs."""

    def __init__(self, request: ModelRequest[Any], *, is_async: bool) -> None:
        self.request = request
        self.is_async = is_async
        self.config = ensure_config()
        system: list[BaseMessage] = []
        if request.system_message is not None:
            system.append(request.system_message)
        settings = _settings(request)
        self.sent: ModelBody = body_of(
            request.model, [*system, *request.messages], settings
        )

    @property
    def conversation(self) -> str:
        """The thread's id, and the graph inside of it that makes the call; empty without a thread."""
        found = self.config.get("configurable", {})
        thread = str(found.get("thread_id") or "")
        graphs, task = _SEPARATORS
        above = str(found.get("checkpoint_ns") or "").split(graphs)[:-1]
        names = [each.split(task)[0] for each in above]
        return "/".join([thread, *names]) if thread else ""

    @property
    def history(self) -> list[str]:
        """A text for each message, by which a conversation is known again."""
        found: list[str] = []
        for message in self.request.messages:
            calls = ""
            if isinstance(message, AIMessage):
                calls = str([call["id"] for call in message.tool_calls])
            found.append(f"{message.type}\n{message.content}\n{calls}")
        return found

    def fitted(self, fitted: Fitted) -> ModelRequest[Any]:
        """The request with the messages that fit; the same object if nothing is another."""
        if not fitted.changed:
            return self.request
        messages: list[AnyMessage] = []
        for message in self.sent.messages_of(fitted.body):
            if message is not self.request.system_message:
                messages.append(message)  # type: ignore[arg-type]  # of the kinds that bodies hold
        if self.request.system_message is not None:
            messages = [each for each in messages if not isinstance(each, SystemMessage)]
        return self.request.override(messages=messages)

    def summary(self, body: Mapping[str, Any]) -> Awaitable[Answer] | Answer:
        """What the chat model answers to a request for a summary, in its own run of the trace.

        To be awaited if the agent runs in an event loop.
        """
        messages = self.sent.messages_of(body)
        config = merge_configs(self.config, SUMMARY_CONFIG)
        settings = summary_settings(self.sent, body)
        model = self.request.model
        if not self.is_async:
            return _answer(model.invoke(messages, config, **settings))

        async def ask() -> Answer:
            return _answer(await model.ainvoke(messages, config, **settings))

        return ask()


class UllageMiddleware(AgentMiddleware):
    """Meters every model call of an agent, and compacts its messages before the call when the window fills.

    All parameters are those of ``Compactor`` (``ConversationSettings``). What is left out, such as the model, is read
    from the calls; ``window`` is needed for a model that no table knows. A conversation
    is known by its ``thread_id``, or by its first message. Put the middleware last in ``middleware``, so that it sees
    what is sent. Works in ``invoke``, ``ainvoke``, ``stream`` and ``astream``.

    A model call raises ``ContextUnfixable`` if it can't be made to fit. What the chat model raises is raised as it is,
    unless it is an overflow that compaction helps against: then the call is made again.
    """

    def __init__(
        self,
        model: str = "",
        *,
        wire: str = "",
        provider: str = "",
        **settings: Unpack[ConversationSettings],
    ) -> None:
        super().__init__()
        self._conversations = conversations_of(
            settings, model=model, wire=wire, provider=provider
        )

    # -- what it knows --

    def reading(self, thread: str = "") -> Reading:
        """The window of a thread now, or of the conversation that was called last.

        Raises ``UllageError`` if this process has made no call in it.
        """
        found = self._conversations.latest(thread)
        if found is None:
            named = f"thread {thread!r}" if thread else "any thread"
            raise UllageError(
                f"There is no reading: no model was called in {named} yet. Run the agent first."
            )
        return found.reading()

    async def aclose(self) -> None:
        """Let connections, threads and stores go. The middleware may be used again."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """The same for a program without an event loop."""
        self._conversations.close()

    # -- LangChain's hooks --

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Fit the messages, have the model called, and take note of what was used."""
        call = _LangChainCall(request, is_async=False)
        with self._entered(call) as compactor:
            fitted: Fitted | None = compactor.fit_sync(call.sent.body)
            while fitted is not None:
                with _cancelled(compactor):
                    try:
                        response = handler(call.fitted(fitted))
                    except Exception as error:
                        fitted = compactor.recover_sync(error)
                        if fitted is None:
                            compactor.after(None, outcome="failed")
                            raise
                        continue
                compactor.after(_usage(response), response=_id(response))
                return response
            raise AssertionError(AGAIN)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same in an event loop. A cancelled call is noted as one, and nothing is compacted for it."""
        call = _LangChainCall(request, is_async=True)
        with self._entered(call) as compactor:
            fitted: Fitted | None = await compactor.fit(call.sent.body)
            while fitted is not None:
                with _cancelled(compactor):
                    try:
                        response = await handler(call.fitted(fitted))
                    except Exception as error:
                        fitted = await compactor.recover(error)
                        if fitted is None:
                            compactor.after(None, outcome="failed")
                            raise
                        continue
                compactor.after(_usage(response), response=_id(response))
                return response
            raise AssertionError(AGAIN)

    @contextmanager
    def _entered(self, call: _LangChainCall) -> Iterator[Compactor]:
        with self._conversations.entered(call.conversation, call.history) as compactor:
            compactor.lend(call.summary)
            yield compactor


@contextmanager
def _cancelled(compactor: Compactor) -> Iterator[None]:
    """Notes that the open call was cancelled, if the block is."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        compactor.after(None, outcome="cancelled")
        raise


def _settings(request: ModelRequest[Any]) -> dict[str, Any]:
    """What the agent binds the chat model with, as far as it depends on the request."""
    settings = dict(request.model_settings)
    if not request.tools:
        return settings
    model: BaseChatModel = request.model
    bound = model.bind_tools(request.tools, tool_choice=request.tool_choice, **settings)
    if isinstance(bound, RunnableBinding):
        return dict(bound.kwargs)
    return settings


def _usage(response: ModelResponse[Any]) -> Usage | None:
    """Usage of the answer; ``None`` if the provider reported none."""
    for message in response.result:
        if isinstance(message, AIMessage):
            return _used(message)
    return None


def _id(response: ModelResponse[Any]) -> str:
    """The provider's id of the answer, where LangChain may name it in the next request; empty without one."""
    for message in response.result:
        if isinstance(message, AIMessage):
            return str(message.response_metadata.get("id") or "")
    return ""


def _used(message: AIMessage) -> Usage | None:
    """``usage_metadata`` in our terms; ``None`` if there is none."""
    used = message.usage_metadata
    if used is None:
        return None
    return normalise(LANGCHAIN.name, used)


def _answer(message: AIMessage) -> Answer:
    """A chat model's answer to a request for a summary."""
    usage = _used(message) or Usage()
    reason = message.response_metadata.get("finish_reason")
    reason = reason or message.response_metadata.get("stop_reason")
    stop: Stop = "length" if str(reason).lower() in CUT else "stop"
    text = TextPart(id="summary/0", text=clean_text(str(message.text)).text)
    answer = Message(id="summary", role="assistant", parts=(text,))
    return Answer(answer, usage, stop, "finished")
