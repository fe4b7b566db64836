"""``ullage simulate``: the doubles of the providers on loopback, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib

from ullage.errors import SettingError
from ullage.simulators.doubles import doubles
from ullage.simulators.server import Exchange, engine, listener, prepared

_SETTINGS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "Anthropic(base_url={url!r}, api_key={key!r})"),
    "openai": ("OPENAI_BASE_URL", "OpenAI(base_url={url!r}, api_key={key!r})"),
    "gemini": (
        "GOOGLE_GEMINI_BASE_URL",
        "genai.Client(api_key={key!r}, http_options={{'base_url': {url!r}}})",
    ),
}
"""How each official SDK is told: its environment variable, and its client."""


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted. 0 after Ctrl-C; raises ``UllageError`` for what can't be served."""
    known = doubles()
    for wire in args.wire:
        if wire not in known:
            raise SettingError(f"There is no double called {wire!r}; there are {', '.join(known)}.")
    app = prepared(args.scenario, seed=args.seed, wires=args.wire, on_exchange=_print_exchange)
    try:
        listening = listener(args.port)
    except OSError as problem:
        raise SettingError(
            f"Port {args.port} can't be used: {problem.strerror}. Try --port 0 for a free one."
        ) from problem
    with listening:
        port = listening.getsockname()[1]
        urls = {name: f"http://127.0.0.1:{port}/{name}{wires[0].base_path()}" for name, wires in app.wires.items()}
        _print_urls(urls, app.memory.scenario.key or "any-key")
        with contextlib.suppress(KeyboardInterrupt):  # raised once more when the last answer is out
            engine(app).run([listening])
    print(f"Stopped after {app.memory.requests} answers.")
    return 0


def _print_urls(urls: dict[str, str], key: str) -> None:
    width = max(map(len, urls))
    print("Simulated providers, on this machine only. Ctrl-C stops them.\n")
    for name, url in urls.items():
        print(f"  {name:<{width}}  {url}")
    print("\nThe official SDKs reach them like this:\n")
    for name, (variable, client) in _SETTINGS.items():
        if name in urls:
            print(f"  {variable}={urls[name]}")
            print(f"  {client.format(url=urls[name], key=key)}")
    print("\nThe other names are OpenAI's Chat as others speak it: OpenAI(base_url=...) with their URL.\n", flush=True)


def _print_exchange(exchange: Exchange) -> None:
    """One line for each request: what was asked, how it ended, what it cost."""
    ended = ""
    if exchange.bill:
        bill = exchange.bill
        ended = f"in {bill.input:,}  out {bill.output:,}"
        ended += f" ({bill.reasoning:,} reasoning)" if bill.reasoning else ""
        ended += f"  {bill.model}"
    elif exchange.said:
        ended = exchange.said.splitlines()[0][:160]
    faults = f"  [{', '.join(exchange.faults)}]" if exchange.faults else ""
    print(f"{exchange.status}  {exchange.method} {exchange.path}  {ended}{faults}", flush=True)
