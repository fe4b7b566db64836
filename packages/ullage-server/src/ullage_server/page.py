"""The page's files."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Final

import msgspec
from litestar import Response, get, post
from litestar.datastructures import State
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, JSONBody

from ullage_server.guard import LINK
from ullage_server.problems import AnyRequest, LinkVoid

PAGE: Final = Path(__file__).parent / "page"

KINDS: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
"""The media types of files that may be served, by suffix; text is UTF-8."""


@get("/", include_in_schema=False)
async def index(request: AnyRequest) -> Response[bytes]:
    """The page."""
    return await _served("index.html", request)


class LinkWord(msgspec.Struct, frozen=True):
    """What the one-time link has behind ``#link=``."""

    word: str


class PageToken(msgspec.Struct, frozen=True):
    """The token of the page."""

    token: str


@post(LINK, status_code=200, include_in_schema=False)
async def redeem_link(data: JSONBody[LinkWord], state: State) -> Response[PageToken]:
    """The page's token for the word of its link, once. Raises ``LinkVoid``."""
    token = state.tokens.redeem(data.word)
    if not token:
        raise LinkVoid(
            "Start the server again for a new link: this one was used, or an earlier start of the server printed it."
        )
    return Response(PageToken(token), headers={"cache-control": "no-store"})


@get("/assets/{path:path}", include_in_schema=False)
async def asset(path: FromPath[Path], request: AnyRequest) -> Response[bytes]:
    """A file of the page."""
    return await _served(path.as_posix().lstrip("/"), request)


async def _served(name: str, request: AnyRequest) -> Response[bytes]:
    path = (PAGE / name.replace("\0", "")).resolve()
    if "\0" in name or not path.is_relative_to(PAGE) or path.suffix not in KINDS:
        raise NotFoundException(f"There is no file {name!r}.")
    try:
        content = await asyncio.to_thread(path.read_bytes)
    except OSError:
        raise NotFoundException(f"There is no file {name!r}.") from None
    headers = {"cache-control": "no-cache", "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        content = await asyncio.to_thread(gzip.compress, content, mtime=0)
    return Response(content, media_type=KINDS[path.suffix], headers=headers)
