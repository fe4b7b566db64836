"""The site's pages of messages: each message of an error that the source makes, by what it is about.

Made with the site, so that none can be missing. A message says what happened and what to do, and is a heading, so that
the search finds it by the words that a user pastes.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Final

from scripts.house.messages import VALUE, messages
from scripts.house.source import of_ullage

AREAS: Final = {
    "Calls of a model": "wire ullage/wire ullage/codec ullage/models",
    "The store": "store ullage/store ullage/checkpoint ullage_cluster/postgres",
    "Tools and the sandbox": "tools ullage_agent/tools",
    "Chat": "chat ullage_agent/chat",
    "Agents, sessions, settings": "agent ullage_agent/",
    "Servers and workers": "http ullage_server/ ullage_cluster/",
    "Meter, Compactor, plug-ins": "meter ullage/meter ullage/co ullage/plugins",
    "Commands, logs, clients": "clients ullage",
}
"""By title: the guide to what messages are about, and where they come from. The first that fits counts, and the
last one takes what is left."""


@cache
def made_pages() -> dict[str, tuple[str, list[str]]]:
    """Each page of the site by its place: its title and messages."""
    left = {" ".join(told.text.split()): told.place for told in messages(of_ullage())}
    made = {}
    for title, words in AREAS.items():
        guide, *folders = words.split()
        texts = [text for text in sorted(left) if left[text].startswith(tuple(folders))]
        made[f"messages/{guide}.md"] = (title, texts)
        for text in texts:
            del left[text]
    return made


def page(place: str) -> str:
    """The text of a page."""
    title, texts = made_pages()[place]
    parts = [f"# {title}: messages\n\n[The guide](../{place[9:]}). `…` is a value."]
    for number, text in enumerate(texts):
        shown = html.escape(text.replace(VALUE, "…"), quote=False)
        shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", shown)
        parts.append(f'<h3 class="message" id="m{number}">{shown}</h3>')
    return "\n\n".join(parts)
