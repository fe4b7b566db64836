"""A process that is killed at any moment of a conversation with a store, and the same conversation after it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.compactor.own_loop import CHAT, OwnLoop, loop_on, scenario
from tests.tiers import first_of
from ullage.compaction import STRATEGIES
from ullage_simulators import running

ASKING = [strategy for strategy in STRATEGIES if strategy.name != "clear"]
SENDS = range(1, 62, 3)
"""The request, of the conversation's or of a summary, at which the process dies."""


def _killed_at(url: str, store: Path, send: int) -> None:
    """A conversation whose process is killed when it sends its request number ``send``."""
    loop = OwnLoop(CHAT, url)
    post, count = loop.post, 0

    def counted(body: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        if count == send:
            os.kill(os.getpid(), signal.SIGKILL)
        return post(body)

    loop.post = counted  # type: ignore[method-assign]
    compactor = loop.compactor(counted, store=store, session="casks", strategies=ASKING)
    for number in range(40):
        loop.say(f"Please look at cask {number}.")
        while True:
            fitted = compactor.fit_sync(loop.body())
            seen = {
                "items": loop.items,
                "sent": fitted.body,
                "compactions": compactor.compactions,
            }
            store.with_suffix(".json").write_text(json.dumps(seen))
            answer = counted(fitted.body)
            compactor.after(loop.usage(answer), answer)
            if not loop.take(answer):
                break


@pytest.mark.parametrize("send", first_of(SENDS, 2))
def test_what_was_acknowledged_stays_after_a_kill(send: int, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    context = multiprocessing.get_context("spawn")
    with running(scenario(CHAT), seed=4) as server:
        process = context.Process(
            target=_killed_at, args=(server.url("openai"), store, send)
        )
        process.start()
        process.join(120)
        assert process.exitcode == -signal.SIGKILL
        last = json.loads(store.with_suffix(".json").read_text())
        loop = loop_on(server, CHAT)
        loop.items = last["items"]
        asked = len(server.exchanges)
        compactor = loop.compactor(store=store, session="casks", strategies=ASKING)
        fitted = compactor.fit_sync(loop.body())
        assert compactor.compactions == last["compactions"]
        assert json.dumps(fitted.body) == json.dumps(last["sent"])
        assert len(server.exchanges) == asked
        compactor.close()
