"""Small questions to a server beside the calls: a count, a model's limits. No call depends on the answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

from ullage.codec.foreign import is_dense, parse_object
from ullage.envelope import LIST_BYTES
from ullage.errors import NoAnswer
from ullage.wire.client import Client, Post

ASIDE_S: Final = 3.0
"""Seconds from when the question is sent to the end of its answer. Then the call goes out without it."""


async def ask(post: Post, client: Client) -> dict[str, Any]:
    """The JSON object that a server answers with; empty where it answers with something else.

    What this process does before the question is sent does not count against ``ASIDE_S``: the first one imports the
    HTTP library and connects. Sent once; safe to cancel. Raises ``ProviderError``, ``NoAnswer`` for one that is late.
    """
    limit, loop = asyncio.timeout(None), asyncio.get_running_loop()

    def sent() -> None:
        limit.reschedule(loop.time() + ASIDE_S)

    try:
        async with limit, client.send(replace(post, sent=sent)) as incoming:
            body = await incoming.body(LIST_BYTES)
    except TimeoutError as problem:
        raise NoAnswer(
            f"{post.url} did not answer in {ASIDE_S:g} s. Try again, or check the server."
        ) from problem
    return {} if is_dense(body) else await asyncio.to_thread(parse_object, body)
