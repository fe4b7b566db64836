"""The simulators as an HTTP server on loopback: one process serves all wires, each under its own first path part."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ullage_simulators.answer import ScriptedAnswer, Spoken, speak
from ullage_simulators.answer_format import answer_schema
from ullage_simulators.body import Body
from ullage_simulators.drawn import Drawn
from ullage_simulators.faults import (
    FALSE_INPUTS,
    Fault,
    Frame,
    UsageMode,
    bend,
    false_input,
    first,
    usage_mode,
    without_cache,
)
from ullage_simulators.prompt import PromptPieces, count
from ullage_simulators.rate_limit import RateLimit
from ullage_simulators.refusal import CallRefused, Refused
from ullage_simulators.scenario import Scenario, load
from ullage_simulators.simulators import simulators
from ullage_simulators.tokenizer import tokens
from ullage_simulators.wire import (
    Bill,
    CallInProgress,
    Memory,
    Replay,
    Route,
    WireSimulator,
)

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request that was answered: what came in, and how it ended.

    ``rule`` is the rule that refused it; ``warnings`` are those that would have refused it, were the run not lenient.
    """

    number: int
    wire: str
    method: str
    path: str
    status: int
    body: Any = None
    rule: str = ""
    said: str = ""
    bill: Bill | None = None
    faults: tuple[str, ...] = ()
    warnings: tuple[Refused, ...] = ()
    at: float = field(default_factory=time.time)
    """When it was answered, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What a run knows and its clients don't: the drawn numbers by model, and the bills in order."""

    drawn: Mapping[str, Drawn]
    bills: tuple[Bill, ...]


_NO_WEBSOCKETS = {"error": {"message": "No WebSocket is served here. Send a POST."}}
"""Codex takes a 426 for the sign to use HTTP at once (https://github.com/openai/codex/issues/43353)."""
SOCKET = "WEBSOCKET"
"""The method under which a wire routes the paths that it serves over a WebSocket."""


@dataclass(slots=True)
class _Answer:
    status: int
    frames: list[Frame]
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    streams: bool = False
    begun: float = 0.0
    """When the answer began that goes on without a reader; 0 for any other."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that a wire answers, without its body. ``number`` counts those for an answer, and is 0 for others."""

    wire: WireSimulator
    endpoint: Route
    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    number: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def key(self) -> str:
        return self.wire.key(self.headers, self.query)

    def ended(self, status: int, body: Any = None, **more: Any) -> Exchange:
        """How it was answered."""
        return Exchange(
            self.number, self.wire.name, self.method, self.path, status, body, **more
        )


