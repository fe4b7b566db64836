"""The site's pages of messages: each message that the source makes, by what it is about.

Made with the site, so that none can be missing. A message says what happened and what to do, and is a heading, so that
the search finds it by the words that a user pastes (``docs/assets/search.js``).
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Final

from scripts.house.messages import VALUE, messages, script_sentences, sentences
from scripts.house.source import PACKAGES, of_ullage

AREAS: Final = {
    "Calls of a model": "wire ullage/wire ullage/codec ullage/models",
    "The store": "store ullage/store ullage/checkpoint ullage_cluster/postgres",
    "Tools and the sandbox": "tools ullage_agent/tools",
    "Chat": "chat ullage_agent/chat",
    "Agents and their commands": "exit-codes ullage_agent/cli",
    "Agents, sessions, settings": "agent ullage_agent/ ullage/turns",
    "The web page": "page ullage_server/page/",
    "Servers": "http ullage_server/",
    "Workers and clusters": "scale ullage_cluster/",
    "The proxy": "proxy ullage_proxy/",
    "Compaction": "compaction ullage/context ullage/compactor",
    "Meter, plug-ins, loops": "meter ullage/meter ullage/plugins ullage/attach",
    "Advice": "advice ullage/advice",
    "Commands": "watch ullage/cli",
    "Logs and clients": "clients ullage",
}
"""By title: the guide to what messages are about, and where they come from. The first that fits counts, and the
last one takes what is left."""

PAGE: Final = PACKAGES / "ullage-server" / "src"


@cache
def made_pages() -> dict[str, tuple[str, list[str]]]:
    """Each page of the site by its place: its title and messages."""
    left = found_messages()
    made = {}
    for title, words in AREAS.items():
        guide, *folders = words.split()
        texts = [text for text in sorted(left) if left[text].startswith(tuple(folders))]
        made[f"messages/{guide}.md"] = (title, texts)
        for text in texts:
            del left[text]
    return made


def found_messages() -> dict[str, str]:
    """Every message by its text, with the file that makes it."""
    files = of_ullage()
    found = {text: name for name, text in sentences(files)}
    for file in PAGE.glob("ullage_server/page/*.js"):
        for text in script_sentences(file.read_text("utf-8")):
            found[" ".join(text.split())] = file.relative_to(PAGE).as_posix()
    for message in messages(files):
        found[" ".join(message.text.split())] = message.place
    return found


def page(place: str) -> str:
    """The text of a page."""
    title, texts = made_pages()[place]
    parts = [f"# {title}: messages\n\n[The guide](../{place[9:]}). `…` is a value."]
    for number, text in enumerate(texts):
        shown = html.escape(text.replace(VALUE, "…"), quote=False)
        shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", shown)
        parts.append(f'<h3 class="message" id="m{number}">{shown}</h3>')
    return "\n\n".join(parts)
