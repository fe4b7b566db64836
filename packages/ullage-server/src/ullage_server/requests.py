"""What handlers get from a request: the host, the session that the path names, a checked JSON body, a file."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.exceptions import ClientException
from litestar.params import FromPath

from ullage.bounds import TOO_DEEP, json_excess
from ullage.display.text import quoted
from ullage.envelope import JSON_DEPTH
from ullage.errors import InputError
from ullage_agent.runtime.hosting import TenantHost, is_child
from ullage_agent.runtime.session import Session
from ullage_server.guard import unescaped
from ullage_server.problems import AnyRequest
from ullage_server.scopes import bearer_of

TheHost: TypeAlias = NamedDependency[TenantHost]
"""The host behind this server as the caller's tenant sees it, as a handler's parameter."""

Opened: TypeAlias = NamedDependency[Session]
"""The open session that the path names, as a handler's parameter."""

RESERVED: Final = frozenset({"import"})
"""Paths below ``/v1/sessions`` that are no session."""

LONGEST_ID: Final = 128
"""Characters of an id of a session that is begun over HTTP."""

LARGEST: Final = 512 * 1024 * 1024
"""Bytes of an uploaded file: a session of 100,000 messages has about 100 MB."""


class UnusableFile(InputError):
    """An uploaded file that can't be used."""


def host_of(request: AnyRequest, state: State) -> TenantHost:
    """The host behind this server as the tenant of the request's token sees it. Handlers have no other one."""
    return TenantHost(state.host, bearer_of(request).tenant)


async def session_named(host: TheHost, session: FromPath[str]) -> Session:
    """The open session that the path names. Raises ``SessionNotFound``, ``StoreUnavailable``."""
    return await host.look(unescaped(session))


def usable_id(given: str | None) -> str:
    """The id of a new session, which a path can hold; empty for none. Raises ``ClientException``."""
    if given is None:
        return ""
    if given in RESERVED or given.endswith("\n"):
        raise ClientException(
            f"{given!r} can't be the id of a session: choose another one."
        )
    return given


def usable_id_in(file: str) -> str:
    """The id that an uploaded file names, for a new session of this server. Raises ``UnusableFile``."""
    if not file or file in RESERVED or is_child(file) or len(file) > LONGEST_ID:
        raise UnusableFile(
            f"The file names the session {quoted(file)}, which can't be one here. Give it another id with `?id=`."
        )
    return file


async def check_body(request: AnyRequest) -> None:
    """Checks JSON before it is decoded, so that unreadable or deep JSON is the client's error.

    Litestar reads a body that is described as JSON as such, whatever the client calls it. Raises ``ClientException``.
    """
    if request.route_handler.parsed_data_field is None:
        return
    body = await request.body()
    try:
        body.decode()
    except UnicodeDecodeError as problem:
        raise ClientException(
            f"The body is not UTF-8: byte {problem.start} can't be read."
        ) from problem
    excess = json_excess(body)
    if excess == TOO_DEEP:
        raise ClientException(
            f"The body is JSON that is {excess}: at most {JSON_DEPTH} levels."
        )
    if excess:
        raise ClientException(f"The body is JSON with {excess}.")


@asynccontextmanager
async def received(
    request: AnyRequest, name: str = "upload.jsonl"
) -> AsyncIterator[Path]:
    """The body in a temporary file. Raises ``ClientException`` for an empty body.

    An ``InputError`` raised while it is read becomes ``UnusableFile``, which does not tell the file's path.
    """
    with tempfile.TemporaryDirectory(prefix="ullage-upload-") as directory:
        path = Path(directory) / name
        size = 0
        with await asyncio.to_thread(path.open, "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                await asyncio.to_thread(file.write, chunk)
        if not size:
            raise ClientException("The body is empty: send the file itself as the body.")
        try:
            yield path
        except InputError as problem:
            raise UnusableFile(str(problem).replace(str(path), "The file")) from problem
