"""``UllagePlugin`` for Google's Agent Development Kit: the window of every agent measured, and compacted in time.

    runner = Runner(app=App(name="valves", root_agent=agent, plugins=[UllagePlugin()]))

A plugin sees each request after the agent's own processing and before the model. It edits ``llm_request.contents``, a
copy that ADK makes for this request: the session's events stay as they are.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

from ullage.events import Outcome
from ullage.meter.reading import Reading
from ullage.plugins.adk_requests import (
    answer_json,
    body_of,
    content_json,
    conversation_of,
    summary_config,
)
from ullage.plugins.conversations import (
    ConversationSettings,
    HeldConversation,
    conversations_of,
)
from ullage.plugins.missing_framework import importing

with importing("google_adk", "google.adk", "google.genai"):
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models import BaseLlm, LlmRequest, LlmResponse
    from google.adk.plugins import BasePlugin
    from google.genai.types import Content, GenerateContentConfig

__all__ = ["UllagePlugin"]


@dataclass(slots=True)
class _AdkCall:
    """A model call that has not ended: ``contents`` as ADK made them, ``usage`` so far."""

    held: HeldConversation
    invocation: str
    model: BaseLlm
    request: LlmRequest
    contents: list[Content]
    task: asyncio.Task[Any] | None
    usage: Any = None

    @property
    def is_left(self) -> bool:
        """Whether the task that made the call has ended before it: no callback says so."""
        return self.task is not None and self.task.done()


class UllagePlugin(BasePlugin):  # type: ignore[misc,unused-ignore]
    """Measures every request of every agent, and compacts it where ``Compactor`` would.

    Put it last in ``plugins``: it measures what it is given. ``model`` and ``settings`` are those of ``Compactor``
    (``ConversationSettings``) and hold for all agents; without a window each model has its documented one. Summaries
    are written by the agent's own model. A request that can't be made to fit raises ``ContextUnfixable``, which ADK
    wraps in a ``RuntimeError``.

    Agents that use the interactions API keep their history at the provider: their requests are left alone.
    """

    def __init__(
        self,
        model: str = "",
        *,
        name: str = "ullage",
        **settings: Unpack[ConversationSettings],
    ) -> None:
        super().__init__(name=name)
        self._conversations = conversations_of(
            settings, model=model, wire="generateContent"
        )
        self._open: dict[str, _AdkCall] = {}

    def reading(self, context: CallbackContext) -> Reading | None:
        """The window of the agent that a callback or tool belongs to; ``None`` before its first request."""
        compactor = self._conversations.latest(conversation_of(context))
        return None if compactor is None else compactor.reading()

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Measure the request, and compact it if it is due. Raises ``ContextUnfixable``."""
        if llm_request.previous_interaction_id:
            return None
        invocation = callback_context.get_invocation_context()
        name = _call_name(callback_context)
        for other, call in list(self._open.items()):
            if other == name or call.is_left:
                self._end(other)
        body = body_of(llm_request)
        history = [json.dumps(content) for content in body["contents"]]
        call = _AdkCall(
            self._conversations.enter(conversation_of(callback_context), history),
            invocation.invocation_id,
            invocation.agent.canonical_model,
            llm_request,
            list(llm_request.contents),
            asyncio.current_task(),
        )
        self._open[name] = call
        call.held.compactor.lend(partial(_summary, call))
        try:
            fitted = await call.held.compactor.fit(body)
        except BaseException:
            self._conversations.leave(self._open.pop(name).held)
            raise
        if fitted.changed:
            llm_request.contents = fitted.applied(call.contents, _content)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Take note of what the provider reported; a stream ends with the response that is not partial."""
        name = _call_name(callback_context)
        call = self._open.get(name)
        if call is None:
            return None
        call.usage = llm_response.usage_metadata or call.usage
        if not llm_response.partial:
            self._end(name, "finished")
        return None

    async def on_model_error_callback(
        self,
        *,
        callback_context: CallbackContext,
        llm_request: LlmRequest,
        error: Exception,
    ) -> LlmResponse | None:
        """The answer to a request that was over the window all the same, compacted and sent again; else nothing."""
        name = _call_name(callback_context)
        call = self._open.get(name)
        if call is None:
            return None
        try:
            fitted = await call.held.compactor.recover(error)
            if fitted is not None:
                llm_request.contents = fitted.applied(call.contents, _content)
                return await _answer(call.model, llm_request)
        except Exception:  # noqa: BLE001, S110 - the first error is raised, whatever came of the second attempt
            pass
        self._end(name, "failed")
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """End the calls of a run that was left before its model had answered."""
        for name, call in list(self._open.items()):
            if call.invocation == invocation_context.invocation_id:
                self._end(name)

    async def close(self) -> None:
        """Close the stores."""
        await asyncio.to_thread(self._conversations.close)

    def _end(self, name: str, outcome: Outcome = "cancelled") -> None:
        call = self._open.pop(name, None)
        if call is None:
            return
        try:
            call.held.compactor.after(call.usage, outcome=outcome)
        finally:
            self._conversations.leave(call.held)


async def _summary(call: _AdkCall, body: dict[str, Any]) -> dict[str, Any]:
    """The answer of the agent's own model to a request for a summary: with its client, retries and tracing.

    It does not count towards ``max_llm_calls``. Raises what the model raises, and ``RuntimeError`` for an answer that
    is an error.
    """
    contents = [_content(content) for content in body["contents"]]
    changes = GenerateContentConfig.model_validate(summary_config(call.request, body))
    changed = {name: getattr(changes, name) for name in changes.model_fields_set}
    config = call.request.config.model_copy(update=changed)
    request = LlmRequest(model=call.request.model, contents=contents, config=config)
    return answer_json(await _answer(call.model, request))


def _call_name(context: CallbackContext) -> str:
    """What all callbacks of one model call have in common: an agent makes one at a time in a run."""
    return f"{context.invocation_id}/{conversation_of(context)}"


def _content(content: dict[str, Any]) -> Content:
    return Content.model_validate(content_json(content))


async def _answer(model: BaseLlm, request: LlmRequest) -> LlmResponse:
    """The model's answer, not streaming."""
    answers = [each async for each in model.generate_content_async(request, stream=False)]
    answer = answers[-1]
    if answer.error_code:
        raise RuntimeError(f"{answer.error_code}: {answer.error_message}")
    return answer
