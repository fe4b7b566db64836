"""Tells a Restate server where the workers are, again whenever it does not know."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Final

import httpx2

from ullage.errors import SettingError
from ullage_agent.runtime.policy import LISTEN_AGAIN_S, RESTATE_SWEEP_S
from ullage_cluster.restate.client import restate_client

log = logging.getLogger("ullage.agent")

DISCOVERED_IN_S: Final = 60.0

TOLD_AT: Final = 3
"""The failure in a row that is logged: a worker that starts may not be reached yet by the address that all share."""

NO_WORKER: Final = "META0003"
"""Restate's code where nothing answers, or another program does (https://docs.restate.dev/references/errors)."""

_NOT_REGISTERED: Final = (
    "Restate's admin API at %s: %s Sessions reach this worker %.0f s late."
)

LONGEST_REASON: Final = 200
"""Characters of Restate's own text in a message."""


async def keep_registered(admin: str, service: str, workers: str) -> None:
    """Have the Restate server whose admin API is at ``admin`` call the workers at the URL ``workers``, until cancelled.

    They are registered now, and again when Restate knows no ``service``, as after the loss of its data. What keeps them
    from it is logged once.
    """
    failures, is_known = 0, False
    async with restate_client(admin, DISCOVERED_IN_S) as client:
        while True:
            try:
                if not is_known:
                    await register(client, workers)
                answer = await client.get(f"/services/{service}")
                is_known = answer.status_code != httpx2.codes.NOT_FOUND
                failures = 0
            except (httpx2.HTTPError, SettingError) as problem:
                failures += 1
                if failures == TOLD_AT:
                    why = str(problem) or type(problem).__name__
                    why = f"{why.rstrip('.')}."
                    log.warning(_NOT_REGISTERED, admin, why, RESTATE_SWEEP_S)
            await asyncio.sleep(LISTEN_AGAIN_S if failures else RESTATE_SWEEP_S)


async def register(client: httpx2.AsyncClient, workers: str) -> None:
    """Register the workers at a server's admin API. Raises ``httpx2.HTTPError``, and ``SettingError`` if it refuses.

    Registering the same URL again changes nothing but what the workers say of themselves. They are called by
    HTTP/1.1: each drive then has a connection of its own, which anything that balances connections can spread.
    """
    said = {"uri": workers, "use_http_11": True, "force": True}
    answer = await client.post("/deployments", json=said)
    if answer.is_error:
        raise SettingError(
            f"It did not register {workers}: {reason_of(answer)}. Give --advertise with an address by which Restate "
            "reaches the workers."
        )


def reason_of(answer: httpx2.Response) -> str:
    """Why Restate refused, as the end of a sentence: of its own text the first sentence, without codes."""
    try:
        problem = answer.json()
        message, code = str(problem["message"]), problem.get("restate_code")
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"it answered {answer.status_code}"
    if code == NO_WORKER:
        return "no worker answers there"
    text = " ".join(re.sub(r"\[META\d+\]", "", message).split())
    first = re.split(r"\.(?: |$)", text)[0][:LONGEST_REASON]
    return first or f"it answered {answer.status_code}"
