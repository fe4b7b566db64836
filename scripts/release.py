"""Checks that a tag, the versions and the changelog agree, and writes the release notes (RELEASING.md).

uv run python -m scripts.release v0.2.0 --notes notes.md [--publish] [--address https://HOST/OWNER/NAME/blob/v0.2.0]
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from scripts.install_lines import PUBLISHED
from scripts.repository import ROOT

CITATION = "CITATION.cff"
CHANGELOG = "CHANGELOG.md"
FILE_LINK = re.compile(r"\]\((?=[\w/.-]+\.md)")
"""The beginning of a link to a file of the repository, which leads nowhere from a release's page."""
PINNED = re.compile(r'"ullage[^"]*==([^"]+)"')
"""The version of another distribution that one of ours needs: all are released together."""


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version that each file names, by the file; all of them where they differ."""
    found = {}
    for path in sorted(root.glob("packages/*/pyproject.toml")):
        text = path.read_text()
        named = {tomllib.loads(text)["project"]["version"], *PINNED.findall(text)}
        found[path.relative_to(root).as_posix()] = " and ".join(sorted(named))
    cited = re.search(r"^version: (.+)$", (root / CITATION).read_text(), re.MULTILINE)
    found[CITATION] = cited[1] if cited else "no version"
    return found


def notes_of(version: str, changelog: str) -> str:
    """The changelog's section of a version, without its heading; empty where it has none."""
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n"
    begins = re.search(heading, changelog, re.MULTILINE)
    if begins is None:
        return ""
    rest = changelog[begins.end() :]
    ends = re.search(r"^## ", rest, re.MULTILINE)
    return rest[: ends.start() if ends else len(rest)].strip()


def on_a_page(notes: str, address: str) -> str:
    """Notes as GitHub shows them with a release: a new line is a break, and a link to a file needs its address."""
    if address:
        notes = FILE_LINK.sub(f"]({address}/", notes)
    return re.sub(r"\n +(?! |-)", " ", notes)


UNPUBLISHED = (
    "The READMEs that the index shows would install from a clone: set PUBLISHED in"
    " scripts/install_lines.py, and run `uv run python -m scripts.install_lines`."
)


def problems(tag: str, found: Mapping[str, str], changelog: str) -> list[str]:
    """What has to be changed before this tag can be released."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"The tag {tag} is no version: name it like v0.2.0."]
    version = tag[1:]
    wrong = []
    for name, named in found.items():
        if named != version:
            wrong.append(f"{name} has the version {named}, and the tag is {tag}.")
    if not notes_of(version, changelog):
        wrong.append(
            f"{CHANGELOG} has no lines under `## {version} (YYYY-MM-DD)`: name its unreleased section so."
        )
    return wrong


def main(arguments: list[str] | None = None) -> int:
    """0 when all agree and the notes were written."""
    parser = argparse.ArgumentParser(prog="python -m scripts.release")
    parser.add_argument("tag")
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--publish", action="store_true", help="it goes to the index")
    parser.add_argument("--address", default="", help="of the repository's files")
    options = parser.parse_args(arguments)
    changelog = (ROOT / CHANGELOG).read_text()
    wrong = problems(options.tag, versions(), changelog)
    if options.publish and not PUBLISHED:
        wrong.append(UNPUBLISHED)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    notes = notes_of(options.tag[1:], changelog)
    options.notes.write_text(on_a_page(notes, options.address) + "\n")
    print(f"{options.tag}: versions and changelog agree.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
