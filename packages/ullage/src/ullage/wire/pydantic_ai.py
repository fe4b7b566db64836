"""The bridge to providers without a codec here: one call through a model of pydantic-ai (``ullage[pydantic-ai]``).

    async for event in stream(request, "bedrock:anthropic.claude-haiku-4-5", message_id="m1"): ...

Words go out as pydantic-ai's messages and come back as ours, with the same events as ``ullage.wire.call``. Parts of an
answer keep pydantic-ai's own part beside them and go back as that. What the provider reported passes through a price
table on its way (https://github.com/pydantic/genai-prices), and what was sent is written by others: usage is marked
unverified, and readings that rest on it are not exact.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ullage.codec.foreign import parse_json
from ullage.codec.problems import read_problem, strike_keys
from ullage.codec.repair import EVERYTHING, repair
from ullage.codec.stream import (
    Answer,
    CallDelta,
    PartDone,
    ReasoningDelta,
    Stop,
    StreamEvent,
    TextDelta,
    UsageSeen,
)
from ullage.errors import (
    BadKey,
    MissingExtra,
    ProviderError,
    ServerError,
    SettingError,
    Unreachable,
)
from ullage.installation import extra_command
from ullage.messages import (
    ImagePart,
    Message,
    Part,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    clean_text,
)
from ullage.reasoning import ReasoningPolicy
from ullage.usage import Usage

if TYPE_CHECKING:
    from pydantic_ai import messages as theirs
    from pydantic_ai.models import Model

WIRE: Final = "pydantic-ai"
"""The wire's name in requests, provider data and usage that went over the bridge."""

NOT_EXACT: Final = "counted by pydantic-ai"
"""The flag on usage that came over the bridge."""

_STOPS: Final[dict[str, Stop]] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refused",
    "tool_call": "tool_calls",
    "error": "other",
}


class _Theirs(NamedTuple):
    """The modules of pydantic-ai that are used, loaded when they are."""

    messages: Any
    direct: Any
    models: Any
    settings: Any
    exceptions: Any
    adapters: Any


def _load() -> _Theirs:
    try:
        from pydantic import TypeAdapter
        from pydantic_ai import direct, exceptions, messages, models, settings
        from pydantic_ai.tools import ToolDefinition
    except ImportError as problem:
        raise MissingExtra(
            f"The bridge needs pydantic-ai. Install it: {extra_command('pydantic-ai')}"
        ) from problem
    return _Theirs(
        messages, direct, models, settings, exceptions, (TypeAdapter, ToolDefinition)
    )


async def stream(
    request: Request,
    model: Model | str,
    *,
    message_id: str = "answer",
    call: str | None = None,
    policy: ReasoningPolicy = EVERYTHING,
    settings: dict[str, Any] | None = None,
) -> AsyncGenerator[StreamEvent | Answer, None]:
    """One call of a pydantic-ai model; the last thing given is the ``Answer``. Nothing is retried here.

    ``model`` is one of theirs or its name; ``settings`` are their ``ModelSettings``. Raises ``MissingExtra`` without
    the package, ``SettingError`` for a model it does not have, ``ProviderError`` for a call that failed.
    """
    lib = _load()
    repaired = repair(replace(request, wire=WIRE), policy=policy)
    try:
        chosen = lib.models.infer_model(model)
    except (lib.exceptions.UserError, ValueError, ImportError) as problem:
        raise _unusable(problem) from problem
    origin = ProviderData(
        data=msgspec.Raw(b"{}"),
        provider=str(chosen.system),
        wire=WIRE,
        model=str(chosen.model_name),
    )
    reader = _Reader(lib, origin, message_id, dict(repaired.names))
    sent = list(_history(lib, repaired.request, origin))
    try:
        async with lib.direct.model_request_stream(
            chosen,
            sent,
            model_settings=settings,
            model_request_parameters=lib.models.ModelRequestParameters(
                function_tools=[
                    _tool(lib, tool)
                    for tool in repaired.request.tools
                    if tool.kind == "function"
                ]
            ),
        ) as streamed:
            async for event in streamed:
                for out in reader.events(event):
                    yield out
            response = streamed.get()
    except lib.exceptions.ModelHTTPError as problem:
        raise _refused(problem, origin) from problem
    except lib.exceptions.ModelAPIError as problem:
        raise Unreachable(
            f"{origin.provider} could not be called: {strike_keys(str(problem))}"
        ) from problem
    except (
        lib.exceptions.UnexpectedModelBehavior,
        lib.exceptions.AgentRunError,
    ) as problem:
        raise ServerError(
            f"{origin.provider} gave no usable answer: {strike_keys(str(problem))}"
        ) from problem
    usage = usage_of(response.usage)
    yield UsageSeen(usage)
    yield reader.answer(response, usage, call)


