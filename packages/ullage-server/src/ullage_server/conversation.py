"""Messages: sending them, reading them, and the queue of those not delivered yet."""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Final, cast

import msgspec
from litestar import Response, delete, get, post, put
from litestar.datastructures import State
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter

from ullage.codec.dimensions import image_size
from ullage.encoding import encode, shown_as
from ullage.errors import CommandRefused, InputError
from ullage.store.store import Receipt
from ullage_agent.runtime.message_input import NamedFile
from ullage_server.api_types import (
    Acknowledged,
    MessageContent,
    MessagePage,
    NewMessage,
    PendingMessage,
    Queue,
    Withdrawn,
)
from ullage_server.guard import unescaped
from ullage_server.live_types import REMEMBERED
from ullage_server.requests import Opened, TheHost
from ullage_server.traces import RequestTraces

LARGEST_MESSAGE: Final = 64 * 1024 * 1024
"""Bytes of a message as JSON, with images as base64. Providers accept 32 MB at most."""

LARGEST_PIECE: Final = 32 * 1024 * 1024
"""Bytes of stored data in one answer."""


class UnusableMessage(InputError):
    """A message that can't be sent."""


@post(
    "/v1/sessions/{session:str}/messages",
    status_code=202,
    summary="Send a message, in any state",
    request_max_body_size=LARGEST_MESSAGE,
)
async def send_message(
    opened: Opened,
    state: State,
    data: JSONBody[NewMessage],
    key: Annotated[
        str | None, HeaderParameter(name="Idempotency-Key", min_length=1, max_length=255)
    ] = None,
    traceparent: Annotated[
        str | None, HeaderParameter(name="traceparent", max_length=255)
    ] = None,
) -> Acknowledged:
    """The answer comes after the message is stored. Repeating an ``Idempotency-Key`` or ``id`` changes nothing. The
    turn belongs to the trace of ``traceparent`` (W3C Trace Context)."""
    name = data.id or ""
    if not name and key is not None:
        name = f"key-{blake2b(key.encode(), digest_size=16).hexdigest()}"
    pieces = _pieces(data)
    keys = cast(IdempotencyKeys, state.idempotency)
    if name:
        await refuse_taken(opened, name)
    if key is not None:
        keys.check(opened.id, key, data)
    traces = cast(RequestTraces, state.traces)
    with traces.sending(traceparent, opened.id) as trace:
        receipt = await opened.send(*pieces, kind=data.kind, id=name, trace=trace)
    if key is not None:
        keys.remember(opened.id, key, data)
    return acknowledged(receipt)


class IdempotencyKeys:
    """The bodies of the last idempotency keys, to detect a key that is used for two messages.

    Only a check: the store itself makes sure that a message is stored once.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], bytes] = {}

    def check(self, session: str, key: str, data: NewMessage) -> None:
        """Raises ``UnusableMessage`` if the key was used with another body."""
        digest = _digest(data)
        if self._seen.get((session, key), digest) != digest:
            raise UnusableMessage(
                f"The Idempotency-Key {key[:100]!r} was used for another message: take a new one."
            )

    def remember(self, session: str, key: str, data: NewMessage) -> None:
        """Remember the body of this key."""
        self._seen.pop((session, key), None)
        if len(self._seen) >= REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[session, key] = _digest(data)


def _digest(data: NewMessage) -> bytes:
    return blake2b(msgspec.json.encode(data), digest_size=16).digest()


async def refuse_taken(opened: Opened, name: str) -> None:
    """A person's message can't have the id of one of the agent's messages."""
    entry = (await opened._look()).fold.view.entries.get(name)
    if entry is not None and entry.role != "user":
        raise CommandRefused(
            f"{name} is the id of a message that is not a user's: choose another one."
        )


def _pieces(data: MessageContent) -> list[str | bytes | NamedFile]:
    if not data.text.strip() and not data.images and not data.files:
        raise UnusableMessage(
            "The message is empty: it has neither `text` nor `images` nor `files`. Send one of them."
        )
    for number, image in enumerate(data.images, 1):
        if image_size(image) is None and not image.startswith(b"%PDF-"):
            raise UnusableMessage(
                f"Image {number} is no image: send PNG, JPEG, GIF, WebP, BMP or PDF as base64."
            )
    pieces: list[str | bytes | NamedFile] = [*data.images]
    for file in data.files:
        pieces.append(NamedFile(file.name, file.data))
    if data.text.strip():
        pieces.append(data.text)
    return pieces


def acknowledged(receipt: Receipt) -> Acknowledged:
    """A receipt as the API's type."""
    return shown_as(Acknowledged, receipt, new=receipt.is_new)


@get(
    "/v1/sessions/{session:str}/messages",
    summary="The messages in view",
)
async def list_messages(
    opened: Opened,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
    before: Annotated[str | None, QueryParameter(max_length=300)] = None,
) -> MessagePage:
    """The newest ``limit``, or those just before the message ``before``, oldest first."""
    ledger = (await opened._look()).ledger
    view = ledger.meter._fold.view
    entries = list(view)
    end = len(entries)
    if before is not None:
        if before not in view.entries:
            raise CommandRefused(
                f"There is no message {before!r} in view. Read from the newest on."
            )
        end = [entry.id for entry in entries].index(before)
    start = max(0, end - limit)
    page = entries[start:end]
    await ledger.load(page)
    messages = tuple(msgspec.Raw(encode(entry.message)) for entry in page)
    earlier = entries[start].id if start else None
    return MessagePage(messages=messages, total=len(entries), before=earlier)


@get(
    "/v1/sessions/{session:str}/queue",
    summary="What waits, in the order of delivery",
)
async def list_queue(opened: Opened) -> Queue:
    """Messages that were sent and not delivered yet."""
    queue = []
    for pending in await opened.pending():
        message = msgspec.Raw(encode(pending.message))
        queue.append(shown_as(PendingMessage, pending, message=message))
    return Queue(queue=tuple(queue))


@put(
    "/v1/sessions/{session:str}/queue/{message:str}",
    summary="Edit a waiting message",
    request_max_body_size=LARGEST_MESSAGE,
)
async def edit_queued(
    opened: Opened, message: FromPath[str], data: JSONBody[MessageContent]
) -> Acknowledged:
    """Refused after its delivery. The message keeps its place."""
    return acknowledged(await opened.edit(unescaped(message), *_pieces(data)))


@delete(
    "/v1/sessions/{session:str}/queue/{message:str}",
    status_code=200,
    summary="Withdraw a waiting message",
)
async def withdraw_queued(opened: Opened, message: FromPath[str]) -> Withdrawn:
    """Returns the message. Refused after its delivery."""
    return Withdrawn(
        message=msgspec.Raw(encode(await opened.withdraw(unescaped(message))))
    )


@get(
    "/v1/sessions/{session:str}/kept/{handle:str}",
    summary="An image, or the full text of a long result",
    media_type="application/octet-stream",
)
async def get_kept(
    host: TheHost,
    session: FromPath[str],
    handle: FromPath[str],
    start: Annotated[int, QueryParameter(ge=0, le=2**53)] = 0,
    size: Annotated[int, QueryParameter(ge=1, le=LARGEST_PIECE)] = LARGEST_PIECE,
) -> Response[bytes]:
    """``size`` bytes from ``start`` of the data that a part's ``source`` (``kept:HANDLE``) or a tool's result names."""
    data = await host.store.kept(
        unescaped(session), unescaped(handle), start=start, size=size
    )
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"cache-control": "private, max-age=86400"},
    )
