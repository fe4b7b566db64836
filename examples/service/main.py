"""A service: an agent over HTTP, with a page, whose orders wait for a person's approval."""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ullage
from ullage_simulators import load, running

HERE = Path(__file__).parent


@contextmanager
def provider() -> Iterator[dict[str, Any]]:
    """What reaches the model: your key, or else a simulator on this machine that plays script.toml."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        yield {}
        return
    with running(load(HERE / "script.toml")) as simulator:
        key = {**os.environ, "ANTHROPIC_API_KEY": "any"}
        yield {"base_url": simulator.url("anthropic"), "environment": key}


def stock(item: str) -> str:
    """How many pieces of an item are in stock."""
    return f"{len(item) * 100} {item}"


def order(item: str, pieces: int) -> str:
    """Order an item for the cellar."""
    return f"ordered: {pieces} {item}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one")
    parser.add_argument("--store", type=Path, default=Path("cellar.db"))
    options = parser.parse_args()
    with provider() as reached:
        agent = ullage.Agent(
            "anthropic:claude-haiku-4-5",
            tools=[stock, order],
            approve=["order"],
            system="You look after the stock of a wine cellar.",
            store=options.store,
            config=False,
            **reached,
        )
        token = os.environ.get("ULLAGE_TOKEN")  # without one, that of this machine
        with ullage.http_server(agent, port=options.port, token=token) as url:
            print(f"{url} (Ctrl-C stops it)\nOnce, in a browser: {url.page}", flush=True)
            threading.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
