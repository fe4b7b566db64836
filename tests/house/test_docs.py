import os
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ullage_simulators import Server, running

from bench.plugins.framework import frameworks
from bench.plugins.pages import page_of, snippet
from scripts import site_pages
from tests.house.pages import ROOT, Block, blocks, commands, links, pages
from tests.processes import run_python

PAGES = pytest.mark.parametrize(
    "page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix()
)
RUN_BY_HAND = {"sh", "text", "json", "toml"}
"""Languages that are shown and not run: setting up, and what is not code."""


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    """Answers the snippets that name no address, as a provider answers a reader with a key."""
    with running() as server:
        yield server


@PAGES
def test_the_python_of_a_page_runs(
    page: Path, tmp_path: Path, provider: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("anthropic", "openai"):
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "any")
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", provider.url(name))
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page.read_text("utf-8")):
        if block.language == "python" and "bench" not in block.marks:
            code = compile("\n" * (block.line - 1) + block.text, page, "exec")
            exec(code, names)


@PAGES
def test_the_python_that_a_page_leaves_to_the_bench_is_run_there(page: Path) -> None:
    text = page.read_text("utf-8")
    left = [block.text for block in blocks(text) if "bench" in block.marks]
    assert "\n".join(left) == snippet(text)
    assert not left or page in {page_of(name) for name in frameworks()}


@PAGES
def test_the_commands_of_a_page_run_and_print_what_is_shown(
    page: Path, tmp_path: Path
) -> None:
    for block in blocks(page.read_text("utf-8")):
        if block.language == "console":
            run_console(block, tmp_path)


def run_console(block: Block, home: Path) -> None:
    environment = {
        **os.environ,
        "HOME": str(home),
        "ULLAGE_DATA": str(home),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    for command in commands(block):
        program, *arguments = shlex.split(command.line)
        if program != "ullage":
            continue
        done = run_python("-m", "ullage", *arguments, cwd=ROOT, env=environment)
        assert done.returncode == 0, f"{command.line}: {done.stderr}"
        if "exact" in block.marks:
            assert [
                line.rstrip() for line in done.stdout.splitlines()
            ] == command.output.splitlines()


@PAGES
def test_every_block_of_a_page_says_what_it_is(page: Path) -> None:
    unknown = (
        {block.language for block in blocks(page.read_text("utf-8"))}
        - {"python", "console"}
        - RUN_BY_HAND
    )
    assert unknown == set()


@PAGES
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    dead = [
        target
        for target in links(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


def places_on_the_site() -> dict[str, Path]:
    """Each page of the site, and the file that it is made from."""
    docs = ROOT / "docs"
    found = {path.relative_to(docs).as_posix(): path for path in docs.rglob("*.md")}
    project = {place: ROOT / name for name, place in site_pages.PROJECT.items()}
    return project | found


@pytest.mark.parametrize("place", places_on_the_site())
def test_a_link_between_files_of_the_repository_is_one_on_the_site_too(
    place: str,
) -> None:
    text = places_on_the_site()[place].read_text("utf-8")
    origin = site_pages.origin_of(place)
    lost = [
        found[3]
        for found in site_pages.LINK.finditer(text)
        if "](" not in site_pages.link(found, place, origin)
    ]
    assert lost == []


def test_the_site_shows_every_picture() -> None:
    shown: set[Path] = set()
    for place, file in places_on_the_site().items():
        link = partial(site_pages.link, place=place, origin=site_pages.origin_of(place))
        text = site_pages.LINK.sub(link, file.read_text("utf-8"))
        shown |= {
            (ROOT / "docs" / place).parent.joinpath(found[3].partition("#")[0]).resolve()
            for found in site_pages.LINK.finditer(text)
            if found[1]
        }
    assert set((ROOT / "docs" / "images").iterdir()) <= shown


def test_the_readme_states_the_test_command_that_the_checks_run() -> None:
    readme, run = ((ROOT / name).read_text("utf-8") for name in ("README.md", ".ci/run"))
    assert "pip install uv && uv run pytest" in readme
    assert all(step in run for step in ("pip install", "uv run pytest"))


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {
        (index.parent / target).resolve() for target in links(index.read_text("utf-8"))
    }
    assert {page for page in pages() if page != index} <= linked


PAGE = """
```python
x = 1
```
```console exact
$ ullage --version
ullage 1
$ ullage context a.jsonl
one

two
```
See [there](docs/there.md#part), [here](https://example.com) and `[no](link)`.
"""


def test_blocks_commands_and_links_are_found_where_they_are() -> None:
    python, console = blocks(PAGE)
    assert (python.language, python.text, python.line) == ("python", "x = 1\n", 3)
    assert console.marks == ("exact",)
    assert commands(console) == [
        ("ullage --version", "ullage 1"),
        ("ullage context a.jsonl", "one\n\ntwo"),
    ]
    assert links(PAGE) == ["docs/there.md"]


def test_a_console_block_that_shows_something_else_fails(tmp_path: Path) -> None:
    wrong = Block("console", ("exact",), "$ ullage --version\nullage 0.0\n", 1)
    with pytest.raises(AssertionError):
        run_console(wrong, tmp_path)