class App:
    """The ASGI application. ``on_exchange`` is called after each request, on the server's thread."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        wires: Mapping[str, tuple[WireSimulator, ...]],
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.memory = Memory(scenario, seed)
        self.wires = wires
        self.exchanges: list[Exchange] = []
        self._on_exchange = on_exchange
        self._rate_limits: dict[tuple[str, str, str], RateLimit] = {}
        self._closing = asyncio.Event()

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        from starlette.requests import ClientDisconnect, Request

        if scope["type"] == "websocket":
            await self._converse(scope, receive, send)
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        if request.headers.get("upgrade", "").lower() == "websocket":
            await _send(send, _Answer(426, [_body(_NO_WEBSOCKETS)]))
            return
        path = request.url.path
        headers, query = request.headers, request.query_params
        routed = self._route(request.method, path, headers, query)
        if routed is None:
            missing = {"error": {"message": f"No simulator serves {path}."}}
            await _send(send, _Answer(404, [_body(missing)]))
            return
        asked = self._numbered(routed)
        try:
            raw = await request.body()
        except (
            ClientDisconnect
        ):  # in the middle of its request: no one waits for an answer
            return
        exchange, answer = self._answer(asked, raw)
        self._record(exchange)
        await self._deliver(send, answer, asked.faults)

    def _numbered(self, asked: _Asked) -> _Asked:
        """A request for an answer with its number and its faults."""
        if asked.endpoint.kind != "generate":
            return asked
        self.memory.requests += 1
        number = self.memory.requests
        faults = self.memory.scenario.faults
        applied = tuple(fault for fault in faults if fault.applies(number, asked.path))
        return replace(asked, number=number, faults=applied)

    def _record(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        if self._on_exchange:
            self._on_exchange(exchange)

    async def _converse(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer the messages of a WebSocket one after the other, each event as a message."""
        from starlette.responses import JSONResponse
        from starlette.websockets import WebSocket

        connection = WebSocket(scope, receive, send)
        path = connection.url.path
        routed = self._route(SOCKET, path, connection.headers, connection.query_params)
        if routed is None:
            await connection.send_denial_response(JSONResponse(_NO_WEBSOCKETS, 426))
            return
        try:
            self._admit(routed, b"")
        except CallRefused as refusal:
            shown = JSONResponse(
                routed.wire.error(refusal.refused), refusal.refused.status
            )
            await connection.send_denial_response(shown)
            return
        await connection.accept()
        async for text in connection.iter_text():
            asked = self._numbered(routed)
            exchange, answer = self._answer(asked, text.encode())
            self._record(exchange)
            end = first(asked.faults, "cut", "hang", "reset")
            messages = self._paced(_messages(exchange, answer), asked.faults)
            if end is not None:
                messages = _until(messages, end.at)
            async for message in messages:
                await connection.send_text(message.decode("utf-8", "replace"))
            if end is not None:
                await self._break_off(send, end)
                return

    def _route(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        query: Mapping[str, str],
    ) -> _Asked | None:
        name, _, rest = path.lstrip("/").partition("/")
        for wire in self.wires.get(name, ()):
            endpoint = wire.route(method, f"/{rest}", query)
            if endpoint and endpoint.kind == "count" and not self.memory.scenario.counts:
                return None
            if endpoint:
                return _Asked(wire, endpoint, method, path, headers, query)
        return None

    def truth(self) -> Truth:
        bills = tuple(exchange.bill for exchange in self.exchanges if exchange.bill)
        return Truth(dict(self.memory.drawn), bills)

    def close(self) -> None:
        """Let go of all requests that hang. Call it on the server's own loop."""
        self._closing.set()

    def _answer(self, asked: _Asked, raw: bytes) -> tuple[Exchange, _Answer]:
        wire, endpoint = asked.wire, asked.endpoint
        kinds = tuple(fault.kind for fault in asked.faults)
        trouble = first(asked.faults, "status")
        if trouble:
            refused = wire.trouble(trouble.status)
            wait = trouble.retry_after_s
            more = {} if wait is None else {"retry-after": f"{wait:g}"}
            exchange = asked.ended(trouble.status, said=refused.text, faults=kinds)
            return exchange, _Answer(
                trouble.status, [_body(wire.error(refused))], headers=more
            )
        body: Any = None
        stream = False
        warnings: list[Refused] = []
        if endpoint.kind == "hello":
            return asked.ended(200), _Answer(200, [_body({"message": "hello"})])
        try:
            self._admit(asked, raw)
            if endpoint.kind == "models":
                return asked.ended(200), self._models(wire, endpoint)
            body = (
                wire.read(raw or b"{}") if endpoint.kind == "stored" else wire.read(raw)
            )
            if endpoint.kind == "stored":
                with _well_formed(wire):
                    kept = wire.stored(self.memory, endpoint, asked.query, body)
                accepted = asked.ended(200, body)
                if isinstance(kept, Replay):
                    kind = wire.content_type
                    return accepted, _Answer(200, kept.frames, kind, {}, True, kept.begun)
                return accepted, _Answer(200, [_body(kept)])
            stream = endpoint.kind == "generate" and wire.wants_stream(body, endpoint)
            call = self._call(asked, body, stream)
            warnings = call.warnings
            limit = self._rate_limit(asked, call)
            if endpoint.kind == "generate" and (wait_s := limit.take()) is not None:
                refused = wire.trouble(429)
                exchange = asked.ended(429, said=refused.text)
                shown = limit.headers(wire.name, wait_s)
                return exchange, _Answer(429, [_body(wire.error(refused))], headers=shown)
            if endpoint.kind in ("count", "keep"):
                counted = count(
                    _understood(wire, call), call.model, call.drawn, stream=False
                )
                accepted = asked.ended(200, body)
                answer = _Answer(200, [_body(wire.count_reply(call, counted))])
            else:
                bill, answer = self._generate(wire, call, asked.faults)
                limit.spend(bill.input - bill.cache_read)
                answer.headers |= limit.headers(wire.name, None)
                accepted = asked.ended(200, body, bill=bill, faults=kinds)
            return replace(accepted, warnings=tuple(warnings)), answer
        except CallRefused as refusal:
            refused = refusal.refused
        exchange = asked.ended(
            refused.status,
            body,
            rule=refused.name,
            said=refused.text,
            warnings=tuple(warnings),
        )
        frames = wire.refusal_in_stream(refused) if stream else None
        if frames:
            return exchange, _Answer(200, frames, wire.content_type, streams=True)
        return exchange, _Answer(refused.status, [_body(wire.error(refused))])

    def _rate_limit(self, asked: _Asked, call: CallInProgress) -> RateLimit:
        of = (asked.wire.name, asked.key, call.model.name)
        if of not in self._rate_limits:
            scenario = self.memory.scenario
            limits = scenario.requests_per_minute, scenario.tokens_per_minute
            self._rate_limits[of] = RateLimit(*limits, time.time)
        return self._rate_limits[of]

    def _admit(self, asked: _Asked, raw: bytes) -> None:
        wire, key, wanted = asked.wire, asked.key, self.memory.scenario.key
        limit = self.memory.scenario.max_body_bytes or wire.max_body_bytes
        if len(raw) > limit:
            raise wire.refuse("body_too_large", limit=limit, size=len(raw))
        if not key:
            raise wire.refuse("key_missing")
        if wanted and key != wanted:
            raise wire.refuse(
                "key_wrong", key=f"{key[:4]}{'*' * max(len(key) - 8, 4)}{key[-4:]}"
            )

    def _models(
        self,
        wire: WireSimulator,
        endpoint: Route,
    ) -> _Answer:
        scenario, name = self.memory.scenario, endpoint.model
        models = [model for model in scenario.models if model.family == wire.family]
        if name:
            found = scenario.model(name, wire.family)
            if found is None:
                raise wire.refuse("model_unknown", model=name)
            models = [replace(found, name=name)]
        return _Answer(200, [_body(wire.models_reply(models, name))])

    def _call(self, asked: _Asked, body: Body, stream: bool) -> CallInProgress:
        wire = asked.wire
        name = wire.named_model(body, asked.endpoint)
        model = self.memory.scenario.model(name, wire.family)
        if model is None:
            raise wire.refuse("model_unknown", model=name)
        return CallInProgress(
            self.memory,
            asked.endpoint,
            asked.headers,
            body,
            model,
            self.memory.numbers(model),
            stream,
            asked.number,
            name,
        )

    def _generate(
        self, wire: WireSimulator, call: CallInProgress, faults: tuple[Fault, ...]
    ) -> tuple[Bill, _Answer]:
        prompt = _understood(wire, call)
        counted = count(prompt, call.model, call.drawn, stream=call.stream)
        wire.fit(call, counted)
        asked = replace(prompt.ask, pieces=prompt.pieces)
        if call.body.get("generate") is False:
            answer = ScriptedAnswer()
        else:
            answer = self.memory.scenario.answer(
                asked, call.model_name, self.memory.spent
            )
        thinks = wire.thinks(call)
        if (
            thinks
            and not answer.reasoning
            and not prompt.ask.results
            and "manual-thinking" in call.model.traits
        ):
            answer = replace(
                answer, reasoning="So."
            )  # such a model always begins a turn by thinking
        spoken = speak(
            answer, call.model, call.drawn, budget=wire.budget(call), thinks=thinks
        )
        read, written = wire.cached(call, counted)
        more_passes = (spoken.answer.iterations - 1) * wire.pass_size(call)
        bill = Bill(
            call.number,
            wire.name,
            call.model.name,
            counted.input + more_passes,
            read,
            written,
            spoken.output,
            spoken.reasoning,
            counted.kept,
            counted.dropped,
            call.stream,
            spoken.stop,
        )
        mode = usage_mode(faults)
        usage = _shown(_usage(wire, call, bill, spoken, faults), mode)
        bill = replace(bill, usage=usage)
        if not call.stream:
            return bill, _Answer(
                200, bend([_body(wire.reply(call, spoken, usage))], faults, wire.unknown)
            )
        call.bills_late = mode == "late"
        frames = wire.frames(call, spoken, usage)
        kind = wire.content_type if call.endpoint.sse else "application/json"
        return bill, _Answer(200, bend(frames, faults, wire.unknown), kind, streams=True)

    async def _deliver(
        self, send: Send, answer: _Answer, faults: tuple[Fault, ...]
    ) -> None:
        if first(faults, "content-type"):
            page = Frame(
                b"<!doctype html><title>Sign in</title><p>Please sign in to use this network.</p>"
            )
            answer = _Answer(200, [page], "text/html; charset=utf-8")
        parts = self._paced(answer, faults)
        end = first(faults, "cut", "hang", "reset")
        if end is None:
            await _send(send, answer, parts)
            return
        await _send(send, answer, _until(parts, end.at), whole=False)
        await self._break_off(send, end)

    async def _paced(
        self, answer: _Answer, faults: tuple[Fault, ...]
    ) -> AsyncIterator[bytes]:
        """The parts of an answer, each after its pause."""
        slow, late = first(faults, "slow"), first(faults, "late-usage")
        delay = 0.0
        if slow:
            delay = slow.seconds
        elif answer.streams:
            delay = self.memory.scenario.delay_s
        for number, frame in enumerate(answer.frames, 1):
            wait = delay
            if answer.begun:
                wait = answer.begun + delay * number - time.monotonic()
            if late and frame.usage:
                wait += late.seconds
            if wait > 0:
                await self._pause(wait)
            yield frame.data

    async def _break_off(
        self,
        send: Send,
        end: Fault,
    ) -> None:
        if end.kind == "hang":
            await self._pause(end.seconds or 3_600.0)
        _drop(send, reset=end.kind == "reset")

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return