def usage_of(reported: Any) -> Usage:
    """Their usage in our words, marked unverified. A zero is taken for nothing said, which theirs can't tell apart."""
    details = dict(getattr(reported, "details", None) or {})
    said = {
        "input_tokens": reported.input_tokens,
        "output_tokens": reported.output_tokens,
        "cache_read_tokens": reported.cache_read_tokens,
        "cache_write_tokens": reported.cache_write_tokens,
        "details": details,
    }
    has_any = bool(reported.input_tokens or reported.output_tokens)
    return Usage(
        input=reported.input_tokens or None,
        output=reported.output_tokens if has_any else None,
        cache_read=reported.cache_read_tokens or None,
        cache_write=reported.cache_write_tokens or None,
        reasoning=details.get("reasoning_tokens"),
        dialect=WIRE,
        verified=False,
        flags=(NOT_EXACT,),
        raw=msgspec.Raw(msgspec.json.encode(said)),
    )


# -- out --


def _history(
    lib: _Theirs, request: Request, origin: ProviderData
) -> Iterator[theirs.ModelMessage]:
    """Their messages: all between two answers is one request."""
    waiting: list[Any] = [
        lib.messages.SystemPromptPart(block.text) for block in request.system
    ]
    for message in request.messages:
        if message.role != "assistant":
            waiting += _asked(lib, message)
            continue
        if waiting:
            yield lib.messages.ModelRequest(parts=waiting)
            waiting = []
        parts = [
            made
            for part in message.parts
            if (made := _said(lib, part, origin)) is not None
        ]
        if parts:
            yield lib.messages.ModelResponse(
                parts=parts, model_name=origin.model, provider_name=origin.provider
            )
    if waiting:
        yield lib.messages.ModelRequest(parts=waiting)


def _asked(lib: _Theirs, message: Message) -> Iterator[Any]:
    content: list[Any] = []
    for part in message.parts:
        match part:
            case ToolResultPart():
                outcome = "failed" if part.is_error else "success"
                yield lib.messages.ToolReturnPart(
                    part.name or "tool", part.text, part.call_id, outcome=outcome
                )
            case TextPart() if message.role == "system":
                yield lib.messages.SystemPromptPart(part.text)
            case ImagePart() if part.source.startswith(("http://", "https://")):
                content.append(lib.messages.ImageUrl(part.source))
            case TextPart() | ProviderItem():
                content.append(part.text)
            case _:
                content.append("[a file that this bridge can't send]")
    if content:
        alone = len(content) == 1 and isinstance(content[0], str)
        yield lib.messages.UserPromptPart(content[0] if alone else content)


def _said(lib: _Theirs, part: Part, origin: ProviderData) -> Any:
    """A part of an answer: pydantic-ai's own where it came from there, else made from our part."""
    held = getattr(part, "provider", None)
    if held is not None and (held.wire, held.provider) == (WIRE, origin.provider):
        return _restored(lib, held)
    match part:
        case TextPart():
            return lib.messages.TextPart(part.text)
        case ToolCallPart():
            return lib.messages.ToolCallPart(part.name, part.arguments, part.call_id)
        case _:
            return None


def _restored(lib: _Theirs, held: ProviderData) -> Any:
    adapter = lib.adapters[0](lib.messages.ModelResponsePart)
    try:
        return adapter.validate_json(bytes(held.data))
    except ValueError:  # written by a version that knew other parts
        return None


def _tool(lib: _Theirs, tool: Tool) -> Any:
    schema = parse_json(bytes(tool.schema))
    return lib.adapters[1](
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=schema,
    )


# -- back --


