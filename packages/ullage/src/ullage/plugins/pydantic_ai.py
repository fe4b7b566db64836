"""``Ullage`` for pydantic-ai: every model request of an agent measured, and compacted before one that would not fit.

    agent = Agent("openai:gpt-4.1", capabilities=[Ullage()])

The capability wraps the model that serves an attempt, inside all other capabilities
(``AbstractCapability.get_wrapper_model``, https://pydantic.dev/docs/ai/capabilities/custom/): what it measures is what
is sent, and what it changes is in no message history. Conversations are told apart by pydantic-ai's
``conversation_id``.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Unpack

from ullage.compactor.compactor import Compactor
from ullage.context.compactor import Fitted
from ullage.errors import UllageError
from ullage.events import Outcome
from ullage.meter.reading import Reading
from ullage.models.providers import is_listed
from ullage.plugins.conversations import (
    ConversationSettings,
    HeldConversation,
    conversations_of,
)
from ullage.plugins.missing_framework import importing

with importing("pydantic_ai", "pydantic_ai", "pydantic", "opentelemetry"):
    from opentelemetry.trace import INVALID_SPAN, Span
    from pydantic_ai import direct
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import RunContext

    from ullage.plugins.pydantic_ai_messages import (
        ChatRequest,
        chat_request,
        completion,
        response_item,
        usage_json,
    )

__all__ = ["Ullage"]


class Ullage(AbstractCapability[Any]):
    """Compacts what the agent's model is sent before it reaches the compaction threshold; no history is changed.

    ``model`` and ``settings`` are those of ``Compactor`` (``ConversationSettings``); ``model`` is the agent's own if it
    is not given. A conversation is known by its ``conversation_id``, which is in the messages that the program
    keeps.

    A run raises ``ContextUnfixable`` for a request that no compaction makes fit. Summaries are written by the model of
    the request and counted in the run's usage.
    """

    def __init__(self, model: str = "", **settings: Unpack[ConversationSettings]) -> None:
        self._conversations = conversations_of(settings, model=model, wire="chat")
        self._run: RunContext[Any] | None = None

    async def for_run(self, ctx: RunContext[Any]) -> Ullage:
        """This capability with the run that its requests belong to."""
        made = copy.copy(self)
        made._run = ctx
        return made

    def get_wrapper_model(self, model: Model) -> Model:
        """The model with its requests measured and compacted."""
        return _MeteredModel(model, self)

    def reading(self, conversation: str = "") -> Reading:
        """The window of the conversation with this ``conversation_id``, or of the one that was called last.

        Raises ``UllageError`` if there was no call.
        """
        found = self._conversations.latest(conversation)
        if found is None:
            raise UllageError(
                "There is no reading: no model was called yet. Run the agent first."
            )
        return found.reading()

    async def aclose(self) -> None:
        """Let connections and stores go. The capability may be used again."""
        await asyncio.to_thread(self._conversations.close)


class _MeteredModel(WrapperModel):
    """A model whose requests go through the ``Compactor`` of their conversation."""

    def __init__(self, wrapped: Model, plugin: Ullage) -> None:
        super().__init__(wrapped)
        self._plugin = plugin

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        with self._call(messages, model_settings, model_request_parameters) as call:
            sent = await call.fit()
            while True:
                try:
                    response = await self.wrapped.request(
                        sent, model_settings, model_request_parameters
                    )
                except Exception as problem:
                    recovered = await call.recover(problem)
                    if recovered is None:
                        call.end(None, "failed")
                        raise
                    sent = recovered
                except BaseException:
                    call.end(None, "cancelled")
                    raise
                else:
                    call.end(response, "finished")
                    return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        with self._call(messages, model_settings, model_request_parameters) as call:
            sent = await call.fit()
            async with AsyncExitStack() as stack:
                stream = None
                while stream is None:
                    opened = self.wrapped.request_stream(
                        sent, model_settings, model_request_parameters, run_context
                    )
                    try:
                        stream = await stack.enter_async_context(opened)
                    except Exception as problem:
                        recovered = await call.recover(problem)
                        if recovered is None:
                            call.end(None, "failed")
                            raise
                        sent = recovered
                    except BaseException:
                        call.end(None, "cancelled")
                        raise
                outcome: Outcome = "cancelled"
                try:
                    yield stream
                    outcome = _outcome(stream.get())
                except Exception:
                    outcome = "dropped"
                    raise
                finally:
                    call.end(stream.get(), outcome)

    @contextmanager
    def _call(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> Iterator[_ModelCall]:
        prepared_settings, prepared = self.wrapped.prepare_request(settings, parameters)
        call = _ModelCall(
            plugin=self._plugin,
            model=self.wrapped,
            settings=settings,
            parameters=parameters,
            is_held=_is_held(messages, prepared_settings),
            request=chat_request(
                messages,
                prepared,
                model=self.wrapped.model_name,
                settings=prepared_settings,
            ),
        )
        try:
            yield call
        finally:
            call.leave()


def _is_held(messages: list[ModelMessage], settings: ModelSettings | None) -> bool:
    """Whether the model continues what the provider holds. That begins with the first answer in the history."""
    given: Mapping[str, object] = settings or {}
    is_asked = any(given.get(name) is not None for name in _HOLDING)
    if not is_asked and given.get("openai_transport") != "websocket":
        return False
    return any(isinstance(message, ModelResponse) for message in messages)


_HOLDING: Final = ("openai_previous_response_id", "openai_conversation_id")
"""Settings of pydantic-ai for it; a WebSocket implies the first
(https://pydantic.dev/docs/ai/models/openai/, pydantic-ai 2.68)."""


def _outcome(response: ModelResponse) -> Outcome:
    """How a stream ended that was left without an error."""
    if response.state in ("complete", "suspended"):
        return "finished"
    return "cancelled"


@dataclass(slots=True)
class _ModelCall:
    """One model request, from the compactor that fits it to the usage that it is told."""

    plugin: Ullage
    model: Model
    settings: ModelSettings | None
    parameters: ModelRequestParameters
    request: ChatRequest
    is_held: bool = False
    """Whether the provider holds the history, and pydantic-ai sends only what is new."""
    held: HeldConversation | None = None
    """The conversation that the call belongs to, while it runs."""

    @property
    def provider(self) -> str:
        """The model's provider; empty if it is none that we know."""
        system = self.model.system
        return system if is_listed(system) else ""

    @property
    def run(self) -> RunContext[Any] | None:
        """The run that the request belongs to."""
        return self.plugin._run

    async def fit(self) -> list[ModelMessage]:
        """The messages to send. Raises ``ContextUnfixable``."""
        key = self.run.conversation_id if self.run is not None else None
        conversations = self.plugin._conversations
        self.held = conversations.enter(key or "", self.request.texts())
        self._compactor.lend(self.summary)
        fitted = await self._compactor.fit(
            self.request.body, provider=self.provider, is_held=self.is_held
        )
        return self._messages(fitted)

    async def recover(self, problem: Exception) -> list[ModelMessage] | None:
        """The messages to send after an overflow; ``None`` if ``problem`` is none, or if nothing helps."""
        fitted = await self._compactor.recover(problem)
        return None if fitted is None else self._messages(fitted)

    def end(self, response: ModelResponse | None, outcome: Outcome) -> None:
        """Take note of what the provider reported."""
        usage = None if response is None else usage_json(response.usage)
        answer = None
        if response is not None and outcome == "finished":
            answer = response_item(response)
        self._compactor.after(usage, answer, outcome=outcome)

    def leave(self) -> None:
        """Let another call of the conversation be made."""
        if self.held is not None:
            self.plugin._conversations.leave(self.held)

    @property
    def _compactor(self) -> Compactor:
        assert self.held is not None, "the call was fitted"
        return self.held.compactor

    def _messages(self, fitted: Fitted) -> list[ModelMessage]:
        if not fitted.changed:
            return list(self.request.sent)
        return self.request.messages(fitted.plan)

    async def summary(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer of the agent's own model to a request for a summary.

        The call is pydantic-ai's: its client, retries and tracing; it counts in the run's usage. Raises what the model
        raises.
        """
        parameters = replace(
            self.parameters,
            output_mode="text",
            output_object=None,
            allow_text_output=True,
        )
        if not body.get("tools"):
            parameters = ModelRequestParameters(instruction_parts=[])
        settings = ModelSettings(**(self.settings or {}))
        most = body.get("max_completion_tokens") or body.get("max_tokens")
        if most is not None:
            settings["max_tokens"] = most
        with _summary_span(self) as span:
            response = await direct.model_request(
                self.model,
                self.request.summary_messages(body["messages"]),
                model_settings=settings,
                model_request_parameters=parameters,
            )
            span.set_attribute("gen_ai.usage.input_tokens", response.usage.input_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", response.usage.output_tokens)
        if self.run is not None:
            self.run.usage.incr(response.usage)
            self.run.usage.requests += 1
        return completion(response)


@contextmanager
def _summary_span(call: _ModelCall) -> Iterator[Span]:
    """A span of the run's own tracer, which is one that records nothing if the agent is not instrumented."""
    if call.run is None:
        yield INVALID_SPAN
        return
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.model.system,
        "gen_ai.request.model": call.model.model_name,
    }
    with call.run.tracer.start_as_current_span(
        "ullage summary", attributes=attributes
    ) as span:
        yield span
