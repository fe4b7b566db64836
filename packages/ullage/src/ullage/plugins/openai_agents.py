"""``instrument`` for the OpenAI Agents SDK: every model call measured, and compacted before one that would not fit.

    config = instrument(RunConfig())
    result = await Runner.run(agent, "Look after the valves.", run_config=config)

It wraps the model (``agents.models.interface.Model``), which is where a call is complete: the instructions, tools and
hand-offs of the agent that has the word, those of MCP servers included. ``call_model_input_filter`` sees the
instructions and the input alone. Sessions and results keep the whole history: what is changed is what goes out.

One run makes calls of several conversations, if agents are used as tools: a call belongs to the conversation whose last
input it extends. A hand-off stays in its conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, Unpack, cast

import msgspec

from ullage.codec.foreign import as_plain
from ullage.codec.held import continued_in
from ullage.context.compactor import Fitted
from ullage.errors import WrongType
from ullage.events import Outcome
from ullage.plugins.conversations import (
    Conversations,
    ConversationSettings,
    HeldConversation,
    conversations_of,
)
from ullage.plugins.missing_framework import importing

with importing("openai_agents", "agents"):
    from agents import (
        ItemHelpers,
        Model,
        ModelProvider,
        ModelResponse,
        ModelSettings,
        RunConfig,
        Usage,
    )
    from agents.items import TResponseInputItem, TResponseStreamEvent
    from agents.models.openai_responses import Converter
    from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
    from openai.types.responses import ResponseCompletedEvent

__all__ = ["instrument"]

Instrumentable = TypeVar("Instrumentable", bound=RunConfig | ModelProvider | Model)
"""What can be instrumented."""


def instrument(
    target: Instrumentable,
    model: str = "",
    *,
    session: str = "",
    like: RunConfig | ModelProvider | Model | None = None,
    **settings: Unpack[ConversationSettings],
) -> Instrumentable:
    """The run's configuration, the provider or the model, with each call measured and compacted when it is due.

    A ``RunConfig`` covers the models that agents name; an agent with a model object needs that one instrumented:
    ``Agent(model=instrument(OpenAIResponsesModel(...)))``. ``like`` is something instrumented earlier, whose
    conversations this one shares.

    ``model`` and ``settings`` are those of ``ullage.Compactor`` (``ConversationSettings``); ``model`` is the called one
    if it is not given. A conversation is known again by its first item; ``session`` is its name if there is only one.

    A run raises ``ContextUnfixable`` for a request that no compaction makes fit. Calls whose history the provider holds
    (``previous_response_id``, ``conversation_id``) are metered and go out as they are.
    """

    runs = _runs_of(like)
    if runs is None:
        conversations = conversations_of(settings, model=model, wire="responses")
        runs = _AgentRuns(conversations, session)
    if isinstance(target, Model):
        return cast(Instrumentable, _MeteredAgentModel(target, runs))
    if isinstance(target, ModelProvider):
        return cast(Instrumentable, _MeteredProvider(target, runs))
    if not isinstance(target, RunConfig):
        raise WrongType(
            "instrument takes a RunConfig, a ModelProvider or a Model of openai-agents, and not "
            f"{type(target).__name__}. An agent is run with the configuration: Runner.run(agent, …, run_config=…)."
        )
    provider = _MeteredProvider(target.model_provider, runs)
    chosen = target.model
    if isinstance(chosen, Model):
        chosen = _MeteredAgentModel(chosen, runs)
    return cast(Instrumentable, replace(target, model=chosen, model_provider=provider))


@dataclass(slots=True)
class _AgentRuns:
    """The conversations of everything that was instrumented together, and the name that the caller gave them."""

    conversations: Conversations
    session: str


def _runs_of(target: RunConfig | ModelProvider | Model | None) -> _AgentRuns | None:
    if isinstance(target, RunConfig):
        target = target.model_provider
    if isinstance(target, _MeteredProvider | _MeteredAgentModel):
        return target.ullage_runs
    return None


class _MeteredProvider(ModelProvider):
    """A provider whose models are measured."""

    def __init__(self, inner: ModelProvider, runs: _AgentRuns) -> None:
        self._inner = inner
        self.ullage_runs = runs

    def get_model(self, model_name: str | None) -> Model:
        return _MeteredAgentModel(self._inner.get_model(model_name), self.ullage_runs)

    async def aclose(self) -> None:
        await self._inner.aclose()
        await asyncio.to_thread(self.ullage_runs.conversations.close)


class _MeteredAgentModel(Model):
    """A model whose calls go through the ``Compactor`` of their conversation. All else is the model's own."""

    def __init__(self, inner: Model, runs: _AgentRuns) -> None:
        self._inner = inner
        self.ullage_runs = runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self._inner._cleanup_on_run_end(owner)

    async def close(self) -> None:
        await self._inner.close()

    def get_retry_advice(
        self, request: ModelRetryAdviceRequest
    ) -> ModelRetryAdvice | None:
        return self._inner.get_retry_advice(request)

    async def get_response(self, *given: Any, **named: Any) -> ModelResponse:
        call = self._call(given, named)
        sent = await call.fit()
        while True:
            try:
                response = await self._inner.get_response(input=sent, **call.arguments)
            except Exception as problem:
                recovered = await call.recover(problem)
                if recovered is None:
                    call.end("failed")
                    raise
                sent = recovered
            except BaseException:
                call.end("cancelled")
                raise
            else:
                usage = usage_json(response.usage)
                items = response.to_input_items()
                call.end("finished", usage, items, response.response_id or "")
                return response

    async def stream_response(
        self, *given: Any, **named: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        call = self._call(given, named)
        sent: list[TResponseInputItem] | None = await call.fit()
        while sent is not None:
            has_begun = False
            waiting: list[TResponseStreamEvent] = []
            stream = self._inner.stream_response(input=sent, **call.arguments)
            sent = None
            try:
                async with aclosing(cast(AsyncGenerator[Any], stream)) as events:
                    async for event in events:
                        waiting.append(event)
                        if not has_begun and event.type in _WITHOUT_CONTENT:
                            continue
                        has_begun = True
                        call.note(event)
                        while waiting:
                            yield waiting.pop(0)
            except Exception as problem:
                if not has_begun:
                    sent = await call.recover(problem)
                if sent is None:
                    call.end("dropped" if has_begun else "failed")
                    for event in waiting:
                        yield event
                    raise
            except BaseException:
                call.end("cancelled")
                raise
            else:
                call.end("dropped")
                for event in waiting:
                    yield event

    def _call(self, given: tuple[Any, ...], named: dict[str, Any]) -> _InstrumentedCall:
        arguments = dict(zip(_IN_ORDER, given, strict=False)) | named
        items = ItemHelpers.input_to_new_input_list(arguments.pop("input"))
        return _InstrumentedCall(self.ullage_runs, self._inner, items, arguments)


@dataclass(slots=True)
class _InstrumentedCall:
    """One model call, from the compactor that fits its input to the usage that it is told.

    ``arguments`` are those of ``Model.get_response`` besides the input.
    """

    runs: _AgentRuns
    model: Model
    items: list[TResponseInputItem]
    arguments: dict[str, Any]
    held: HeldConversation | None = None
    """The conversation that the call belongs to, while it is open."""

    @property
    def model_name(self) -> str:
        """The name that the model is called by."""
        return str(getattr(self.model, "model", ""))

    async def fit(self) -> list[TResponseInputItem]:
        """The input to send. Raises ``ContextUnfixable``."""
        texts = [_encoder.encode(item).decode() for item in self.items]
        body = self._body()
        self.held = self.runs.conversations.enter(
            self.runs.session, texts, continues=continued_in("responses", body)
        )
        try:
            self.held.compactor.lend(self.summary)
            return self._input(await self.held.compactor.fit(body))
        except BaseException:
            self._leave()
            raise

    async def recover(self, problem: Exception) -> list[TResponseInputItem] | None:
        """The input to send after an overflow; ``None`` if ``problem`` is none, or if nothing helps."""
        if self.held is None:  # the call has ended: this is about something later
            return None
        try:
            fitted = await self.held.compactor.recover(problem)
        except BaseException:
            self._leave()
            raise
        return None if fitted is None else self._input(fitted)

    async def summary(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer of the agent's own model to a request for a summary.

        The call is the SDK's: its client, retries and tracing. It is in no run's usage; ``Reading.spend`` has it.
        Raises what the model raises.
        """
        own: ModelSettings = self.arguments["model_settings"]
        most = body.get("max_output_tokens", own.max_tokens)
        arguments = {
            **self.arguments,
            "system_instructions": body.get("instructions"),
            "model_settings": replace(own, max_tokens=most, tool_choice=None),
            "output_schema": None,
        }
        if not body.get("tools"):
            arguments.update(tools=[], handoffs=[], prompt=None)
        response = await self.model.get_response(input=list(body["input"]), **arguments)
        return {
            "object": "response",
            "status": "completed",
            "output": response.to_input_items(),
            "usage": usage_json(response.usage),
        }

    def note(self, event: TResponseStreamEvent) -> None:
        """Take note of the end of a stream, before its last event goes on: a reader may stop there."""
        if isinstance(event, ResponseCompletedEvent):
            usage = event.response.usage
            reported = None if usage is None else usage.model_dump()
            said = ModelResponse(event.response.output, Usage(), event.response.id)
            self.end("finished", reported, said.to_input_items(), event.response.id)

    def end(
        self,
        outcome: Outcome,
        usage: dict[str, Any] | None = None,
        output: list[TResponseInputItem] | None = None,
        response: str = "",
    ) -> None:
        """Take note of how the call ended, and of what the provider reported. Does nothing after the first time."""
        if self.held is None:
            return
        answer = None if output is None else {"output": output}
        try:
            self.held.compactor.after(usage, answer, outcome=outcome, response=response)
        finally:
            self._leave(response)

    def _leave(self, response: str = "") -> None:
        held, self.held = self.held, None
        if held is not None:
            self.runs.conversations.leave(held, response)

    def _input(self, fitted: Fitted) -> list[TResponseInputItem]:
        return fitted.applied(self.items, _as_item)

    def _body(self) -> dict[str, Any]:
        """The call as a body of the Responses API: what is counted in every case, and exactly what that API gets."""
        arguments = self.arguments
        body: dict[str, Any] = {"model": self.model_name, "input": self.items}
        if arguments["system_instructions"]:
            body["instructions"] = arguments["system_instructions"]
        for name, field in _HELD.items():
            if arguments.get(name) is not None:
                body[field] = arguments[name]
        tools = Converter.convert_tools(
            arguments["tools"],
            arguments["handoffs"],
            allow_opaque_tool_search_surface=arguments["prompt"] is not None,
            model=self.model_name,
            tool_choice=arguments["model_settings"].tool_choice,
        )
        if tools.tools:
            body["tools"] = list(tools.tools)
        form = Converter.get_response_format(arguments["output_schema"])
        if isinstance(form, dict):
            body["text"] = form
        most = arguments["model_settings"].max_tokens
        if most is not None:
            body["max_output_tokens"] = most
        return body


_IN_ORDER: Final = (
    "system_instructions",
    "input",
    "model_settings",
    "tools",
    "output_schema",
    "handoffs",
    "tracing",
)
"""Arguments of ``Model.get_response`` and ``Model.stream_response`` that may come by position."""

_HELD: Final = {
    "previous_response_id": "previous_response_id",
    "conversation_id": "conversation",
    "prompt": "prompt",
}
"""Arguments that name what the provider holds, and their fields in a request."""

_WITHOUT_CONTENT: Final = frozenset(
    {
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.failed",
        "response.error",
        "error",
    }
)
"""Events that hold nothing of an answer. The first ones wait for the next event: an overflow may follow."""

_encoder: Final = msgspec.json.Encoder(enc_hook=as_plain)


def usage_json(usage: Usage) -> dict[str, Any] | None:
    """Reported usage as the Responses API has it; ``None`` if the provider reported none, which the SDK gives as
    zeros."""
    if not (usage.input_tokens or usage.output_tokens):
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": usage.input_tokens_details.model_dump(),
        "output_tokens": usage.output_tokens,
        "output_tokens_details": usage.output_tokens_details.model_dump(),
        "total_tokens": usage.total_tokens,
    }


def _as_item(item: dict[str, Any]) -> TResponseInputItem:
    return cast(TResponseInputItem, item)
