"""``UllageLogger`` for LiteLLM: every conversation measured, and compacted in time, in the SDK and in its proxy.

    litellm.callbacks = [UllageLogger()]

For a proxy, an instance in ``custom_callbacks.py`` beside its ``config.yaml``, and there
``litellm_settings: {callbacks: custom_callbacks.ullage}``.

Which hook may change what is sent (tried with litellm 1.106.2): ``async_pre_call_deployment_hook`` for the
asynchronous functions and the proxy, where ``async_pre_call_hook`` would come before a server is chosen. For
``litellm.completion`` none is asked; there the request that goes out stands in ``additional_args`` of
``log_pre_api_call``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Unpack

from ullage.errors import UllageError
from ullage.plugins.conversations import ConversationSettings, conversations_of
from ullage.plugins.litellm_calls import (
    FIELDS,
    SUMMARY_PREFIX,
    LiteLLMCall,
    OpenCalls,
    history_of,
    name_of,
    request_of,
    summary_arguments,
)
from ullage.plugins.missing_framework import importing

with importing("litellm", "litellm"):
    import litellm
    from litellm.integrations.custom_logger import CustomLogger

__all__ = ["UllageLogger"]

LOGGED_WITHIN_S: Final = 30.0
"""How long the next request of a conversation waits for the usage of the last one: LiteLLM reports it from a queue.

The first report of a process loads modules (11 s seen on a busy machine, n=1). Where the reader has left a stream and
keeps what it had as an answer, no report comes.
"""
LOOK_EVERY_S: Final = 0.005


class UllageLogger(CustomLogger):  # type: ignore[misc,unused-ignore]
    """Measures and compacts ``acompletion``, ``aresponses``, ``anthropic_messages`` and ``completion``.

    A conversation is recognised by ``metadata={"session_id": ...}`` (a proxy's ``x-litellm-session-id``), its first
    message, and its continuing; give a session id where many begin alike. ``model`` and ``settings`` are those of
    ``Compactor`` (``ConversationSettings``). Summaries are written by the call's own model.

    Pass ``messages`` by name. Streams are asked for their usage, so that their last chunk holds it. ``completion`` is
    compacted where the server speaks OpenAI's Chat, and left alone elsewhere.
    """

    def __init__(self, model: str = "", **settings: Unpack[ConversationSettings]) -> None:
        super().__init__()
        self._calls = OpenCalls(conversations_of(settings, model=model))

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """The arguments with a history that fits. Raises ``ContextUnfixable`` to the caller of the function."""
        function = str(getattr(call_type, "value", call_type))
        items = history_of(function, kwargs)
        if items is None or not self._is_followed(kwargs):
            return None
        last = self._calls.continued(kwargs, items)
        until = time.monotonic() + LOGGED_WITHIN_S
        while _is_awaited(last, items) and time.monotonic() < until:
            await asyncio.sleep(LOOK_EVERY_S)
        call = self._begin(last, function, items, kwargs)
        body = request_of(call)
        try:
            fitted = await call.held.compactor.fit(body)
        except BaseException:
            self._calls.abandon(call.name)
            raise
        field = FIELDS[function]
        if not fitted.changed:
            return None
        return {**kwargs, field: list(fitted.body[field])}

    def log_pre_api_call(self, model: str, messages: Any, kwargs: dict[str, Any]) -> None:
        """Compact the request of ``litellm.completion``, and ask every stream of OpenAI's Chat for its usage."""
        body = kwargs.get("additional_args", {}).get("complete_input_dict")
        if not _is_chat(kwargs, body):
            return
        if body.get("stream"):
            body.setdefault("stream_options", {"include_usage": True})
        arguments = {**kwargs.get("litellm_params", {}), **kwargs}
        if kwargs.get("call_type") != "completion" or not self._is_followed(arguments):
            return
        items = body["messages"]
        last = self._calls.continued(arguments, items)
        until = time.monotonic() + LOGGED_WITHIN_S
        while _is_awaited(last, items) and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
        call = self._begin(last, "completion", items, arguments)
        try:
            fitted = call.held.compactor.fit_sync(body)
        except BaseException:
            self._calls.abandon(call.name)
            raise
        body["messages"] = list(fitted.body["messages"])

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Take note of the usage of an answer that was no stream, before the caller has it."""
        self._calls.finished(request_data, response)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Take note of the usage of a stream."""
        self._calls.finished(kwargs, response_obj)

    def log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """Take note of the usage of ``litellm.completion``."""
        self._calls.finished(kwargs, response_obj)

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: Any,
        fallback_depth: int | None = None,
    ) -> None:
        """End the call. After an overflow the next attempt of the same request is compacted further."""
        call = self._calls.named(name_of(request_data))
        if call is not None:
            with suppress(
                UllageError
            ):  # the error that the caller knows is the provider's
                await call.held.compactor.recover(exception)
            self._calls.end(call.name, outcome="failed")

    def log_failure_event(
        self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any
    ) -> None:
        """End a call of ``litellm.completion``."""
        self._calls.end(name_of(kwargs), outcome="failed")

    async def aclose(self) -> None:
        """Close the stores."""
        await asyncio.to_thread(self._calls.conversations.close)

    def _is_followed(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call is one to follow: no summary of ours, and none that LiteLLM makes for another."""
        name = name_of(arguments)
        return not name.startswith(SUMMARY_PREFIX) and self._calls.named(name) is None

    def _begin(
        self,
        last: LiteLLMCall | None,
        function: str,
        items: list[Any],
        arguments: Mapping[str, Any],
    ) -> LiteLLMCall:
        """A new call. The one before it that has not ended by now was left by its reader."""
        if last is not None:
            self._calls.end(last.name, outcome="cancelled")
        call = self._calls.begin(function, items, arguments)
        call.held.compactor.lend(partial(_summary, call))
        return call


async def _summary(call: LiteLLMCall, body: dict[str, Any]) -> Any:
    """The answer of the call's own model to a request for a summary.

    It goes where the call goes, through LiteLLM, with the call's ``metadata``: a proxy books it to the same key.
    """
    arguments = summary_arguments(call, body)
    if call.function == "completion":
        return await asyncio.to_thread(litellm.completion, **arguments)
    return await getattr(litellm, call.function)(**arguments)


def _is_awaited(last: LiteLLMCall | None, items: list[Any]) -> bool:
    """Whether the usage of the call before is still to come: its answer is there."""
    return last is not None and not last.has_ended and last.is_answered(items)


def _is_chat(arguments: Mapping[str, Any], body: Any) -> bool:
    """Whether a request that is about to go out is one of OpenAI's Chat, to any server."""
    provider = arguments.get("custom_llm_provider")
    is_spoken = provider == "openai" or provider in litellm.openai_compatible_providers
    return is_spoken and isinstance(body, dict) and isinstance(body.get("messages"), list)
