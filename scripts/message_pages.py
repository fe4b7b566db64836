"""The site's pages of messages: each message of an error that the source makes, by what it is about.

Made with the site, so that none can be missing. A message says what happened and what to do, and is a heading, so that
the search finds it by the words that a user pastes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from scripts.house.messages import VALUE, messages
from scripts.house.source import of_ullage


class Area(NamedTuple):
    """Messages of some folders, and the guide to what they are about."""

    title: str
    guide: str
    folders: tuple[str, ...]


AREAS: Final = (
    Area("Calls of a model", "wire", ("ullage/wire", "ullage/codec", "ullage/models")),
    Area("The store", "store", ("ullage/store", "ullage/check", "ullage_cluster/postgr")),
    Area("Tools and the sandbox", "tools", ("ullage_agent/tools",)),
    Area("Chat", "chat", ("ullage_agent/chat",)),
    Area("Agents, sessions, settings", "agent", ("ullage_agent/",)),
    Area("Servers and workers", "http", ("ullage_server/", "ullage_cluster/")),
    Area(
        "Meter, Compactor, plug-ins", "meter", ("ullage/meter", "ullage/co", "ullage/pl")
    ),
    Area("Commands, logs, clients", "clients", ("",)),
)
"""The first that fits counts, and the last one takes what is left."""


def page_names() -> dict[str, str]:
    """Each page of the site by its place, with its title."""
    return {f"messages/{area.guide}.md": area.title for area in AREAS}


@cache
def by_area() -> Mapping[Area, list[str]]:
    """The texts of each area's messages in the order of the alphabet."""
    found: dict[Area, list[str]] = {area: [] for area in AREAS}
    for place, _, text in messages(of_ullage()):
        area = next(area for area in AREAS if place.startswith(area.folders))
        found[area].append(" ".join(text.replace(VALUE, "…").split()))
    return {area: sorted(set(texts)) for area, texts in found.items()}


def shown(text: str) -> str:
    """A message as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def page(place: str) -> str:
    """The page of one area."""
    area = next(area for area in AREAS if place == f"messages/{area.guide}.md")
    parts = [
        f"# {area.title}: messages\n\n[The guide](../{area.guide}.md). `…` is a value."
    ]
    for number, text in enumerate(by_area()[area]):
        parts.append(f'<h3 class="message" id="m{number}">{shown(text)}</h3>')
    return "\n\n".join(parts)
