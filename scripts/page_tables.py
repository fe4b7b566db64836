"""Prints the tables of docs/http.md and docs/wire.md that are made from the code: paths, and providers.

    uv run python -m scripts.page_tables

A test compares the pages with these tables.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator

import msgspec
from litestar.handlers import HTTPRouteHandler

from ullage.models.providers import TABLE, Provider
from ullage.server.app import HANDLERS

SESSION = "/v1/sessions/{session}"
"""Written as ``…`` in the table."""


def paths_table() -> str:
    """The paths of the HTTP API with the fields of their bodies, as Markdown."""
    rows = ["| path | what it does |", "|---|---|"]
    for handler in HANDLERS:
        if handler.summary:
            rows += (f"| {shown} | {handler.summary} |" for shown in _shown(handler))
    return "\n".join(rows)


def _shown(handler: HTTPRouteHandler) -> Iterator[str]:
    body = _body(handler)
    for path in sorted(handler.paths):
        short = re.sub(r":\w+}", "}", path).replace(SESSION, "…")
        for method in sorted(handler.http_methods):
            yield f"`{method} {short}`" + (f" `{body}`" if body else "")


def _body(handler: HTTPRouteHandler) -> str:
    """The fields of the body, those that may be left out with ``?``."""
    hints = typing.get_type_hints(handler.fn)
    kinds = typing.get_args(hints.get("data")) or (hints.get("data"),)
    names = []
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            for field in msgspec.structs.fields(kind):
                names.append(field.encode_name + ("" if field.required else "?"))
    return f"{{{', '.join(names)}}}" if names else ""


def providers_table() -> str:
    """The providers that Ullage sends requests to, as Markdown."""
    rows = ["| name | API | address | key |", "|---|---|---|---|"]
    for row in TABLE:
        if row.base_url or row.url_env:
            names = ", ".join(f"`{name}`" for name in (row.name, *row.aliases))
            addresses = [f"`{each}`" for each in (row.base_url, *row.url_env) if each]
            rows.append(
                f"| {names} | {row.wire} | {', '.join(addresses)} | {_key(row)} |"
            )
    return "\n".join(rows)


def _key(row: Provider) -> str:
    names = ", ".join(f"`{name}`" for name in row.key_env)
    return names if row.needs_key else f"none needed ({names})"


if __name__ == "__main__":
    print(paths_table(), providers_table(), sep="\n\n")