@contextmanager
def _well_formed(wire: WireSimulator) -> Iterator[None]:
    """Refuses a field whose type is not the documented one: the checks take each to be of its own."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as problem:
        raise wire.refuse("malformed") from problem


def _understood(wire: WireSimulator, call: CallInProgress) -> PromptPieces:
    """The request in pieces, after all checks."""
    with _well_formed(wire):
        wire.check(call)
        wire.thinks(call)
        prompt = wire.prompt(call)
        asked = answer_schema(call.body)
        if asked is not None:
            prompt.add_answer_schema(asked)
        return prompt


def _usage(
    wire: WireSimulator,
    call: CallInProgress,
    bill: Bill,
    spoken: Spoken,
    faults: tuple[Fault, ...],
) -> Body:
    """The usage object, under a fault that falsifies it with the input that the fault shows."""
    earlier = call.memory.inputs
    fault = first(faults, *FALSE_INPUTS)
    if fault is None:
        shown = wire.usage(call, bill, spoken)
    else:
        wrong: Any = false_input(fault.kind, bill.input, earlier)
        falsified = replace(bill, input=wrong, cache_read=0, cache_write=0)
        shown = without_cache(wire.usage(call, falsified, spoken))
    earlier.append(bill.input)
    return shown


def _body(value: Any) -> Frame:
    return Frame(json.dumps(value, separators=(",", ":")).encode(), usage=True)


def _messages(exchange: Exchange, answer: _Answer) -> _Answer:
    """The events of an answer as messages of a WebSocket, or its error as one; each names its lane.

    https://developers.openai.com/api/docs/guides/websocket-mode; openai 3.52 ``responses_server_event.py``.
    """
    lane = ""
    if isinstance(exchange.body, dict) and "stream_id" in exchange.body:
        lane = f'"stream_id":{json.dumps(exchange.body["stream_id"])},'
    texts = []
    for frame in answer.frames:
        head, found, text = frame.data.decode().partition("data: ")
        texts.append(text.strip() if found else head)
    if not answer.streams:
        shown = {"type": "error", "status": answer.status, "headers": answer.headers}
        texts = [json.dumps({**shown, **json.loads(texts[0])})]
    frames = []
    for frame, text in zip(answer.frames, texts, strict=True):
        if text.startswith("{"):
            frames.append(frame._replace(data=f"{{{lane}{text[1:]}".encode()))
    return replace(answer, frames=frames)


def _shown(usage: Body, mode: UsageMode) -> Body | None:
    if mode == "none":
        return None
    if mode != "zero":
        return usage
    zeroed: Body = _zeroed(usage)
    return zeroed


def _zeroed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _zeroed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_zeroed(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return 0
    return value


async def _until(parts: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    left = size
    async for part in parts:
        if left <= 0:
            return
        yield part[:left]
        left -= len(part)


async def _send(
    send: Send,
    answer: _Answer,
    parts: AsyncIterator[bytes] | None = None,
    *,
    whole: bool = True,
) -> None:
    headers = {
        "content-type": answer.content_type,
        "request-id": "req_simulated",
        "x-request-id": "req_simulated",
    }
    if not answer.streams:
        headers["content-length"] = str(sum(len(frame.data) for frame in answer.frames))
    headers |= answer.headers
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send(
        {"type": "http.response.start", "status": answer.status, "headers": encoded}
    )
    if parts is None:
        await send(
            {
                "type": "http.response.body",
                "body": b"".join(frame.data for frame in answer.frames),
            }
        )
        return
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    if whole:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _drop(send: Send, *, reset: bool) -> None:
    """Close the connection in the middle of an answer; ``reset``: with an RST instead of a FIN.

    ASGI has no word for this. The ``send`` that uvicorn hands to the outermost application is a method of its own
    request cycle, which knows the transport.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionAbortedError("the answer is cut here")
    if reset:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        transport.abort()
    else:
        transport.close()


