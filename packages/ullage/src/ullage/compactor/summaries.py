"""The calls for summaries of a caller's own loop: by the caller's function, or by a client of ours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ullage.codec.decode import decoder_for
from ullage.codec.foreign import as_wire_json, to_raw
from ullage.codec.stream import Answer
from ullage.compactor.summary_calls import (
    bounded_answer,
    known_output,
    most_output,
    request_for,
)
from ullage.context.compactor import CallerConversation
from ullage.context.strategy import Ask
from ullage.context.summary_body import output_beside_thinking, summary_request
from ullage.errors import DamagedAnswer, SettingError
from ullage.messages import Message, Request, TextPart, clean_text
from ullage.meter.meter import Meter
from ullage.models.providers import ProviderRow, read_name
from ullage.threads import in_thread
from ullage.usage import Usage
from ullage.wire.client import Client
from ullage.wire.endpoints import endpoint_for

Summariser = Callable[[dict[str, Any]], Awaitable[object] | object]
"""Sends a body of the conversation's wire and gives the provider's answer: an SDK's object, its JSON, or a text."""


def read_summariser(given: object) -> Summariser | None:
    """The setting ``summarise``. Raises ``SettingError``."""
    if given is None or callable(given):
        return given
    raise SettingError(
        f"summarise is a function that takes a body and gives the provider's answer, and not {type(given).__name__}."
    )


class SummaryCaller:
    """Asks for the summaries of one conversation. The parameters are those of ``Compactor``."""

    def __init__(
        self,
        meter: Meter,
        conversation: CallerConversation,
        *,
        model: str,
        summarise: Summariser | None,
        summary_model: str,
        base_url: str,
        environment: Mapping[str, str],
        endpoints: Mapping[str, ProviderRow],
    ) -> None:
        self.summarise = summarise
        """The caller's function; ``None`` for a client of ours."""
        self.has_own_way = summarise is not None or bool(base_url)
        """Whether the caller has said how summaries are asked for."""
        self._meter = meter
        self._conversation = conversation
        self._named = model
        self._summary_model = summary_model
        self._base_url = base_url
        self._environment = environment
        self._endpoints = endpoints
        self._client: Client | None = None

    @property
    def has_client(self) -> bool:
        """Whether our own client is open."""
        return self._client is not None

    @property
    def model(self) -> str:
        """The name of the model that summarises, without its provider's."""
        if self._summary_model:
            return read_name(self._summary_model, self._endpoints)[1]
        return self._meter.state.model

    async def sent_by_caller(
        self, summarise: Summariser, wanted: Ask, call: str
    ) -> Answer:
        """The answer of the caller's function. Raises what it raises, and ``DamagedAnswer``."""
        held = self._meter.request()
        wire, provider = held.wire, held.provider
        request = request_for(wanted, held, self.model, wire=wire, provider=provider)
        known = known_output(self._meter.state, self.model, provider)
        most = most_output(wanted, known, wire=wire, provider=provider)
        body = self._body(wanted, request, most, known)
        if inspect.iscoroutinefunction(summarise):
            given = await summarise(body)
        else:
            given = await in_thread(summarise, body)
        if inspect.isawaitable(given):
            given = await given
        return read_answer(request, given, call)

    async def sent_by_us(self, wanted: Ask, call: str) -> Answer:
        """The answer of our own client, which belongs to this event loop. Raises ``ProviderError``."""
        fold = self._meter.state
        endpoint, model = endpoint_for(
            self._summary_model or self._current_name(),
            base_url=self._base_url,
            wire=fold.wire if self._base_url else "",
            environment=self._environment,
            endpoints=self._endpoints,
        )
        if self._client is None:
            self._client = Client()
        held = self._meter.request()
        wire, provider = endpoint.wire, endpoint.provider
        request = request_for(wanted, held, model, wire=wire, provider=provider)
        known = known_output(fold, model, provider)

        def body(most: int | None) -> dict[str, Any]:
            return self._body(wanted, request, most, known)

        has_own_form = wanted.compaction is not None or wire != held.wire
        return await bounded_answer(
            wanted,
            summary_request(request),
            endpoint,
            known_output=known,
            client=self._client,
            call=call,
            policy=self._meter.policy,
            media={},
            make_body=None if has_own_form else body,
        )

    async def close(self) -> None:
        """Close our own client."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _current_name(self) -> str:
        """The conversation's model as the caller has named it, or as it is called now after a change."""
        fold = self._meter.state
        if self._named.endswith(fold.model) or not fold.provider:
            return self._named or fold.model
        return f"{fold.provider}:{fold.model}"

    def _body(
        self, wanted: Ask, request: Request, most: int | None, known: int | None
    ) -> dict[str, Any]:
        held = self._meter.request()
        most = output_beside_thinking(request, held, most, known)
        return self._conversation.summary_body(request, most, extends=wanted.extends)


def read_answer(request: Request, given: object, call: str) -> Answer:
    """The answer that a caller's function gave: a provider's answer, ours, or a text.

    Raises ``DamagedAnswer`` for what is none.
    """
    name = f"{call}.answer"
    if isinstance(given, Answer):
        return given
    if isinstance(given, str):
        part = TextPart(id=f"{name}.0", text=clean_text(given).text)
        message = Message(id=name, role="assistant", parts=(part,))
        return Answer(message, Usage(), "stop", "finished")
    plain = as_wire_json(given)
    if not isinstance(plain, dict):
        raise DamagedAnswer(
            f"`summarise` gave {type(given).__name__}, which is no provider's answer. Return the SDK's answer, its "
            "JSON, or a text."
        )
    decoder = decoder_for(request, message_id=name, call=call)
    return decoder.read(bytes(to_raw(plain)))
