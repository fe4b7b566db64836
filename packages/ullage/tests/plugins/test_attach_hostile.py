"""What a hostile provider, a careless program or a broken meter does to an attached client: nothing that it can see."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai

import ullage
from tests.plugins.sdk_users import ASKED, GPT, PARSERS, converse, openai_client
from ullage.bounds import ANSWER_AT_MOST
from ullage.errors import WrongType
from ullage.events import CallEnded, Event
from ullage.plugins.attach import attach, detach
from ullage_simulators import Scenario, running
from ullage_simulators.scenario import read

HELLO: Any = {"role": "user", "content": "hello there"}
USAGE: Any = {"stream_options": {"include_usage": True}}
STREAM = "text/event-stream"


class Ended:
    """A meter and how its calls ended."""

    def __init__(self, model: str = GPT) -> None:
        self.calls: list[CallEnded] = []
        self.meter = ullage.Meter(model, on_event=self._note)

    def _note(self, event: Event) -> None:
        if isinstance(event, CallEnded):
            self.calls.append(event)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        return [(one.purpose, one.outcome) for one in self.calls]

    @property
    def inputs(self) -> list[int]:
        return [one.usage.input or 0 for one in self.calls if one.usage is not None]


@contextmanager
def answering(kind: str, pieces: Callable[[int], Iterator[bytes]]) -> Iterator[str]:
    """A server that answers its n-th request with ``pieces(n)``; gives its address."""
    count = 0

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            nonlocal count
            number, count = (
                count,
                count + 1,
            )  # first: a client that gives up asks again at once
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()
            for piece in pieces(number):
                self.wfile.write(piece)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def openai_at(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="any", max_retries=0)


GARBAGE = (
    b"data: {\n\n",
    b"data: [1, 2]\n\n",
    b"\xff\xfe\x00",
    b"data: " + b"[" * 100_000 + b"\n\n",
    b'data: {"choices": 5}\n\n',
    b"event: error\ndata: {}\n\n",
    b'data: {"choices": [], "usage": {"prompt_tokens": -5, "completion_tokens": "x"}}\n\n',
    b"data: NaN\n\n",
)


def read_garbage(client: openai.OpenAI) -> list[object]:
    """What a program gets of each: pieces, or the name of an error."""
    found: list[object] = []
    for _ in GARBAGE:
        try:
            stream = client.chat.completions.create(
                model=GPT, messages=[HELLO], stream=True
            )
            found.append(len(list(stream)))
        except Exception as error:  # noqa: BLE001 - the SDK decides which
            found.append(type(error).__name__)
    return found


def test_garbage_reaches_the_program_as_it_does_without_ullage() -> None:
    ended = Ended()
    with answering(STREAM, lambda n: iter([GARBAGE[n % len(GARBAGE)]])) as url:
        plain = read_garbage(openai_at(url))
        followed = read_garbage(attach(openai_at(url), ended.meter))
    assert followed == plain
    assert len(ended.calls) == len(GARBAGE)
    assert "finished" not in {one.outcome for one in ended.calls}
    assert ended.meter.reading().used.tokens >= 0


def test_a_too_long_answer_is_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    ended = Ended()
    delta = {"index": 0, "delta": {"content": "y" * 1_000_000}}
    chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [delta]}
    piece = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    number = ANSWER_AT_MOST // len(piece) + 2
    with answering(STREAM, lambda n: iter([piece] * number)) as url:
        client = attach(openai_at(url), ended.meter)
        stream = client.chat.completions.create(model=GPT, messages=[HELLO], stream=True)
        assert len(list(stream)) == number
    assert len(ended.calls) == 1
    assert ended.meter.reading().used.tokens < 1_000
    assert caplog.text.count("longer than what is read") == 1


def test_eight_threads_on_one_client_are_all_counted() -> None:
    ended = Ended()
    errors: list[Exception] = []
    with running(seed=15) as server:
        client = attach(openai_client(server), ended.meter)

        def talk(number: int) -> None:
            history: list[Any] = [HELLO]
            try:
                for turn in range(6):
                    said = f"{number}, {turn}: " + "casks " * 50
                    history.append({"role": "user", "content": said})
                    stream = client.chat.completions.create(
                        model=GPT, messages=history, stream=True, **USAGE
                    )
                    texts = [
                        one.choices[0].delta.content or ""
                        for one in stream
                        if one.choices
                    ]
                    history.append({"role": "assistant", "content": "".join(texts)})
            except Exception as error:  # noqa: BLE001 - whatever breaks the program
                errors.append(error)

        threads = [threading.Thread(target=talk, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bills = [bill.input for bill in server.truth().bills]
    assert errors == []
    assert sorted(ended.inputs) == sorted(bills)
    assert len(bills) == 48


def test_two_hundred_streams_that_are_left_half_way_all_end() -> None:
    ended = Ended()
    kept: list[Any] = []
    with running(Scenario(answers=(), chunk=4), seed=15) as server:
        client = attach(openai_client(server), ended.meter)
        for number in range(200):
            asked: Any = [{"role": "user", "content": f"{number % 7}: hello"}]
            stream = client.chat.completions.create(
                model=GPT, messages=asked, stream=True
            )
            next(iter(stream))
            if number % 3 == 0:
                stream.close()
            elif number % 3 == 1:
                kept.append(stream)
        del stream
        kept.clear()
        gc.collect()
        client.chat.completions.create(model=GPT, messages=[HELLO])
    assert len(ended.calls) == 201
    assert {outcome for _, outcome in ended.outcomes[:200]} == {"cancelled"}
    assert ended.outcomes[200][1] == "finished"


def test_a_question_whose_answer_was_left_may_be_asked_again() -> None:
    ended = Ended()
    with running(Scenario(answers=(), chunk=4), seed=15) as server:
        client = attach(openai_client(server), ended.meter)
        for _ in range(4):
            stream = client.chat.completions.create(
                model=GPT, messages=[HELLO], stream=True
            )
            next(iter(stream))
            stream.close()
        client.chat.completions.create(model=GPT, messages=[HELLO])
    assert ended.outcomes == [("main", "cancelled")] * 4 + [("main", "finished")]


BROKEN = """
import sys, openai, ullage

