import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.processes import run_python
from tests.simulators.asking import Ask, Talk
from ullage_simulators import running
from ullage_simulators.scenario import read
from ullage_simulators.server import prepared

CHAT = Ask(
    "/chat/completions",
    {"model": "gpt-5", "messages": [{"role": "user", "content": "hello"}]},
)

WHAT_IS_LOADED = """
import sys
import ullage_simulators, ullage.cli.parser
print([name for name in ("starlette", "uvicorn", "bpe_openai") if name in sys.modules])
"""


def python(code: str) -> str:
    return run_python("-c", code, check=True).stdout.strip()


def test_importing_the_package_loads_no_server_and_no_tokenizer() -> None:
    assert python(WHAT_IS_LOADED) == "[]"


def test_several_servers_run_at_once_and_know_nothing_of_each_other() -> None:
    with running() as one, running() as two:
        assert one.port != two.port
        Talk(one).ok("openai", CHAT)
        assert (len(one.exchanges), len(two.exchanges)) == (1, 0)


def test_only_the_wires_asked_for_are_served() -> None:
    with running(wires=["gemini", "openai"]) as server:
        assert sorted(server.urls) == ["gemini", "openai"]
        response = httpx2.post(
            f"http://127.0.0.1:{server.port}/anthropic/v1/messages", json={}
        )
        assert response.status_code == 404
        with pytest.raises(KeyError):
            server.url("anthropic")


def test_a_port_that_is_taken_is_an_error() -> None:
    with (
        running() as server,
        pytest.raises(OSError, match="in use"),
        running(port=server.port),
    ):
        pass


def test_each_exchange_is_kept_with_its_body_its_rule_and_its_bill() -> None:
    with running() as server:
        talk = Talk(server)
        talk.ok("openai", CHAT)
        talk.send("openai", CHAT.but(model="unheard-of"))
        good, bad = server.exchanges
    assert (good.status, good.path, good.body) == (
        200,
        "/openai/v1/chat/completions",
        CHAT.body,
    )
    assert good.bill is not None
    assert (bad.status, bad.rule, bad.bill) == (404, "model_unknown", None)


async def test_without_its_package_a_websocket_is_refused_for_http() -> None:
    """The HTTP server then passes the upgrade on as a request."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"connection", b"upgrade"), (b"upgrade", b"websocket")]
    scope = {"type": "http", "method": "GET", "path": "/openai/v1/responses"}
    app = prepared()
    await app({**scope, "query_string": b"", "headers": headers}, receive, send)
    assert sent[0]["status"] == 426
    assert b"POST" in sent[1]["body"]
    assert app.exchanges == []


def test_the_bill_outlives_the_server() -> None:
    with running() as server:
        Talk(server).ok("openai", CHAT)
    assert [bill.model for bill in server.truth().bills] == ["gpt-5"]


def test_a_conversation_goes_on_after_a_restart() -> None:
    with running(seed=1) as server:
        body = {
            "model": "claude-opus-4-6",
            "max_tokens": 500,
            "thinking": {"type": "adaptive"},
        }
        first = {"role": "user", "content": "hello"}
        answer = Talk(server).ok(
            "anthropic", Ask("/v1/messages", {**body, "messages": [first]})
        )
        reasoning = server.truth().bills[0].reasoning
    with running(seed=2) as server:
        said = {"role": "assistant", "content": answer["content"]}
        talk = Talk(server)
        talk.ok(
            "anthropic",
            Ask(
                "/v1/messages",
                {**body, "messages": [first, said, {"role": "user", "content": "?"}]},
            ),
        )
        assert server.truth().bills[0].kept == reasoning


def test_many_clients_at_once_are_all_answered() -> None:
    with running() as server:

        def once(number: int) -> int:
            return Talk(server).send("openai", CHAT.but(user=str(number))).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(once, range(24))) == {200}
        assert len({bill.number for bill in server.truth().bills}) == 24


def test_latency_is_between_the_events_of_a_stream() -> None:
    with running(read({"server": {"delay_s": 0.02}})) as server:
        began = time.monotonic()
        events = Talk(server).events("openai", CHAT.but(stream=True))
        assert time.monotonic() - began > 0.02 * len(events)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ("anthropic", "/v1/models"),
        ("openai", "/models"),
        ("deepseek", "/models"),
        ("gemini", "/v1beta/models"),
    ],
)
def test_models_are_listed(wire: str, path: str) -> None:
    with running(wires=[wire]) as server:
        listed = Talk(server).ok(wire, Ask(path, {}, method="GET"))
        assert (
            Talk(server).send(wire, Ask(f"{path}/nothing", {}, method="GET")).status_code
            >= 400
        )
    names = [
        model.get("id", model.get("name"))
        for model in listed.get("data", listed.get("models"))
    ]
    assert any(
        name
        in ("claude-opus-4-6", "gpt-5", "deepseek-reasoner", "models/gemini-2.5-flash")
        for name in names
    )


def test_a_gemini_stream_that_is_not_asked_for_as_events_is_an_array() -> None:
    with running() as server:
        path = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
        given = Talk(server).ok(
            "gemini", Ask(path, {"contents": [{"parts": [{"text": "hello"}]}]})
        )
    assert [each["modelVersion"] for each in given] == ["gemini-2.5-flash"] * len(given)
    assert given[-1]["candidates"][0]["finishReason"] == "STOP"


def test_no_thread_is_left_behind() -> None:
    with running():
        pass
    assert not [
        thread for thread in threading.enumerate() if thread.name == "ullage-simulators"
    ]


def test_a_client_that_leaves_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    head = b"POST /openai/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    with running() as server:
        with socket.create_connection(("127.0.0.1", server.port)) as leaving:
            leaving.sendall(head + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n{")
            assert b"100 Continue" in leaving.recv(1_000)
        Talk(server).ok("openai", CHAT)
        assert len(server.exchanges) == 1
    assert not caplog.records
