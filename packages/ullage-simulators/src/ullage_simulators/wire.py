"""What every simulator has to say for its wire, and the call it says it about."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from ullage_simulators.answer import Spoken
from ullage_simulators.body import Body
from ullage_simulators.drawn import Drawn, draw
from ullage_simulators.faults import Frame
from ullage_simulators.models import Model
from ullage_simulators.prompt import InputCount, PrefixCache, PromptPieces
from ullage_simulators.refusal import CallRefused, Refused, Rule, refuse
from ullage_simulators.scenario import Scenario

_ESCAPE = re.compile(rb"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


class Route(NamedTuple):
    """What a path asks for; ``model`` and ``stream`` where the path says them. Not ``sse``: a JSON array instead.
    ``hello``: whether the server is there; a client asks it before its first request.

    ``compact``: a compaction of the conversation and no answer. ``stored``: what the provider keeps, named by
    ``method`` and ``parts`` of the path. ``keep``: to keep contents and say how large they are. ``local`` is what it
    keeps for one connection.
    """

    kind: Literal["generate", "count", "models", "hello", "stored", "keep"]
    model: str = ""
    stream: bool = False
    sse: bool = True
    compact: bool = False
    method: str = ""
    parts: tuple[str, ...] = ()
    local: Body | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """The truth about one answered request, in tokens. ``usage`` is what was shown of it, ``None`` for nothing.

    ``input`` is the whole input of the last sampling pass, cache included; ``output`` includes ``reasoning``, which is
    exact here whatever the wire rounds it to. ``kept`` and ``dropped`` are earlier reasoning that the input counts, or
    would without the model's rules.
    """

    number: int
    wire: str
    model: str
    input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int
    kept: int
    dropped: int
    stream: bool = False
    stop: str = ""
    usage: Body | None = None


@dataclass(slots=True)
class Memory:
    """What a run remembers from call to call."""

    scenario: Scenario
    seed: int
    requests: int = 0
    spent: dict[int, int] = field(default_factory=dict)
    drawn: dict[str, Drawn] = field(default_factory=dict)
    caches: dict[str, PrefixCache] = field(default_factory=dict)
    items: Body = field(default_factory=dict)
    threads: Body = field(default_factory=dict)
    """Conversations that a provider holds, by the id of their last response."""
    names: int = 0
    inputs: list[int] = field(default_factory=list)
    """The true inputs of all calls so far."""

    def numbers(self, model: Model) -> Drawn:
        if model.name not in self.drawn:
            self.drawn[model.name] = draw(self.seed, model, self.scenario.drawn)
        return self.drawn[model.name]

    def cache(self, model: Model) -> PrefixCache:
        return self.caches.setdefault(model.name, PrefixCache())

    def new_id(self, prefix: str, length: int = 24) -> str:
        """An id no other of this run equals, and no other run's of another seed."""
        self.names += 1
        tail = f"{self.seed & 0xFFFFFF:06x}{self.names:06x}"
        return prefix + tail.rjust(length, "0")[-length:]


@dataclass(slots=True)
class CallInProgress:
    """One request on its way through a simulator."""

    memory: Memory
    endpoint: Route
    headers: Mapping[str, str]
    body: Body
    model: Model
    drawn: Drawn
    stream: bool
    number: int = 0
    model_name: str = ""
    """The model's name as the request has it. The answer repeats it, although OpenAI may answer the name of a dated
    snapshot (https://developers.openai.com/api/docs/models): a client compares it with the name it asked for."""
    dropped: list[Body] = field(default_factory=list)
    conversation: list[Body] = field(default_factory=list)
    """The messages of the request behind those that the provider holds, before any reasoning is taken out."""
    last_thinking: str = ""
    """The id of the last reasoning in the request that the model may rely on."""
    applied: list[Body] | None = None
    """What was cleared of the request before the model read it; ``None`` where nothing of the kind was asked for."""
    uncleared: int = 0
    """Its input before that."""
    room: int | None = None
    """Tokens that the window leaves for the answer; ``None`` where the wire does not look at them."""
    bills_late: bool = False
    """The bill comes with the last event of the stream that can hold it, and nowhere before."""
    warnings: list[Refused] = field(default_factory=list)
    """The refusals that a lenient run leaves out."""

    def refuse_or_warn(self, refusal: CallRefused) -> None:
        """Raises the refusal. In a lenient run, one by an assumed rule becomes a warning, and the call continues."""
        is_assumed = refusal.refused.confidence == "assumed"
        if not (is_assumed and self.memory.scenario.lenient):
            raise refusal
        self.warn(refusal)

    def warn(self, refusal: CallRefused) -> None:
        """Notes a refusal that the run leaves out."""
        if refusal.refused not in self.warnings:
            self.warnings.append(refusal.refused)