@dataclass(slots=True)
class _Reader:
    """Their events as ours. Part ids are the message's with a number, as the decoders make them."""

    lib: _Theirs
    origin: ProviderData
    message_id: str
    names: dict[str, str]

    def events(self, event: Any) -> Iterator[StreamEvent]:
        messages = self.lib.messages
        if isinstance(event, messages.PartStartEvent):
            yield from self._begin(event.index, event.part)
        elif isinstance(event, messages.PartDeltaEvent):
            yield from self._grow(event.index, event.delta)
        elif isinstance(event, messages.PartEndEvent):
            part = self.part(event.index, event.part)
            if part is not None:
                yield PartDone(part)

    def answer(
        self, response: theirs.ModelResponse, usage: Usage, call: str | None
    ) -> Answer:
        parts = (self.part(index, part) for index, part in enumerate(response.parts))
        kept = tuple(part for part in parts if part is not None)
        said = response.finish_reason or ""
        stop: Stop = _STOPS.get(said, "other") if said else ""
        if any(isinstance(part, ToolCallPart) for part in kept) and stop in ("stop", ""):
            stop = "tool_calls"
        return Answer(
            message=Message(id=self.message_id, role="assistant", parts=kept, call=call),
            usage=usage,
            stop=stop,
            outcome="finished" if response.state == "complete" else "dropped",
            model=response.model_name or "",
            response_id=response.provider_response_id or "",
            said=said,
        )

    def part(self, index: int, part: Any) -> Part | None:
        """One of their parts as ours, with theirs beside it."""
        messages = self.lib.messages
        name, data = self._name(index), self._data(part)
        if isinstance(part, messages.TextPart):
            clean, raw = clean_text(part.content)
            return (
                TextPart(id=name, text=clean, raw=raw, provider=data)
                if part.content
                else None
            )
        if isinstance(part, messages.ThinkingPart):
            return ReasoningPart(
                id=name,
                text=clean_text(part.content).text,
                opaque_size=len(part.signature or ""),
                provider=data,
            )
        if isinstance(part, messages.ToolCallPart):
            return ToolCallPart(
                id=name,
                call_id=part.tool_call_id,
                name=self.names.get(part.tool_name, part.tool_name),
                arguments=clean_text(_written(part.args)).text,
                provider=None if part.tool_name in self.names else data,
            )
        return ProviderItem(id=name, kind=str(part.part_kind), provider=data)

    def _begin(self, index: int, part: Any) -> Iterator[StreamEvent]:
        messages, name = self.lib.messages, self._name(index)
        if isinstance(part, messages.TextPart) and part.content:
            yield TextDelta(name, part.content)
        elif isinstance(part, messages.ThinkingPart) and part.content:
            yield ReasoningDelta(name, part.content)
        elif isinstance(part, messages.ToolCallPart):
            yield CallDelta(
                name,
                part.tool_call_id,
                self.names.get(part.tool_name, part.tool_name),
                _written(part.args),
            )

    def _grow(self, index: int, delta: Any) -> Iterator[StreamEvent]:
        messages, name = self.lib.messages, self._name(index)
        if isinstance(delta, messages.TextPartDelta) and delta.content_delta:
            yield TextDelta(name, delta.content_delta)
        elif isinstance(delta, messages.ThinkingPartDelta) and delta.content_delta:
            yield ReasoningDelta(name, delta.content_delta)
        elif isinstance(delta, messages.ToolCallPartDelta) and delta.args_delta:
            yield CallDelta(
                name,
                delta.tool_call_id or "",
                delta.tool_name_delta or "",
                _written(delta.args_delta),
            )

    def _name(self, index: int) -> str:
        return f"{self.message_id}.{index + 1}"

    def _data(self, part: Any) -> ProviderData:
        adapter = self.lib.adapters[0](self.lib.messages.ModelResponsePart)
        return replace(
            self.origin, data=msgspec.Raw(adapter.dump_json(part, exclude_none=True))
        )


def _written(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()


def _refused(problem: Any, origin: ProviderData) -> ProviderError:
    body = problem.body
    data = (
        body.encode()
        if isinstance(body, str)
        else msgspec.json.encode(body, enc_hook=str)
    )
    return read_problem(
        WIRE, problem.status_code, {}, data, provider=origin.provider, model=origin.model
    )


def _unusable(problem: Exception) -> SettingError | BadKey:
    said = strike_keys(str(problem))
    if "api_key" in said.lower() or "api key" in said.lower():
        return BadKey(said)
    return SettingError(f"pydantic-ai has no such model here: {said}")
