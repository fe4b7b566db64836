"""Splits long files of the project into pages of the site, one for each section (``scripts/site_pages.py``)."""

import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]

SPLIT: Final = {
    "packages/ullage-simulators/RULES.md": "project/simulators-rules",
    "bench/RESULTS.md": "project/benchmarks",
}
"""Files with many long tables, and where their pages are on the site."""

SIGNS: Final = re.compile(r"[^\w\- ]")


class Section(NamedTuple):
    """A section that is a page: its title, its place on the site and its text."""

    title: str
    place: str
    text: str


def anchor_of(title: str) -> str:
    """The anchor of a heading, as in the repository."""
    return SIGNS.sub("", title.lower()).replace(" ", "-")


@cache
def split(name: str) -> tuple[str, list[Section]]:
    """What a file begins with, and its sections."""
    head, *parts = re.split(r"^## ", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE)
    sections = []
    for part in parts:
        title = part.partition("\n")[0].strip()
        place = f"{SPLIT[name]}/{anchor_of(title)}.md"
        sections.append(Section(title, place, f"# {part}"))
    return head, sections


def pages(name: str) -> dict[str, str]:
    """The pages of a file by their places; the first one leads to the others, by anchors as in the repository."""
    head, sections = split(name)
    links = [f"- [{each.title}](#{anchor_of(each.title)})" for each in sections]
    first = "\n".join([head.rstrip(), "", *links, ""])
    return {f"{SPLIT[name]}.md": first} | {each.place: each.text for each in sections}


def place_of(name: str, anchor: str) -> tuple[str, str]:
    """Where an anchor of a split file is: the page, and what is left of the anchor."""
    _, sections = split(name)
    for section in sections:
        headings = re.findall(r"^#+ (.+)$", section.text, re.MULTILINE)
        if anchor in map(anchor_of, headings):
            rest = "" if anchor == anchor_of(section.title) else anchor
            return section.place, rest
    return f"{SPLIT[name]}.md", ""