class Replay(NamedTuple):
    """Events of an answer that goes on without a reader: one each delay from ``begun`` on, by the monotonic clock."""

    frames: list[Frame]
    begun: float


class Trouble(NamedTuple):
    """What a provider says of a failure of its own."""

    text: str
    kind: str
    code: str | None = None


class WireSimulator(ABC):
    """One provider's simulator. ``name`` is the first part of its paths, ``family`` that of its models."""

    name: str
    family: ClassVar[str]
    rules: Mapping[str, Rule]
    max_body_bytes: int
    key_header: ClassVar[str] = "api-key"
    """Has the API key; ``Authorization`` has it without this header."""
    content_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    unknown: ClassVar[Frame]
    no_object: ClassVar[str] = ""
    """What the provider says of a body that is JSON and no object."""
    model_missing: ClassVar[str] = "param_missing"
    """The rule for a request without a model."""
    troubles: ClassVar[Mapping[int, Trouble]]
    """By status; 500 is for every other one too."""
    cache_block: int = 1
    """Tokens: the cache holds prefixes in whole blocks."""

    def refuse(self, rule: str, /, **gaps: object) -> CallRefused:
        return refuse(self.rules, rule, **gaps)

    def base_path(self) -> str:
        """What a client's base URL ends in."""
        return ""

    @abstractmethod
    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        """What the path (without the wire's name) asks for; ``None`` if it is none of the wire's."""

    def key(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """The API key of a request; empty without one."""
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        return headers.get(self.key_header, "") or bearer

    def read(self, body: bytes) -> Body:
        """The request's object, or a refusal."""
        try:
            value = parse(body)
        except BadBody as problem:
            raise self.refuse("bad_json", detail=problem) from None
        if not isinstance(value, dict):
            raise self.refuse("bad_json", detail=self.no_object)
        return value

    def named_model(self, body: Body, endpoint: Route) -> str:
        """The model's name in a request, or a refusal where it is missing."""
        name = body.get("model")
        if not isinstance(name, str):
            raise self.refuse(self.model_missing, path="model")
        return name

    def wants_stream(self, body: Body, endpoint: Route) -> bool:
        return endpoint.stream or body.get("stream") is True

    def stored(
        self,
        memory: Memory,
        endpoint: Route,
        query: Mapping[str, str],
        body: Body,
    ) -> Body | Replay:
        """Shows or changes what the provider keeps."""
        raise LookupError(f"{type(self).__name__} keeps nothing.")

    @abstractmethod
    def check(self, call: CallInProgress) -> None:
        """Refuses what the provider refuses in the request's shape and history. May complete ``call.body``."""

    @abstractmethod
    def prompt(self, call: CallInProgress) -> PromptPieces:
        """The request in pieces."""

    def fit(self, call: CallInProgress, counted: InputCount) -> None:
        """Refuses what doesn't fit into the window."""
        window = call.model.window
        if counted.input > window:
            raise self.refuse("too_many_tokens", count=counted.input, window=window)

    @abstractmethod
    def budget(self, call: CallInProgress) -> int | None:
        """The output tokens that were asked for at most."""

    @abstractmethod
    def thinks(self, call: CallInProgress) -> bool: ...

    def cached(self, call: CallInProgress, counted: InputCount) -> tuple[int, int]:
        """Tokens read from the cache and written to it, as far as the bill says them; remembers the prefixes."""
        cache = call.memory.cache(call.model)
        read = cache.read(counted, at_least=call.model.cache_from, block=self.cache_block)
        cache.write(counted)
        return read, 0

    def pass_size(self, call: CallInProgress) -> int:
        """Tokens that each sampling pass after the first adds to the input: what the provider's own tools gave."""
        return call.drawn.result * 10

    @abstractmethod
    def usage(self, call: CallInProgress, bill: Bill, spoken: Spoken) -> Body:
        """The bill in the wire's own words."""

    @abstractmethod
    def reply(self, call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body: ...

    @abstractmethod
    def frames(
        self, call: CallInProgress, spoken: Spoken, usage: Body | None
    ) -> list[Frame]:
        """The answer as a stream."""

    def count_reply(self, call: CallInProgress, counted: InputCount) -> Body:
        return {"input_tokens": counted.input}

    @abstractmethod
    def models_reply(self, models: Sequence[Model], name: str) -> Body:
        """The list of models, or the one of that name."""

    @abstractmethod
    def error(self, refused: Refused) -> Body:
        """The wire's error object."""

    def trouble(self, status: int) -> Refused:
        """What the provider says when it is not the request's fault: 429 and 5xx."""
        said = self.troubles.get(status, self.troubles[500])
        return Refused("trouble", said.text, status, said.kind, said.code, None)

    def refusal_in_stream(self, refused: Refused) -> list[Frame] | None:
        """The refusal as a stream that began well, where the provider answers so; ``None``: as an HTTP error."""
        return None


def event(data: Any, name: str = "", *, usage: bool = False) -> Frame:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return Frame(
        f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode(), usage
    )


def chunks(text: str, size: int) -> list[str]:
    """The text in pieces of ``size`` characters; one empty piece for no text is left out."""
    return [text[at : at + size] for at in range(0, len(text), size)]


# -- bodies, read as strictly as the providers' parsers do --


def last_index(messages: Sequence[Body], is_wanted: Callable[[Body], bool]) -> int:
    """Where the last such message is; -1 if there is none."""
    last = -1
    for index, message in enumerate(messages):
        if is_wanted(message):
            last = index
    return last


class BadBody(ValueError):
    """A body that is no JSON, or no valid Unicode; the message is orjson's, which Anthropic passes on."""


def parse(body: bytes) -> Any:
    """The body's JSON value. Raises ``BadBody`` for bad JSON, invalid UTF-8 and lone surrogates."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadBody(
            "str is not valid UTF-8: surrogates not allowed: line 1 column 1 (char 0)"
        ) from None
    _refuse_lone_surrogates(body)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno} column {problem.colno} (char {problem.pos})"
        raise BadBody(f"{problem.msg[0].lower()}{problem.msg[1:]}: {where}") from None
    except RecursionError:
        raise BadBody("recursion limit reached: line 1 column 1 (char 0)") from None
    except BadBody:
        raise
    except ValueError:  # more digits than Python turns into a number
        raise BadBody("number out of range: line 1 column 1 (char 0)") from None


def _refuse_constant(name: str) -> None:
    raise BadBody(f"unexpected character: line 1 column 1 (char 0): {name}")


def _refuse_lone_surrogates(body: bytes) -> None:
    high_until = -1
    for match in _ESCAPE.finditer(body):
        code = int(match[1][1:], 16) if match[1][:1] == b"u" and len(match[1]) == 5 else 0
        if high_until >= 0:
            if match.start() == high_until and 0xDC00 <= code < 0xE000:
                high_until = -1
                continue
            raise BadBody(_at("no low surrogate in string", high_until))
        if 0xD800 <= code < 0xDC00:
            high_until = match.end()
        elif 0xDC00 <= code < 0xE000:
            raise BadBody(_at("invalid high surrogate in string", match.start()))
    if high_until >= 0:
        raise BadBody(_at("no low surrogate in string", high_until))


def _at(what: str, position: int) -> str:
    return f"{what}: line 1 column {position + 1} (char {position})"
