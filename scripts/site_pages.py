"""Makes the pages of docs/ and the repository's own files fit the site that mkdocs builds: a hook of mkdocs.yml.

The pages are written to be read in the repository too, where links lead to files beside docs/ and code blocks have
marks for the tests. On the site the files of the project are pages below ``project/``, the marks are gone, a picture
``…-light.png`` has its twin ``…-dark.png`` in the dark, and mkdocstrings makes the reference from the docstrings.
"""

import ast
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
    "RELEASING.md": "project/releasing.md",
    "ROADMAP.md": "project/roadmap.md",
    "SECURITY.md": "project/security.md",
    "bench/RESULTS.md": "project/benchmarks.md",
    "deploy/README.md": "project/deploy.md",
    "examples/README.md": "project/examples.md",
    "examples/coding-agent/README.md": "project/example-coding-agent.md",
    "examples/notebook/README.md": "project/example-notebook.md",
    "examples/research-agent/README.md": "project/example-research-agent.md",
    "examples/service/README.md": "project/example-service.md",
    "examples/web/README.md": "project/example-web.md",
    "packages/ullage/README.md": "project/ullage.md",
    "packages/ullage-agent/README.md": "project/ullage-agent.md",
    "packages/ullage-cluster/README.md": "project/ullage-cluster.md",
    "packages/ullage-proxy/README.md": "project/ullage-proxy.md",
    "packages/ullage-server/README.md": "project/ullage-server.md",
    "packages/ullage-simulators/README.md": "project/ullage-simulators.md",
    "packages/ullage-simulators/RULES.md": "project/simulators-rules.md",
    "tests/hostile/ATTACKS.md": "project/attacks.md",
}
"""Files of the repository and where they are on the site, whose first page takes the place of the README."""

PLAIN = (
    "deploy/haproxy.cfg",
    "examples/loop.py",
    "examples/strategy.py",
    "packages/ullage/src/ullage/events.py",
)
"""Files that pages link to and that the site has as they are, below ``project/``."""

FOLDERS = {"examples/scenarios": "project/examples.md"}
"""Folders that pages link to, and the page that describes each."""

FENCE_MARKS = re.compile(r"^(```\w+)[^\n`\w][^\n`]*$", re.MULTILINE)
REFERENCE = """<a id="{anchor}"></a>

::: ullage.{name}
    options:
      heading_level: 2
      show_root_heading: true
      show_if_no_docstring: {shows_fields}
"""
DOCUMENT = re.compile(r"docs/([\w/-]+)\.md")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the files of the project."""
    from mkdocs.structure.files import File  # in the group docs

    for name, place in PROJECT.items():
        if place != "index.md":
            files.append(
                File.generated(config, place, content=(ROOT / name).read_text("utf-8"))
            )
    for name in PLAIN:
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The text of a page as the site shows it."""
    place = page.file.src_uri
    if place == "reference.md":
        return reference()
    origin = origin_of(place)
    text = FENCE_MARKS.sub(r"\1", markdown)
    return LINK.sub(lambda found: link(found, place, origin), text)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """The HTML of a page; docstrings name pages by their files, and the reference links them."""
    if page.file.src_uri != "reference.md":
        return html
    return DOCUMENT.sub(r'<a href="../\1/">\1</a>', html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """A page's HTML, with a name for the theme's search dialog, which has none."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def origin_of(place: str) -> str:
    """The file of the repository that a page of the site is made from."""
    for name, target in PROJECT.items():
        if target == place and place != "index.md":
            return name
    return f"docs/{place}"


def link(found: re.Match[str], place: str, origin: str) -> str:
    """A link between files of the repository as one between pages; the text alone where there is no page."""
    mark, text, target = found.groups()
    if "://" in target or target.startswith(("#", "mailto:")):
        return found[0]
    path, hash_mark, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    page = page_of(file)
    if page is None:
        return text
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


def reference() -> str:
    """The public names, each for mkdocstrings to show."""
    names = sorted(public_names(), key=str.lower)
    shown = "\n\n".join(
        REFERENCE.format(
            name=name, anchor=name.lower(), shows_fields=str(name == "events").lower()
        )
        for name in names
    )
    return f"# Reference\n\nWhat `import ullage` gives. Everything else may change.\n\n{shown}\n"


def public_names() -> list[str]:
    """``ullage.__all__``, without importing it."""
    tree = ast.parse((ROOT / "packages/ullage/src/ullage/__init__.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise LookupError("packages/ullage/src/ullage/__init__.py has no __all__")