class Broken(ullage.Meter):
    def before(self, *given, **more):
        raise RuntimeError("a fault")

def make(name):
    raise RuntimeError("a fault")

for follower in (Broken("gpt-4.1"), make, lambda name: None, lambda: 5):
    client = openai.OpenAI(base_url=sys.argv[1], api_key="any", max_retries=0)
    ullage.attach(client, follower)
    for _ in range(2):
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": "hello"}])
"""


def test_a_meter_that_raises_breaks_no_call_and_prints_nothing() -> None:
    with running(seed=15) as server:
        done = subprocess.run(
            [sys.executable, "-c", BROKEN, server.url("openai")],
            capture_output=True,
            text=True,
            check=False,
        )
        calls = len(server.truth().bills)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert calls == 8


# -- answers of a type, and clients that are refused --


TYPED = read({"answers": [{"text": '{"name": "Rhine"}'}]})


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_calls_that_parse_their_answer_are_counted(name: str) -> None:
    user = PARSERS[name]
    ended = Ended(user.model)
    with running(TYPED, seed=15) as server:
        client = attach(user.client(server), ended.meter)
        asyncio.run(converse(client, user.say))
        bills = [bill.input for bill in server.truth().bills]
    assert ended.outcomes == [("main", "finished")] * len(ASKED)
    assert ended.inputs == bills


@pytest.mark.parametrize("name", ["AnthropicVertex", "AnthropicBedrock"])
def test_clients_of_other_clouds_are_refused(name: str) -> None:
    given = {
        "AnthropicVertex": {"region": "x", "project_id": "x", "access_token": "x"},
        "AnthropicBedrock": {
            "aws_region": "x",
            "aws_access_key": "x",
            "aws_secret_key": "x",
        },
    }
    client = getattr(anthropic, name)(**given[name])
    with pytest.raises(WrongType, match=name):
        attach(client, ullage.Meter("m"))


class FakeGoogleApiClient:
    """Google's inner client where aiohttp is installed, which the development environment does not have."""

    def __init__(self, session: object) -> None:
        self._http_options = genai.types.HttpOptions()
        self._http_options.aiohttp_client = session
        self._httpx_client = httpx2.Client()

    def _use_aiohttp(self) -> bool:
        return True


class FakeGoogleClient:
    def __init__(self, session: object) -> None:
        self._api_client = FakeGoogleApiClient(session)


def test_a_google_client_with_an_own_aiohttp_session_is_refused() -> None:
    meter = ullage.Meter("m")
    with pytest.raises(WrongType, match="aiohttp_client"):
        attach(FakeGoogleClient(object()), meter)
    client = attach(FakeGoogleClient(None), meter)
    assert not client._api_client._use_aiohttp(), "its httpx client is followed"
    assert detach(client)._api_client._use_aiohttp()


@pytest.mark.parametrize(
    ("follower", "words"),
    [
        ("meter", "and not by an object of type str"),
        (None, "and not by an object of type NoneType"),
        (ullage.Meter, "and not by the class Meter"),
    ],
)
def test_what_follows_nothing_is_an_error_at_once(follower: Any, words: str) -> None:
    client = openai.OpenAI(api_key="any")
    with pytest.raises(WrongType, match=words):
        attach(client, follower)
    assert "send" not in vars(client._client)
