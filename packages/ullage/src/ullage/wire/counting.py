"""Asks a provider's count endpoint how many tokens a request is. It goes where the request itself goes."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from ullage.codec.blocks import PLAIN, Encoded, Options
from ullage.codec.history import encode_count
from ullage.codec.repair import EVERYTHING, repair
from ullage.codec.wire import CountEndpoint
from ullage.context.costs import count_images
from ullage.errors import InvalidRequest, ServerError
from ullage.messages import Request
from ullage.reasoning import ReasoningPolicy
from ullage.wire.asking import ask
from ullage.wire.call import addressed
from ullage.wire.client import Client, Post
from ullage.wire.endpoints import Endpoint

MOST_TOKENS: Final = 10**9
"""No request has more tokens: a larger number is no count."""


async def count(
    request: Request,
    endpoint: Endpoint,
    way: CountEndpoint,
    *,
    client: Client,
    policy: ReasoningPolicy = EVERYTHING,
    options: Options = PLAIN,
) -> int:
    """The tokens of this request's input as the provider counts them in this way.

    Sent once, not retried; safe to cancel. Raises ``ProviderError``, also for an answer that names no count, and
    ``InvalidRequest``.
    """
    request = addressed(request, endpoint)
    if way.text_only and any(map(count_images, request.messages)):
        raise InvalidRequest(
            f"{way.name} counts no images or files. Leave `count` off for them."
        )
    encoded = await asyncio.to_thread(_encoded, request, way, policy, options)
    served = endpoint.root if way.at_root else endpoint
    answer = await _answer(encoded, served, client, request.model)
    tokens = answer.get(way.field)
    if way.tokenize is not None:
        text, tokens = tokens, None
        if isinstance(text, str):
            encoded = await asyncio.to_thread(way.tokenize, text, encoded)
            answer = await _answer(encoded, served, client, request.model)
            listed = answer.get("tokens")
            tokens = len(listed) if isinstance(listed, list) else None
    if type(tokens) is int and 0 < tokens <= MOST_TOKENS:
        return tokens
    raise ServerError(
        f"{endpoint.provider or endpoint.base_url} gave no count of this request. Leave `count` off for it."
    )


async def _answer(
    encoded: Encoded, endpoint: Endpoint, client: Client, model: str
) -> dict[str, Any]:
    post = Post(
        endpoint=endpoint,
        path=encoded.path,
        headers=encoded.headers,
        content=encoded.content,
        model=model,
    )
    return await ask(post, client)


def _encoded(
    request: Request, way: CountEndpoint, policy: ReasoningPolicy, options: Options
) -> Encoded:
    repaired = repair(request, policy=policy).request
    encoded = encode_count(repaired, way=way, options=options)
    assert encoded is not None, "a way was named"
    return encoded
