"""Writes the pages that are made from the code: docs/all-paths.md and docs/all-providers.md.

    uv run python -m scripts.page_tables

A test compares the pages with what this makes.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from pathlib import Path

import msgspec
from litestar.handlers import HTTPRouteHandler

from ullage.models.providers import ProviderRow, known_providers
from ullage_server.app import HANDLERS

SESSION = "/v1/sessions/{session}"
"""Written as ``…`` in the table."""

DOCS = Path(__file__).parents[1] / "docs"


def made_pages() -> dict[str, str]:
    """Each page by its file's name, as Markdown."""
    made_by = "<!-- Made by `uv run python -m scripts.page_tables`. -->"
    return {
        "all-paths.md": f"""# All paths of HTTP

{made_by}

[HTTP](http.md) says how they are used. `…` is `/v1/sessions/{{id}}`; write the slash in
`parent/call`, the id of a tool call's own session, as `%2F`. Parameters and answers are in `/schema/openapi.json`.

{paths_table()}
""",
        "all-providers.md": f"""# All providers

{made_by}

`ullage run "What is ullage?" --model NAME:MODEL` asks one: [providers](wire.md).

{providers_table()}
""",
    }


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
    for row in known_providers():
        if row.base_url or row.url_env:
            names = ", ".join(f"`{name}`" for name in (row.name, *row.aliases))
            addresses = [f"`{each}`" for each in (row.base_url, *row.url_env) if each]
            rows.append(
                f"| {names} | {row.wire} | {', '.join(addresses)} | {_key(row)} |"
            )
    return "\n".join(rows)


def _key(row: ProviderRow) -> str:
    names = ", ".join(f"`{name}`" for name in row.key_env)
    return names if row.needs_key else f"none needed ({names})"


if __name__ == "__main__":
    for name, text in made_pages().items():
        (DOCS / name).write_text(text, "utf-8")
