"""Makes the pages of docs/ and the repository's own files fit the site that mkdocs builds: a hook of mkdocs.yml.

The pages are written to be read in the repository too, where links lead to files beside docs/ and code blocks have
marks for the tests. On the site the files of the project are pages below ``project/``, the marks are gone, a picture
``…-light.png`` has its twin ``…-dark.png`` in the dark, and mkdocstrings makes the pages of the reference
(``scripts/reference_pages.py``) from the docstrings.
"""

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # mkdocs loads this file by its path

from scripts import message_pages, split_pages  # noqa: E402
from scripts.reference_pages import (  # noqa: E402
    inner_names,
    page_names,
    part_pages,
)
from scripts.reference_pages import page as page_of_name  # noqa: E402

PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
    "RECIPES.md": "project/recipes.md",
    "RELEASING.md": "project/releasing.md",
    "ROADMAP.md": "project/roadmap.md",
    "SECURITY.md": "project/security.md",
    "bench/RESULTS.md": "project/benchmarks.md",
    "deploy/README.md": "project/deploy.md",
    "examples/README.md": "project/examples.md",
    "examples/coding-agent/README.md": "project/example-coding-agent.md",
    "examples/notebook/README.md": "project/example-notebook.md",
    "examples/recordings/README.md": "project/example-recordings.md",
    "examples/research-agent/README.md": "project/example-research-agent.md",
    "examples/service/README.md": "project/example-service.md",
    "examples/testing/README.md": "project/example-testing.md",
    "examples/web/README.md": "project/example-web.md",
    "packages/ullage/README.md": "project/ullage.md",
    "packages/ullage-agent/README.md": "project/ullage-agent.md",
    "packages/ullage-cluster/README.md": "project/ullage-cluster.md",
    "packages/ullage-proxy/README.md": "project/ullage-proxy.md",
    "packages/ullage-server/README.md": "project/ullage-server.md",
    "packages/ullage-simulators/README.md": "project/ullage-simulators.md",
    "packages/ullage-simulators/RULES.md": "project/simulators-rules.md",
    "tests/README.md": "project/tests.md",
    "tests/hostile/ATTACKS.md": "project/attacks.md",
}
"""Files of the repository and where they are on the site, whose first page takes the place of the README."""

PLAIN = (
    "LICENSE",
    "bench/three/coding.py",
    "bench/three/coding_pydantic_ai.py",
    "bench/three/research.py",
    "bench/three/research_pydantic_ai.py",
    "bench/three/support.py",
    "bench/three/support_pydantic_ai.py",
    "deploy/haproxy.cfg",
    "examples/loop.py",
    "examples/redis_store.py",
    "examples/provider.py",
    "examples/strategy.py",
    "packages/ullage/src/ullage/events.py",
)
"""Files that pages link to and that the site has as they are, below ``project/``."""

FOLDERS = {"examples/scenarios": "project/examples.md"}
"""Folders that pages link to, and the page that describes each."""

FENCE_MARKS = re.compile(r"^(```\w+)[^\n`\w][^\n`]*$", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)`", re.MULTILINE)
"""A row of the reference's index, which names a page."""

SEARCH = re.compile(
    r'(<script src="[^"]*bundle\.\w+\.min\.js"></script>.*?)'
    r'(<script src="[^"]*assets/search\.js"></script>)',
    re.DOTALL,
)
"""The theme's script, and the one of the search that has to come before it."""

DOCUMENT = re.compile(r"docs/([\w/-]+)\.md")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Put the pages of the reference below its index, and those of messages behind troubleshooting."""
    nav = {title: pages for part in config["nav"] for title, pages in part.items()}
    named = [{name: place} for place, name in page_names().items()]
    nav["Reference"][0] = {"Python": ["reference.md", *named]}
    made = message_pages.made_pages()
    told = [{title: place} for place, (title, _) in made.items()]
    nav["Help"].insert(1, {"Messages": told})
    for entry in nav["Project"]:
        for title, place in entry.items():
            for name, folder in split_pages.SPLIT.items():
                if place == f"{folder}.md":
                    parts = split_pages.split(name)[1]
                    entry[title] = [place, *({each.title: each.place} for each in parts)]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the files of the project."""
    from mkdocs.structure.files import File  # in the group docs

    for name, place in PROJECT.items():
        made = {place: (ROOT / name).read_text("utf-8")}
        if name in split_pages.SPLIT:
            made = split_pages.pages(name)
        for each, text in made.items():
            if each != "index.md":
                files.append(File.generated(config, each, content=text))
    for place, name in (page_names() | inner_names()).items():
        files.append(File.generated(config, place, content=page_of_name(name)))
    for place, text in part_pages().items():
        files.append(File.generated(config, place, content=text))
    for place in message_pages.made_pages():
        text = message_pages.page(place)
        files.append(File.generated(config, place, content=text))
    for name in PLAIN:
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The text of a page as the site shows it."""
    place = page.file.src_uri
    if place.startswith("reference/"):
        return markdown
    if place == "reference.md":
        markdown = ROW.sub(
            lambda row: f"| [`{row[1]}`](reference/{row[1].lower()}.md)", markdown
        )
    origin = origin_of(place)
    text = FENCE_MARKS.sub(r"\1", markdown)
    return LINK.sub(lambda found: link(found, place, origin), text)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """The HTML of a page; docstrings name pages by their files, and the reference links them."""
    place = page.file.src_uri
    if not place.startswith("reference/"):
        return html
    top = "../" * (place.count("/") + 1)
    return DOCUMENT.sub(rf'<a href="{top}\1/">\1</a>', html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """A page's HTML: the theme's search dialog gets a name, and its results are sorted before the theme has them."""
    output = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return SEARCH.sub(r"\2\n\1", output)


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same for the page of an address that does not exist."""
    return SEARCH.sub(r"\2\n\1", output)


def origin_of(place: str) -> str:
    """The file of the repository that a page of the site is made from."""
    for name, target in PROJECT.items():
        folder = split_pages.SPLIT.get(name, target)
        if place != "index.md" and place.startswith((target, f"{folder}/")):
            return name
    return f"docs/{place}"


def link(found: re.Match[str], place: str, origin: str) -> str:
    """A link between files of the repository as one between pages; the text alone where there is no page."""
    mark, text, target = found.groups()
    is_split = origin in split_pages.SPLIT
    if (
        "://" in target
        or target.startswith("mailto:")
        or (target[0] == "#" and not is_split)
    ):
        return found[0]
    path, hash_mark, anchor = target.partition("#")
    path = path or posixpath.basename(origin)
    if path.endswith("reference.md") and anchor:
        path, hash_mark, anchor = f"{path.removesuffix('.md')}/{anchor}.md", "", ""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    page = page_of(file)
    if page is None:
        return text
    if file in split_pages.SPLIT and anchor:
        page, anchor = split_pages.place_of(file, anchor)
        hash_mark = "#" * bool(anchor)
    relative = posixpath.relpath(page, posixpath.dirname(place) or ".")
    if mark and relative.endswith("-light.png"):
        dark = relative.replace("-light.png", "-dark.png")
        return f"![{text}]({relative}#only-light)![{text}]({dark}#only-dark)"
    return f"{mark}[{text}]({relative}{hash_mark}{anchor})"


def page_of(file: str) -> str | None:
    """Where a file or folder of the repository is on the site; ``None`` where it is not."""
    if file in PLAIN:
        return f"project/{file}"
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    return PROJECT.get(file) or FOLDERS.get(file)
