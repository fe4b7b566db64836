"""``attach`` a Meter or a Compactor to the client of a provider's SDK: the program's own loop stays as it is.

    client = ullage.attach(openai.OpenAI(), ullage.Meter("gpt-4.1"))

What is followed is the HTTP client under the SDK's client: every method of the SDK ends there (``create``, ``parse``,
``stream``, ``with_raw_response``, ``beta``, ``with_options``), each retry by itself, and what other libraries send
through the same client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from ullage.errors import WrongType
from ullage.plugins.sdk_calls import CallFollower, SdkCalls
from ullage.plugins.sdk_http import is_async, package_of, sending, sending_async

ClientT = TypeVar("ClientT")

_UNSEEN: Final = ("Bedrock", "Vertex", "AWS", "Foundry")
"""In the names of Anthropic's clients for other clouds: their requests are signed, or have other addresses."""

_ATTRIBUTES: Final = ("_client", "_httpx_client", "_async_httpx_client")
"""Where the SDKs keep their HTTP client: openai and anthropic, google-genai twice."""

_USES_AIOHTTP: Final = "_use_aiohttp"
"""The method of google-genai (1.x to 3.4) that decides whether async calls go through aiohttp, if it is installed."""

_BEFORE: Final = "_ullage_send"
"""Where a followed client keeps the ``send`` that it had before."""


def attach(
    client: ClientT,
    follower: CallFollower | Callable[[str], CallFollower],
) -> ClientT:
    """The same client, whose calls of models are followed from now on. A second ``attach`` replaces the first.

    Args:
        client: One of ``openai``, ``anthropic`` or ``google-genai``, sync or async, or the ``httpx`` client that one
            is given.
        follower: A ``Meter`` reads each request before it is sent and its usage afterwards; a ``Compactor`` also
            shortens the request. Both follow the first conversation that is sent. A function is called with the name
            of each conversation and gives its follower.

    Raises:
        WrongType: The client can't be followed, or the follower is another thing.
    """
    found = list(_http_clients(client))
    if not found:
        raise WrongType(
            f"A {type(client).__name__} can't be followed: pass a client of openai, anthropic or google-genai, or the "
            "httpx client that it is given. Beside any other loop use Meter.before and Meter.after."
        )
    _check(follower)
    detach(client)
    _leave_aiohttp(client)
    calls = SdkCalls(follower)
    for http in found:
        _follow(http, calls)
    return client


def _check(follower: object) -> None:
    """Raises ``WrongType`` for what can't follow a client."""
    if isinstance(follower, type):
        given = f"the class {follower.__name__}"
    elif isinstance(follower, CallFollower) or callable(follower):
        return
    else:
        given = f"an object of type {type(follower).__name__}"
    raise WrongType(
        "A client is followed by a Meter, a Compactor, or a function that gives one for the name of each conversation, "
        f"and not by {given}."
    )


def detach(client: ClientT) -> ClientT:
    """The same client without what ``attach`` did. Running calls are still followed to their end.

    Args:
        client: One that ``attach`` was given; another one is left as it is.
    """
    for http in _http_clients(client):
        attributes = vars(http)
        if _BEFORE not in attributes:
            continue
        before = attributes.pop(_BEFORE)
        del attributes["send"]
        if before is not None:
            attributes["send"] = before
    google = getattr(client, "_api_client", None)
    if google is not None:
        vars(google).pop(_USES_AIOHTTP, None)
    return client


def _leave_aiohttp(client: object) -> None:
    """Have Google's client use its httpx client for async calls: it is made beside aiohttp's in any case."""
    google = getattr(client, "_api_client", None)
    uses_aiohttp = getattr(google, _USES_AIOHTTP, None)
    if google is None or uses_aiohttp is None or not uses_aiohttp():
        return
    if getattr(google._http_options, "aiohttp_client", None) is not None:
        raise WrongType(
            "A client of google-genai with an aiohttp session of its own can't be followed: leave "
            "aiohttp_client out of its http_options, or give it an httpx_async_client."
        )
    vars(google)[_USES_AIOHTTP] = _no


def _no() -> bool:
    return False


def _follow(http: Any, calls: SdkCalls) -> None:
    package = package_of(http)
    wrap = sending_async if is_async(http) else sending
    attributes = vars(http)
    before = attributes.get("send")
    followed = wrap(calls, http.send, package)
    attributes[_BEFORE] = before
    attributes["send"] = followed


def _http_clients(client: object) -> Iterator[Any]:
    """The HTTP clients under an SDK's client."""
    if package_of(client):
        yield client
        return
    for kind in type(client).__mro__:
        if any(word in kind.__name__ for word in _UNSEEN):
            return
    under = getattr(client, "_api_client", client)
    for name in _ATTRIBUTES:
        http = getattr(under, name, None)
        if package_of(http):
            yield http