class Server:
    """A running server. Made by ``running``; ``port`` is its port on 127.0.0.1."""

    def __init__(
        self,
        app: App,
        port: int,
    ) -> None:
        self.app = app
        self.port = port

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Every request so far, in the order they came."""
        return tuple(self.app.exchanges)

    def forget_caches(self) -> None:
        """Empty the prompt caches: what a pause does that is longer than they live."""
        self.app.memory.caches.clear()

    def forget_threads(self) -> None:
        """Delete the conversations that the provider holds: what a pause does that is longer than they live."""
        self.app.memory.threads.clear()

    def truth(self) -> Truth:
        """The drawn numbers and the true bills: what the client under test is to be measured against."""
        return self.app.truth()

    def url(self, wire: str) -> str:
        """The base URL to give to a client of the wire. Raises ``KeyError`` for a wire that is not served."""
        return f"http://127.0.0.1:{self.port}/{wire}{self.app.wires[wire][0].base_path()}"

    @property
    def urls(self) -> dict[str, str]:
        """The base URL of each wire."""
        return {wire: self.url(wire) for wire in self.app.wires}


def prepared(
    scenario: Scenario | str | None = None,
    *,
    seed: int = 0,
    wires: Sequence[str] = (),
    lenient: bool = False,
    on_exchange: Callable[[Exchange], None] | None = None,
) -> App:
    """The application of a scenario, or of a scenario file; ``lenient`` as in the scenario."""
    tokens("ready")  # loads the vocabulary before the first request
    given = load(scenario) if isinstance(scenario, str) else scenario or Scenario()
    if lenient:
        given = replace(given, lenient=True)
    served = {
        name: of_name
        for name, of_name in simulators().items()
        if not wires or name in wires
    }
    return App(given, seed, served, on_exchange)


def listener(port: int = 0) -> socket.socket:
    """A socket on 127.0.0.1; port 0 takes a free one. Raises ``OSError`` where the port is taken."""
    # The protocol is named because asyncio sends small pieces at once only on sockets that say they are TCP.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(
            128
        )  # from here on a client may connect, and is answered when the engine runs
    except OSError:
        listening.close()
        raise
    return listening


def engine(app: App) -> uvicorn.Server:
    """The HTTP server, to be run on a socket of ``listener``."""
    import uvicorn

    class Engine(uvicorn.Server):
        """Starts and ends within 0.03 s, where uvicorn takes 0.2 s: tests start one server each."""

        async def main_loop(self) -> None:
            ticks = 0
            while not self.should_exit:
                if ticks % 5 == 0:
                    await self.on_tick(ticks // 5)
                ticks += 1
                await asyncio.sleep(0.02)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.close()
            for server in self.servers:
                server.close()
            for connection in list(self.server_state.connections):
                connection.shutdown()
            waited_until = time.monotonic() + 1
            while self.server_state.connections and time.monotonic() < waited_until:
                await asyncio.sleep(0.005)

    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        log_level="error",  # no advice on WebSockets at each request for one
        access_log=False,
        timeout_keep_alive=75,  # longer than any client keeps one: 5 s is what httpx takes, and the two would race
        ws="auto",  # none without the package of the extra
        http="h11",
    )
    return Engine(config)


@contextmanager
def running(
    scenario: Scenario | str | None = None,
    *,
    seed: int = 0,
    wires: Sequence[str] = (),
    port: int = 0,
    lenient: bool = False,
) -> Iterator[Server]:
    """A server in a thread of its own, for the time of the ``with`` block. Several may run at once.

    ``scenario`` is a ``Scenario`` or a file's path; ``wires`` limits what is served; ``lenient`` is that of the
    scenario. Raises ``SimulatorError``, and ``OSError`` where the port is taken.
    """
    app = prepared(scenario, seed=seed, wires=wires, lenient=lenient)
    listening = listener(port)
    server = engine(app)
    thread = threading.Thread(
        target=server.run, args=([listening],), name="ullage-simulators", daemon=True
    )
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.005)
        yield Server(app, listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
