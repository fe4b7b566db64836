import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.plugins.frameworks import FRAMEWORKS
from bench.plugins.pages import page_of, snippet
from scripts.house.pages import ROOT, Block, blocks, commands, links, pages
from tests.processes import run_python
from ullage_simulators import Server, running


def pages_with(language: str) -> pytest.MarkDecorator:
    found = [
        page
        for page in pages()
        if any(block.language == language for block in blocks(page.read_text("utf-8")))
    ]
    return pytest.mark.parametrize(
        "page", found, ids=lambda page: page.relative_to(ROOT).as_posix()
    )


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    """Answers the snippets that name no address, as a provider answers a reader with a key."""
    with running() as server:
        yield server


@pages_with("python")
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


@pytest.mark.parametrize(
    ("page", "begins", "column", "told"),
    [
        ("docs/proxy.md", "| Ullage |", 2, "| a proxy's first byte | {} ms |"),
        ("docs/proxy.md", "| LiteLLM proxy |", 2, " {} ms: LiteLLM"),
        ("docs/proxy.md", "| mitmproxy |", 2, " {} ms: mitmproxy"),
        ("docs/compaction-beside.md", "| ullage |", 3, "not from the cache | {} M |"),
        ("docs/compaction-beside.md", "| langchain |", 3, " {} M: langchain"),
        ("docs/compaction-beside.md", "| langchain |", 6, " {}: langchain"),
    ],
)
def test_the_readme_has_the_figures_of_the_pages(
    page: str, begins: str, column: int, told: str
) -> None:
    lines = (ROOT / page).read_text("utf-8").splitlines()
    row = next(line for line in lines if line.startswith(begins))
    figure = row.split("|")[column].split("/")[0].strip()
    assert told.format(figure) in (ROOT / "README.md").read_text("utf-8")


def test_the_python_that_a_page_leaves_to_the_bench_is_run_there() -> None:
    of_the_bench = {page_of(name) for name in FRAMEWORKS}
    for page in pages():
        text = page.read_text("utf-8")
        left = [block.text for block in blocks(text) if "bench" in block.marks]
        assert "\n".join(left) == snippet(text), page
        assert not left or page in of_the_bench, page


@pages_with("console")
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


def test_the_readme_states_the_test_command_that_the_checks_run() -> None:
    readme, run = ((ROOT / name).read_text("utf-8") for name in ("README.md", ".ci/run"))
    assert "pip install uv && uv run pytest" in readme
    assert all(step in run for step in ("pip install", "uv run pytest"))


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
