"""Tells a Restate server where the workers are."""

from __future__ import annotations

import re
from typing import Final

import httpx2

from ullage.errors import SettingError
from ullage_cluster.restate.client import restate_client

DISCOVERED_IN_S: Final = 60.0

NO_WORKER: Final = "META0003"
"""Restate's code where nothing answers, or another program does (https://docs.restate.dev/references/errors)."""

LONGEST_REASON: Final = 200
"""Characters of Restate's own text in a message."""


async def register_workers(admin: str, workers: str) -> None:
    """Have the Restate server whose admin API is at ``admin`` call the workers at the URL ``workers``.

    Registering the same URL again changes nothing but what the workers say of themselves. They are called by
    HTTP/1.1: each drive then has a connection of its own, which anything that balances connections can spread.
    Raises ``SettingError`` if Restate does not answer or can't reach the workers.
    """
    said = {"uri": workers, "use_http_11": True, "force": True}
    try:
        async with restate_client(admin, DISCOVERED_IN_S) as client:
            answer = await client.post("/deployments", json=said)
    except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
        raise SettingError(
            f"Restate's admin API does not answer at {admin} ({problem or type(problem).__name__}). Start the Restate "
            "server, or give its address with --admin."
        ) from problem
    if answer.is_error:
        raise SettingError(
            f"Restate at {admin} did not register {workers}: {reason_of(answer)}. Start a worker there first "
            "(`ullage admin worker --dispatch restate --listen HOST:PORT`), at an address that Restate reaches."
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
