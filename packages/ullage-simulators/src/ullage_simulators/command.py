"""The command ``ullage-simulators``: serves the simulators on loopback until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace

from ullage_simulators.assistant import harmless_answer
from ullage_simulators.scenario import Scenario, SimulatorError, load
from ullage_simulators.server import Exchange, engine, listener, prepared
from ullage_simulators.simulators import simulators

_CLIENTS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "Anthropic(base_url={url!r}, api_key={key!r})"),
    "openai": ("OPENAI_BASE_URL", "OpenAI(base_url={url!r}, api_key={key!r})"),
    "gemini": (
        "GOOGLE_GEMINI_BASE_URL",
        "genai.Client(api_key={key!r}, http_options={{'base_url': {url!r}}})",
    ),
}
"""How each official SDK is configured: its environment variable, and its client."""


def main(
    arguments: Sequence[str] | None = None, *, program: str = "ullage-simulators"
) -> int:
    """Serve until interrupted. Gives 0 after Ctrl-C, and 2 for what can't be served; standard error says why."""
    options = _parser(program).parse_args(arguments)
    try:
        return _serve(options)
    except SimulatorError as problem:
        print(f"{program}: {problem}", file=sys.stderr)
        return 2


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Serve strict simulators of the providers on this machine, for tests and demonstrations.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--scenario",
        metavar="FILE",
        help="what the models answer and what goes wrong, TOML or JSON",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8_800,
        metavar="N",
        help="the port (default 8800; 0: a free one)",
    )
    parser.add_argument(
        "--wire",
        action="append",
        default=[],
        metavar="NAME",
        help="only this simulator; may be given several times",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="draws other token counts"
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="warn, instead of refusing a request by a rule that is only assumed",
    )
    return parser


def _serve(options: argparse.Namespace) -> int:
    known = simulators()
    for name in options.wire:
        if name not in known:
            raise SimulatorError(
                f"There is no simulator called {name!r}; there are {', '.join(known)}."
            )
    scenario = load(options.scenario) if options.scenario else Scenario()
    app = prepared(
        replace(scenario, assistant=harmless_answer),
        seed=options.seed,
        wires=options.wire,
        lenient=options.lenient,
        on_exchange=_print_exchange,
    )
    try:
        listening = listener(options.port)
    except OSError as problem:
        raise SimulatorError(
            f"Port {options.port} can't be used: {problem.strerror}. Try --port 0 for a free one."
        ) from problem
    with listening:
        port = listening.getsockname()[1]
        urls = {
            name: f"http://127.0.0.1:{port}/{name}{wires[0].base_path()}"
            for name, wires in app.wires.items()
        }
        _print_urls(urls, app.memory.scenario.key or "any-key")
        with contextlib.suppress(
            KeyboardInterrupt
        ):  # raised once more when the last answer is out
            engine(app).run([listening])
    print(f"Stopped after {app.memory.requests} answers.")
    return 0


def _print_urls(urls: dict[str, str], key: str) -> None:
    width = max(map(len, urls))
    print("Simulated providers, on this machine only. Ctrl-C stops them.\n")
    for name, url in urls.items():
        print(f"  {name:<{width}}  {url}")
    print("\nThe official SDKs reach them like this:\n")
    for name, (variable, client) in _CLIENTS.items():
        if name in urls:
            print(f"  {variable}={urls[name]}")
            print(f"  {client.format(url=urls[name], key=key)}")
    print(
        "\nThe other names are OpenAI's Chat as others speak it: OpenAI(base_url=...) with their URL.\n",
        flush=True,
    )


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
    print(
        f"{exchange.status}  {exchange.method} {exchange.path}  {ended}{faults}",
        flush=True,
    )
    for warning in exchange.warnings:
        print(f"     warning: {warning.name}: {warning.text[:160]}", flush=True)
