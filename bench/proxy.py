"""What a proxy costs between a client and its provider: nothing in between, Ullage's, LiteLLM's and mitmproxy.

    uv run python -m bench.proxy                            # prints
    uv run python -m bench.proxy --write docs/proxy.md      # and puts the table into the page

One local provider answers all of them; requests go to each in turn, so that a drift of the machine meets all alike.
The first byte is the first of the answer's body. CPU time is that of the proxy's process for an answer of 200 pieces,
2 ms apart, taken from ``/proc`` (Linux). Ullage's metering is a process of its own beside the relay.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench.environments import OUT, PEERS_FOLDER, QUIET, NotInstalled, Peer, python_of
from bench.invented import CODE_WORDS
from bench.process import local_server
from bench.results import Table, machine, write_tables

LITELLM = Peer("LiteLLM proxy", "litellm[proxy]==1.106.2")
MITMPROXY = Peer("mitmproxy", "mitmproxy==11.0.2")
"""The newest version for Python 3.11."""

HERE = Path(__file__).parent
SIZES = {"4 KB": 4_000, "400 KB": 400_000}
SHORT_ROUNDS = 60
LONG_ROUNDS = 15
WARM_UP = 5
READY_WITHIN_S = 90
KEY = "sk-bench-0000"


class ProxyUnderTest(NamedTuple):
    """Where requests go, and the processes that are charged for them."""

    name: str
    port: int
    processes: dict[str, int]
    """What a process is, and its id."""
    prefix: str = ""


class Measured(NamedTuple):
    """What was measured of one proxy with bodies of one size."""

    first_byte_ms: list[float]
    cpu_ms: dict[str, list[float]]


def body_of(size: int, *, is_short: bool) -> bytes:
    """A request of about this size: a conversation of turns of 2 KB, invented, the same at every run."""
    draw = random.Random(17)
    turns: list[dict[str, Any]] = []
    written = 0
    while written < size - 300:
        text = " ".join(draw.choices(CODE_WORDS, k=400))[: min(2_000, size - written)]
        role = "assistant" if len(turns) % 2 else "user"
        turns.append({"role": role, "content": text})
        written += len(text) + 40
    if turns[-1]["role"] == "assistant":
        turns.append({"role": "user", "content": "Go on."})
    request = {
        "model": "bench-model",
        "max_tokens": 1 if is_short else 1_000,
        "stream": True,
        "messages": turns,
    }
    return json.dumps(request).encode()


class Connection:
    """A client's connection, which is kept open as long as the other side does."""

    def __init__(self, proxy: ProxyUnderTest) -> None:
        self._proxy = proxy
        self._socket: socket.socket | None = None

    def ask(self, body: bytes) -> float:
        """Milliseconds to the first byte of the answer's body; returns when the answer is complete."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._proxy.port), 60)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = (
            f"POST {self._proxy.prefix}/v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"x-api-key: {KEY}\r\nanthropic-version: 2023-06-01\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        start = time.perf_counter()
        self._socket.sendall(head.encode() + body)
        data = b""
        first = 0.0
        while not data.endswith(b"0\r\n\r\n"):
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise RuntimeError(f"{self._proxy.name} closed: {data[:500]!r}")
            data += piece
            if not first and data.partition(b"\r\n\r\n")[2]:
                first = time.perf_counter()
        if not data.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{self._proxy.name}: {data[:500]!r}")
        return 1e3 * (first - start)


def cpu_ms(process: int) -> float:
    """CPU time of all threads of a process so far (https://docs.kernel.org/scheduler/sched-stats.html)."""
    total = 0
    for thread in Path(f"/proc/{process}/task").iterdir():
        total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e6


def memory_mb(process: int) -> float:
    """Resident memory now."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1e3
    return 0.0


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(each) for each in found.split()]


@contextmanager
def program(
    command: Sequence[str], **environment: str
) -> Iterator[subprocess.Popen[str]]:
    """A program that runs for the time of the block; its output is read by nobody but for the first line."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | QUIET | environment,
            cwd=tempfile.gettempdir(),
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def ullage(upstream: int) -> Iterator[ProxyUnderTest]:
    """Our relay with its metering, as ``ullage proxy`` starts them."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {"store": str(Path(directory) / "proxy.db"), "local": ["anthropic"]}
        child = [sys.executable, "-P", "-m", "ullage_proxy.metering.metering_process"]
        options = {
            "port": 0,
            "upstreams": {"anthropic": f"http://127.0.0.1:{upstream}"},
            "metering": child,
            "metering_settings": settings,
        }
        command = [sys.executable, "-P", "-m", "ullage_proxy.relay", json.dumps(options)]
        with program(command, HOME=directory) as process:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["port"]
            while not (metering := children(process.pid)):  # it begins once we listen
                time.sleep(0.01)
            processes = {"relay": process.pid, "metering": metering[0]}
            yield ProxyUnderTest("Ullage", port, processes, "/anthropic")


@contextmanager
def litellm(upstream: int) -> Iterator[ProxyUnderTest]:
    """LiteLLM's proxy with one model, which goes to the local provider."""
    python = python_of(LITELLM)
    port = free_port()
    config = OUT / "litellm-proxy.json"  # JSON is YAML
    parameters = {
        "model": "anthropic/claude-haiku-4-5",
        "api_base": f"http://127.0.0.1:{upstream}",
        "api_key": KEY,
    }
    models = [{"model_name": "bench-model", "litellm_params": parameters}]
    config.write_text(json.dumps({"model_list": models}))
    command = [
        str(python.with_name("litellm")),
        "--config",
        str(config),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--telemetry",
        "False",
    ]
    with program(command, LITELLM_MASTER_KEY=KEY, LITELLM_LOG="ERROR") as process:
        wait_for(port, process)
        yield ProxyUnderTest("LiteLLM proxy", port, {"proxy": process.pid})


@contextmanager
def mitmproxy(upstream: int) -> Iterator[ProxyUnderTest]:
    """mitmproxy as a reverse proxy that passes bodies on as they come."""
    python = python_of(MITMPROXY)
    port = free_port()
    command = [
        str(python.with_name("mitmdump")),
        "--quiet",
        "--mode",
        f"reverse:http://127.0.0.1:{upstream}",
        "--listen-host",
        "127.0.0.1",
        "--listen-port",
        str(port),
        "--scripts",
        str(PEERS_FOLDER / "mitmproxy_stream.py"),
    ]
    with program(command) as process:
        wait_for(port, process)
        yield ProxyUnderTest("mitmproxy", port, {"proxy": process.pid})


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Return once the program listens. Raises ``NotInstalled`` if it does not."""
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise NotInstalled(f"{process.args!r} does not listen")


def measure(
    proxies: Sequence[ProxyUnderTest], size: int, *, rounds: tuple[int, int]
) -> dict[str, Measured]:
    """All proxies in turn with bodies of this size."""
    connections = {proxy.name: Connection(proxy) for proxy in proxies}
    found: dict[str, Measured] = {}
    for proxy in proxies:
        found[proxy.name] = Measured([], {name: [] for name in proxy.processes})
    short = body_of(size, is_short=True)
    long = body_of(size, is_short=False)
    for at in range(WARM_UP + rounds[0]):
        for proxy in proxies:
            taken = connections[proxy.name].ask(short)
            settle(proxy)
            if at >= WARM_UP:
                found[proxy.name].first_byte_ms.append(taken)
    for _ in range(rounds[1]):
        for proxy in proxies:
            before = {name: cpu_ms(each) for name, each in proxy.processes.items()}
            connections[proxy.name].ask(long)
            settle(proxy)
            for name, each in proxy.processes.items():
                found[proxy.name].cpu_ms[name].append(cpu_ms(each) - before[name])
    return found


def settle(proxy: ProxyUnderTest) -> None:
    """Wait until the proxy's processes do nothing: what they do after an answer is theirs, and delays no other."""
    before = -1.0
    now = sum(map(cpu_ms, proxy.processes.values()))
    while now - before > 0.5:
        time.sleep(0.03)
        before = now
        now = sum(map(cpu_ms, proxy.processes.values()))


def table(
    measured: dict[str, dict[str, Measured]], memory: dict[str, dict[str, float]]
) -> Table:
    """One row a proxy, with both sizes of bodies."""
    rows = []
    for name in next(iter(measured.values())):
        by_size = [measured[size][name] for size in measured]
        cells = [name]
        cells += [_times(each.first_byte_ms) for each in by_size]
        cells.append(_each(by_size[0].cpu_ms, by_size[1].cpu_ms))
        used = memory.get(name, {})
        cells.append(" + ".join(f"{mb:.0f} MB" for mb in used.values()) or "-")
        rows.append(tuple(cells))
    columns = (
        "",
        *(f"first byte p50 / p95, body of {size}" for size in measured),
        "CPU of an answer, " + " / ".join(measured),
        "memory",
    )
    return Table("A proxy between client and provider", columns, tuple(rows))


def _times(values: list[float]) -> str:
    return f"{median(values):.1f} / {quantiles(values, n=20)[-1]:.1f} ms"


def _each(small: dict[str, list[float]], large: dict[str, list[float]]) -> str:
    parts = []
    for name, values in small.items():
        parts.append(f"{name} {median(values):.0f} / {median(large[name]):.0f} ms")
    return ", ".join(parts) or "-"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.proxy", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    chosen = parser.parse_args()
    rounds = (8, 2) if chosen.quick else (SHORT_ROUNDS, LONG_ROUNDS)
    OUT.mkdir(exist_ok=True)
    notes = []
    memory: dict[str, dict[str, float]] = {}
    measured: dict[str, dict[str, Measured]] = {}
    with local_server(str(HERE / "proxy_server.py")) as url, ExitStack() as stack:
        upstream = int(url.rpartition(":")[2])
        proxies = [ProxyUnderTest("nothing in between", upstream, {})]
        for start in (ullage, litellm, mitmproxy):
            try:
                proxies.append(stack.enter_context(start(upstream)))
            except NotInstalled as why:
                notes.append(f"{start.__name__} could not be measured here: {why}")
        for name, size in SIZES.items():
            measured[name] = measure(proxies, size, rounds=rounds)
        for proxy in proxies:
            used = {name: memory_mb(each) for name, each in proxy.processes.items()}
            memory[proxy.name] = used
    found = table(measured, memory)
    print(found.text())
    print("\n".join([*notes, machine()]))
    if chosen.write:
        write_tables(chosen.write, [found])


if __name__ == "__main__":
    main()
