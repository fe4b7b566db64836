"""Conversations with the simulators over HTTP: repaired, encoded, sent, decoded, put into the history, as by a loop.

Nothing of the transport is used here but its reader of server-sent events: what is shown is that the codecs and the
simulators agree, whoever carries the bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Self

import httpx2
import msgspec
from msgspec.structs import replace

from tests.codec.streams import read_answer
from ullage.codec.blocks import PLAIN, Encoded, Options
from ullage.codec.decode import decoder_for
from ullage.codec.history import encode
from ullage.codec.repair import Repaired, repair
from ullage.codec.stream import Answer, ServerEvent
from ullage.messages import (
    Message,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.tokens.claude import VOCABULARIES
from ullage.tokens.content import is_exact
from ullage.tokens.families import Family, family_for
from ullage.tokens.text import counter_for
from ullage.wire.sse import EventReader
from ullage_simulators import Server
from ullage_simulators.models import MODELS


@dataclass(frozen=True, eq=False)
class Dialect:
    """One wire as one provider speaks it, and where its simulator is: ``serves`` is its name, then ``version``."""

    name: str
    wire: str
    provider: str
    model: str
    serves: str
    version: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    shows_reasoning: bool = True

    def url(self, server: Server, path: str) -> str:
        return f"{server.url(self.serves)}{self.version}{path}"


SEES_THOUGHTS = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
ENABLED = {"max_tokens": 12_000, "thinking": {"type": "enabled", "budget_tokens": 4_096}}
ADAPTIVE = {"max_tokens": 12_000, "thinking": {"type": "adaptive"}}
SUMMARY = {"reasoning": {"summary": "auto"}}


def _messages(name: str, model: str, params: Mapping[str, object]) -> Dialect:
    return Dialect(name, "messages", "anthropic", model, "anthropic", "/v1", params)


def _gemini(name: str, model: str) -> Dialect:
    return Dialect(
        name, "generateContent", "google", model, "gemini", "/v1beta", SEES_THOUGHTS
    )


ANTHROPIC = _messages("anthropic", "claude-sonnet-4-5", ENABLED)
ADAPTIVE_CLAUDE = _messages("adaptive-claude", "claude-sonnet-4-6", ADAPTIVE)
BOUND_CLAUDE = _messages("bound-claude", "claude-fable-5-1", ADAPTIVE)
RESPONSES = Dialect(
    "responses", "responses", "openai", "gpt-5.5", "openai", params=SUMMARY
)
ROUNDED_RESPONSES = Dialect(
    "rounded-responses", "responses", "openai", "gpt-5", "openai", params=SUMMARY
)
CHAT = Dialect("chat", "chat", "openai", "gpt-5-mini", "openai", shows_reasoning=False)
GEMINI = _gemini("gemini", "gemini-3-flash-preview")
OLDER_GEMINI = _gemini("older-gemini", "gemini-2.5-flash")
DEEPSEEK = Dialect("deepseek", "chat", "deepseek", "deepseek-reasoner", "deepseek")
XAI = Dialect("xai", "chat", "xai", "grok-4.3", "xai")
OPENROUTER = Dialect(
    "openrouter", "chat", "openrouter", "anthropic/claude-sonnet-4.5", "openrouter"
)
MOONSHOT = Dialect("moonshot", "chat", "moonshot", "kimi-k2.5", "moonshot")
MISTRAL = Dialect(
    "mistral",
    "chat",
    "mistral",
    "mistral-medium-latest",
    "mistral",
    shows_reasoning=False,
)
VLLM = Dialect("vllm", "chat", "vllm", "glm-4.7", "vllm")

FIVE = (ANTHROPIC, RESPONSES, CHAT, GEMINI, DEEPSEEK)
"""The four wires, and Chat that wants its reasoning back."""
MORE = (
    ADAPTIVE_CLAUDE,
    BOUND_CLAUDE,
    ROUNDED_RESPONSES,
    OLDER_GEMINI,
    XAI,
    OPENROUTER,
    MOONSHOT,
    MISTRAL,
    VLLM,
)


_COUNTER = counter_for()


def _bills_of(family: Family) -> dict[str, object]:
    counted = partial(_COUNTER.count, vocabulary=family.vocabulary)
    count = lru_cache(maxsize=20_000)(counted)
    text = {"count": count, "factor": 1.0, "declared": 1.0}
    if family.vocabulary not in VOCABULARIES:
        return text
    return {**text, "message": int(family.framing.user), "call": 45, "result": 12}


BILLS: Mapping[str, Mapping[str, object]] = {
    model.name: _bills_of(family)
    for model in MODELS
    if is_exact(family := family_for("", "", model.name), _COUNTER)
}
"""What a scenario's ``drawn`` says so that a model charges text in its own vocabulary, as recorded bills do, since no
factor on o200k is that of any text; and Claude so many tokens around a message, a call (n = 353) and a result (n = 96).
What a request and its tools cost stays drawn. That these numbers are theirs is measured on recorded calls
(docs/accuracy.md), and not here."""

_PATH = msgspec.Raw(
    b'{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'
)
TOOLS = (
    Tool(name="read", description="Gives the text of a file.", schema=_PATH),
    Tool(
        name="list", description="Gives the names of the files in a folder.", schema=_PATH
    ),
)
SYSTEM = (
    SystemBlock(
        text="You look after the files of a small museum. Read before you answer."
    ),
)


@dataclass(frozen=True)
class Sent:
    """One request that went out: to whom, what was repaired, the bytes, what came back raw and what we made of it."""

    dialect: Dialect
    request: Request
    repaired: Repaired
    encoded: Encoded
    received: bytes
    answer: Answer

    @property
    def body(self) -> dict[str, Any]:
        """The body as the simulator reads it."""
        body: dict[str, Any] = msgspec.json.decode(self.encoded.content)
        return body


class Refused(AssertionError):
    """A simulator refused a request."""


class Conversation:
    """A history, and the calls that made it. Call ids of the answers are those the simulators gave."""

    def __init__(
        self,
        server: Server,
        *,
        stream: bool = True,
        options: Options = PLAIN,
        stored: Callable[[Message], Message] = lambda message: message,
        system: Sequence[SystemBlock] = SYSTEM,
        tools: Sequence[Tool] = TOOLS,
    ) -> None:
        self.server = server
        self.stream = stream
        self.options = options
        self.stored = stored
        self.system, self.tools = tuple(system), tuple(tools)
        self.messages: list[Message] = []
        self.sent: list[Sent] = []
        self.http = httpx2.Client(timeout=60.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.http.close()

    def say(self, text: str) -> None:
        """A user's message."""
        name = f"m{len(self.messages)}"
        part = TextPart(id=f"{name}.0", text=text)
        self.messages.append(self.stored(Message(id=name, role="user", parts=(part,))))

    def give(self, *texts: str) -> None:
        """Results for the calls of the last answer, in order; the last text serves all that are left."""
        calls = list(self.messages[-1].of_type(ToolCallPart))
        assert calls, "the last message asks for nothing"
        name = f"m{len(self.messages)}"
        parts = tuple(
            ToolResultPart(
                id=f"{name}.{at}",
                call_id=call.call_id,
                name=call.name,
                content=(
                    TextPart(id=f"{name}.{at}.text", text=texts[min(at, len(texts) - 1)]),
                ),
            )
            for at, call in enumerate(calls)
        )
        self.messages.append(self.stored(Message(id=name, role="tool", parts=parts)))

    def request_to(self, dialect: Dialect) -> Request:
        """The next request as the words have it."""
        return Request(
            wire=dialect.wire,
            model=dialect.model,
            provider=dialect.provider,
            system=self.system,
            tools=self.tools,
            messages=tuple(self.messages),
            params=dict(dialect.params),
            stream=self.stream,
        )

    def ask(self, dialect: Dialect, *, whole: bool = True) -> Answer:
        """One model call; its answer stands in the history after it. Raises ``Refused``.

        ``whole=False`` is for a call that a fault cuts: what came of it is kept, as after a cancelled call.
        """
        request = self.request_to(dialect)
        repaired = repair(request)
        encoded = encode(repaired.request, options=self.options)
        call = f"c{len(self.sent)}"
        answer, received = self._call(dialect, request, encoded, call)
        if whole:
            assert answer.outcome == "finished", answer
        message = answer.message
        if repaired.names:
            message = _with_own_names(message, repaired.names)
        if answer.outcome != "finished":
            message = replace(message, interrupted="the connection broke")
        self.sent.append(Sent(dialect, request, repaired, encoded, received, answer))
        self.messages.append(self.stored(message))
        return answer

    def _call(
        self, dialect: Dialect, request: Request, encoded: Encoded, call: str
    ) -> tuple[Answer, bytes]:
        name = f"m{len(self.messages)}"
        headers = {**encoded.headers, "content-type": "application/json", **_key(dialect)}
        pieces: list[bytes] = []
        with self.http.stream(
            "POST",
            dialect.url(self.server, encoded.path),
            headers=headers,
            content=encoded.content,
        ) as response:
            if response.status_code != 200:
                raise Refused(
                    f"{dialect.name}: {response.status_code} {response.read().decode()}"
                )
            try:
                for piece in response.iter_raw():
                    pieces.append(piece)
            except httpx2.HTTPError:
                pass  # cut on purpose
        received = b"".join(pieces)
        if not self.stream:
            return read_answer(request, received, message_id=name, call=call), received
        decoder = decoder_for(request, message_id=name, call=call)
        reader = EventReader()
        events: list[ServerEvent] = [
            event for piece in pieces for event in reader.feed(piece)
        ] + reader.close()
        for event in events:
            decoder.feed(event)
        return decoder.finish(reader.is_whole), received


def _key(dialect: Dialect) -> dict[str, str]:
    match dialect.wire:
        case "messages":
            return {"x-api-key": "simulated"}
        case "generateContent":
            return {"x-goog-api-key": "simulated"}
    return {"authorization": "Bearer simulated"}


def _with_own_names(message: Message, names: Mapping[str, str]) -> Message:
    parts = tuple(
        replace(part, name=names.get(part.name, part.name))
        if isinstance(part, ToolCallPart)
        else part
        for part in message.parts
    )
    return replace(message, parts=parts)
