"""No answer and no log holds a key or a token."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.raw import exchange, request
from tests.server.served import Api, process
from ullage.log_lines import TextLines
from ullage.masking import SHOWN, Secrets, secrets_in
from ullage.store.records import FileRecords
from ullage_server.app import HANDLERS
from ullage_server.scopes import name_of
from ullage_server.tokens import NamedTokens

KEY = "sk-ant-planted-provider-key-0001"
OTHER_KEY = "sk-planted-openai-key-0002"
TOKEN = "planted-launch-token-0003"
PASSWORD = "planted-password-0004"
MCP = "planted-mcp-secret-0005"


@contextmanager
def echoing() -> Iterator[int]:
    """A provider that refuses every request and quotes its headers, the key among them; gives its port."""

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            said = f"bad key {self.headers.get('x-api-key')} in {dict(self.headers)}"
            body = json.dumps(
                {
                    "type": "error",
                    "error": {"type": "invalid_request_error", "message": said},
                }
            ).encode()
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_no_route_and_no_log_shows_a_secret(tmp_path: Path) -> None:
    tokens = NamedTokens(FileRecords(tmp_path / "data"))
    named = tokens.add("named", ("admin",), expires=None, now=0)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "ullage.toml").write_text(
        '[mcp.planted]\ncommand = "false"\nenabled = false\nenv = { MCP_TOKEN = "${PLANTED_MCP_TOKEN}" }\n'
    )
    environment = {
        "ULLAGE_CONFIG": str(tmp_path / "config" / "ullage.toml"),
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_API_KEY": OTHER_KEY,
        "ULLAGE_TOKEN": TOKEN,
        "PLANTED_MCP_TOKEN": MCP,
        "ULLAGE_DATA": str(tmp_path / "data"),
    }
    planted = (KEY, OTHER_KEY, TOKEN, PASSWORD, MCP, named)
    with echoing() as port:
        url = f"http://user:{PASSWORD}@127.0.0.1:{port}"
        with process(
            url, tmp_path / "s.db", port=0, simulate=False, descriptors=0, **environment
        ) as server:
            with server.api() as api:
                api.headers["Authorization"] = f"Bearer {named}"
                seen = list(_everything(api))
                refused = api.post(
                    "/v1/sessions", json={"id": "own", "settings": {"base_url": url}}
                )
                assert (
                    refused.status_code == 422 and "password" in refused.json()["detail"]
                )
                found = api.patch(
                    "/v1/sessions/planted/settings", json={"base_url": url}
                ).status_code
                assert found == 422
                seen += _everything(api, "own")
            for sent in (
                request(f"Authorization: Bearer {TOKEN}x"),
                request(f"Authorization: Bearer {TOKEN}", target="/v1/nothing"),
                request(
                    f"Authorization: Basic {TOKEN}", f"X-Api-Key: {KEY}", method="TRACE"
                ),
                request(f"Authorization : Bearer {TOKEN}"),
                request(
                    f"Authorization: Bearer {TOKEN}",
                    host="other.example.com",
                    target="/x",
                ),
            ):
                seen.append(exchange(server.url, sent).text)
            _, said, errors = server.end()
    assert any("bad key" in text for text in seen), (
        "the provider's words are shown, but for the key"
    )
    for text in (*seen, said, errors):
        assert not [secret for secret in planted if secret in text], text[:3_000]


def _everything(api: Api, session: str = "planted") -> Iterator[str]:
    """What every route answers, to good and to bad requests, with its headers."""
    api.post("/v1/sessions", json={"id": session})
    api.post(f"/v1/sessions/{session}/messages", json={"text": "hello"})
    api.until(session)
    with api.stream("GET", f"/v1/sessions/{session}/events?after=0") as stream:
        text = ""
        for chunk in stream.iter_text():
            text += chunk
            if "turn_paused" in text or "turn_ended" in text:
                break
        yield text
    for handler in HANDLERS:
        if name_of(handler) in ("follow_events", "delete_session"):
            continue
        (path,) = handler.paths
        for part, value in {
            "session": session,
            "message": "none",
            "handle": "none",
            "call": "none",
            "grant": "none",
            "live": "none",
        }.items():
            path = path.replace(f"{{{part}:str}}", value)
        path = path.replace("{path:path}", "main.js")
        for method in handler.http_methods:
            for body in (
                b"{}",
                b'{"base_url": "http://x:planted-password-0004@y", "nonsense": 1}',
            ):
                content = body if method in ("POST", "PUT", "PATCH") else None
                headers = {"Content-Type": "application/json"}
                answer = api.request(method, path, content=content, headers=headers)
                yield f"{answer.headers} {answer.text}"
    for path in (
        "/schema/openapi.json",
        "/metrics",
        "/v1/nothing",
        f"/v1/sessions/{session}/settings",
    ):
        yield api.get(path).text


@given(st.text(min_size=6, max_size=30), st.text(max_size=50), st.text(max_size=50))
def test_a_known_secret_is_never_in_what_is_masked(
    secret: str, before: str, after: str
) -> None:
    masked = Secrets([secret]).masked(before + secret + after)
    assert secret not in masked.replace("[hidden]", "\0") or secret in "[hidden]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pass@host/x", "https://[hidden]@host/x"),
        ("at http://token@h:1, and more", "at http://[hidden]@h:1, and more"),
        ("mail a@b.example, see https://h/a@b", "mail a@b.example, see https://h/a@b"),
        ("Authorization: Bearer abcdefgh12345", "Authorization: Bearer [hidden]"),
        ("ullage_" + "a" * 43, "[hidden]"),
        ("ullage_sessions_open 3", "ullage_sessions_open 3"),
    ],
)
def test_what_looks_like_a_secret_is_masked_anywhere(text: str, shown: str) -> None:
    assert Secrets().masked(text) == shown


@pytest.mark.parametrize("name", ["api_key", "apiKey", "X-Api-Key", "accessToken"])
def test_a_text_under_the_name_of_a_secret_is_hidden_in_json(name: str) -> None:
    value = {name: "hunter2", "n": [{"max_tokens": 5, name: 3}], "monkey": "a"}
    assert Secrets().masked_value(value) == {
        name: SHOWN,
        "n": [{"max_tokens": 5, name: 3}],
        "monkey": "a",
    }


def test_the_variables_that_say_so_are_secret() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "a",
        "GH_TOKEN": "b",
        "DB_PASSWORD": "c",
        "KEYBOARD": "e",
        "MONKEY": "f",
    }
    assert sorted(secrets_in(environment)) == ["a", "b", "c"]
    assert Secrets(["ab"]).masked("about") == "about"
    assert os.environ.get("PATH", "") not in secrets_in(os.environ)


def test_a_traceback_is_masked_too() -> None:
    try:
        raise ValueError(f"key {KEY}")
    except ValueError as problem:
        record = logging.LogRecord(
            "x",
            logging.ERROR,
            "f",
            1,
            "failed with %s",
            (KEY,),
            (ValueError, problem, problem.__traceback__),
        )
    text = TextLines(Secrets([KEY]), "%(message)s").format(record)
    assert KEY not in text and "Traceback" in text and "[hidden]" in text
