"""What pages of the documentation owe their readers: links that lead somewhere, blocks that say what they are, and
guides that begin with what to type."""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts import site_pages
from scripts.house.pages import ROOT, blocks, links, pages

LANGUAGES = {"python", "console", "jsx", "sh", "text", "json", "toml"}
"""The first three are run by the tests (``jsx`` as lines of examples/web), the others are shown: setting up, and what
is not code."""

TYPED = re.compile(r"^(```|    \w)|`(ullage|uv) ", re.MULTILINE)


def faults_of(page: Path, text: str) -> Iterator[str]:
    """What is wrong with one page: links that lead nowhere, and blocks in no language or in an unknown one."""
    name = page.relative_to(ROOT).as_posix()
    for target in links(text):
        if not (page.parent / target).exists():
            yield f"{name}: there is no {target}"
    for block in blocks(text):
        if block.language not in LANGUAGES:
            yield f"{name}:{block.line}: a block in {block.language or 'no language'}; there are {sorted(LANGUAGES)}"


def places_on_the_site() -> dict[str, Path]:
    """Each page of the site, and the file that it is made from."""
    docs = ROOT / "docs"
    found = {path.relative_to(docs).as_posix(): path for path in docs.rglob("*.md")}
    project = {place: ROOT / name for name, place in site_pages.PROJECT.items()}
    return project | found


def lost_on_the_site(place: str, text: str) -> Iterator[str]:
    """Links between files of the repository that are none on the site."""
    origin = site_pages.origin_of(place)
    for found in site_pages.LINK.finditer(text):
        if "](" not in site_pages.link(found, place, origin):
            yield f"{place}: the link to {found[3]} is none on the site"


def without_a_page(picture: str) -> bool:
    """Whether no page shows a picture, or the light twin of a dark one."""
    shown = picture.replace("-dark.png", "-light.png")
    files = {*pages(), *places_on_the_site().values()}
    return not any(shown in file.read_text("utf-8") for file in files)


def guides() -> list[Path]:
    """The pages that mkdocs.yml has as guides."""
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = nav.partition("- Guides:")[2].partition("- Explanation:")[0]
    return [ROOT / "docs" / name for name in re.findall(r"[\w/-]+\.md", named)]


def late(page: Path, text: str) -> Iterator[str]:
    """A guide that does not begin with what to type: a code block or a command."""
    beginning = "\n".join(text.splitlines()[:15])
    if not TYPED.search(beginning):
        yield f"{page.relative_to(ROOT).as_posix()}: its first 15 lines do not say what to type"


def faults() -> Iterator[str]:
    """What is wrong with any of the pages."""
    for page in pages():
        yield from faults_of(page, page.read_text("utf-8"))
    for place, file in places_on_the_site().items():
        yield from lost_on_the_site(place, file.read_text("utf-8"))
    for guide in guides():
        yield from late(guide, guide.read_text("utf-8"))
    for picture in sorted(ROOT.glob("docs/images/*")):
        if without_a_page(picture.name):
            yield f"{picture.relative_to(ROOT).as_posix()}: is shown by no page"
