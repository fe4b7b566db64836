"""Runs of clients that are small programs of this file, against a provider that is one too."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform

ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Fine."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1200, "output_tokens": 3},
}

CLIENT = """#!{python}
import json, os, sys, urllib.request
address = os.environ["ANTHROPIC_BASE_URL"]
print(json.dumps([address, os.environ.get("ENABLE_TOOL_SEARCH"), os.environ.get("NO_PROXY"), sys.argv[1:]]))
if "ask" in sys.argv:
    body = {{"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{{"role": "user", "content": "Hello"}}]}}
    request = urllib.request.Request(
        address + "/v1/messages",
        json.dumps(body).encode(),
        {{"content-type": "application/json", "user-agent": "claude-cli/2.1.330"}},
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request).read()
sys.exit(7)
"""


class Provider(BaseHTTPRequestHandler):
    """Answers every request with the same message."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        body = b'{"program": "ullage"}' if self.server.is_ullage else b"{}"  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def provider(*, is_ullage: bool = False) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.is_ullage = is_ullage  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text(CLIENT.format(python=sys.executable))
    client.chmod(0o755)
    return {
        "HOME": str(tmp_path),
        "ULLAGE_DATA": str(tmp_path / "data"),
        "PATH": f"{client.parent}{os.pathsep}{os.environ['PATH']}",
    }


def wrapped(environment: dict[str, str], *words: str) -> Ended:
    """A process of its own: the client writes to its streams."""
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", "wrap", *words],
        env=environment,
        cwd=environment["HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def test_a_run_is_metered_and_its_sum_is_said(environment: dict[str, str]) -> None:
    with provider() as address:
        environment["ANTHROPIC_BASE_URL"] = address
        ended = wrapped(environment, "claude", "--", "ask", "--model", "opus")
    assert ended.returncode == 7
    base, tool_search, _, arguments = json.loads(ended.stdout)
    assert base.startswith("http://127.0.0.1:") and base.endswith("/anthropic")
    assert base != address
    assert tool_search == "true"
    assert arguments == ["ask", "--model", "opus"]
    first, last = ended.stderr.splitlines()
    assert f"Claude Code's calls to {address} are metered at http://127.0.0.1:" in first
    assert "1 call, 1,203 of 200,000 tokens" in last
    assert "`ullage context " in last


def test_a_run_without_calls_says_so(environment: dict[str, str]) -> None:
    ended = wrapped(environment, "claude")
    assert "Claude Code made no call through the proxy" in ended.stderr


def test_quiet_it_prints_nothing(environment: dict[str, str]) -> None:
    ended = wrapped(environment, "claude", "--quiet")
    assert ended.stderr == ""
    assert ended.returncode == 7


def test_nothing_is_stored(environment: dict[str, str], tmp_path: Path) -> None:
    with provider() as address:
        environment["ANTHROPIC_BASE_URL"] = address
        ended = wrapped(environment, "claude", "--no-store", "--", "ask")
    assert "nothing was stored" in ended.stderr
    assert not list(tmp_path.glob("**/*.db"))


def test_any_other_program_gets_the_usual_variables(environment: dict[str, str]) -> None:
    program = "import os; print(os.environ['OPENAI_BASE_URL'])"
    ended = wrapped(environment, "--", sys.executable, "-c", program)
    assert ended.stdout.endswith("/openai\n")
    assert "OPENAI_BASE_URL" in ended.stderr


def test_a_companys_proxy_is_not_asked_for_ours(environment: dict[str, str]) -> None:
    environment |= {"HTTPS_PROXY": "http://10.0.0.1:3128", "NO_PROXY": "intern.example"}
    ended = wrapped(environment, "claude")
    assert json.loads(ended.stdout)[2] == "intern.example,127.0.0.1"


def refused(environment: dict[str, str], *words: str) -> str:
    """What is said of a run that does not begin."""
    ended = perform(Path(environment["HOME"]), environment, "wrap", *words)
    assert ended.returncode == 2
    return ended.stderr


def test_a_proxied_client_stays_with_its_proxy(environment: dict[str, str]) -> None:
    with provider(is_ullage=True) as address:
        environment["ANTHROPIC_BASE_URL"] = f"{address}/anthropic"
        said = refused(environment, "claude")
    assert f"already sends its calls to the proxy at {address}" in said


def test_an_installed_proxy_is_never_the_provider(environment: dict[str, str]) -> None:
    environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:4141/anthropic"
    # None runs there, or one of the person's who runs the tests.
    assert "`ullage install CLIENT --remove --proxy`" in refused(environment, "claude")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "needs a client"),
        (("claud",), "Did you mean `ullage wrap claude-code`?"),
        (("gemini-clii",), "Did you mean `ullage wrap gemini-cli`?"),
        (("emacs",), "`ullage wrap -- emacs`"),
        (("pi",), "npm install -g @earendil-works/pi-coding-agent"),
        (("--", "no-such-program"), "no program 'no-such-program' on the PATH"),
        (("claude", "-p", "hello"), "ullage wrap claude-code -- -p"),
    ],
)
def test_what_can_not_be_started_is_refused_with_what_to_do(
    environment: dict[str, str], words: tuple[str, ...], said: str
) -> None:
    environment["PATH"] = str(Path(environment["HOME"]) / "bin")
    assert said in refused(environment, *words)


def test_an_option_of_the_proxy_is_named_as_one(tmp_path: Path) -> None:
    ended = perform(tmp_path, {}, "wrap", "--upstream", "anthropic=http://x", "claude")
    assert ended.returncode == 2
    assert "`ullage wrap` has no --upstream" in ended.stderr
    assert "ullage proxy --upstream" in ended.stderr
    assert "stand behind --" not in ended.stderr
