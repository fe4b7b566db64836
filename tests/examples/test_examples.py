"""Each example runs as its README says, without a key."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.house.pages import ROOT, blocks
from scripts.house.user_documents import inner_imports

EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if (path / "README.md").is_file())
KEYLESS = {name: value for name, value in os.environ.items() if name[-8:] != "_API_KEY"}
KEYLESS["ULLAGE_TOKEN"] = "a-token-of-the-examples"
WAIT_S = 60


def run(folder: str, *words: str, **given: str) -> str:
    """What a program of an example prints."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=EXAMPLES / folder,
        env=KEYLESS,
        capture_output=True,
        text=True,
        timeout=5 * WAIT_S,
        check=False,
        **given,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_these_are_the_examples() -> None:
    names = [path.name for path in FOLDERS]
    assert names == [
        "coding-agent",
        "notebook",
        "recordings",
        "research-agent",
        "service",
        "testing",
        "web",
    ]


def test_all_tests_of_the_shop_pass() -> None:
    told = run("testing", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "50 passed" in told


def test_the_coding_agent_mends_the_project() -> None:
    told = run("coding-agent", "main.py", "--yes")
    assert "Mended: " in told
    assert "[edit]" in told
    assert "tokens" in told.splitlines()[-1]


def test_the_coding_agent_changes_nothing_without_a_yes(tmp_path: Path) -> None:
    code = EXAMPLES / "coding-agent" / "project" / "casks.py"
    (tmp_path / "casks.py").write_text(code.read_text())
    told = run("coding-agent", "main.py", "--root", str(tmp_path), input="n\n" * 9)
    assert "Allow it? [y/N]" in told
    assert "[edit]" not in told
    assert (tmp_path / "casks.py").read_text() == code.read_text()


def test_the_strategy_of_one_s_own_compacts() -> None:
    assert run(".", "strategy.py") == "12 messages, 4 after the compaction.\n"


def test_the_research_agent_asks_its_readers() -> None:
    told = run("research-agent", "main.py")
    assert "Riesling in the upper field" in told
    assert told.splitlines()[-2:] == ["main: 2 calls", "child: 6 calls"]


@contextmanager
def service(store: Path) -> Iterator[str]:
    """The example's service, with its address."""
    words = [sys.executable, "main.py", "--port", "0", "--store", str(store)]
    folder = EXAMPLES / "service"
    with subprocess.Popen(
        words, cwd=folder, env=KEYLESS, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0]
        finally:
            process.terminate()


def test_the_service_orders_what_a_person_allows(tmp_path: Path) -> None:
    with service(tmp_path / "cellar.db") as url:
        allowed = run("service", "client.py", url)
        denied = run("service", "client.py", url, "--deny")
    assert "500" in allowed.splitlines()[0] or "order" in allowed.splitlines()[0]
    assert allowed.endswith("500 corks are ordered.\n")
    assert denied.endswith("Nothing was ordered.\n")


def test_the_notebook_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a notebook runs it: cell by cell in one namespace, with await outside of functions."""
    monkeypatch.chdir(EXAMPLES / "notebook")
    notebook = json.loads((EXAMPLES / "notebook" / "window.ipynb").read_text("utf-8"))
    names: dict[str, object] = {"__name__": "notebook"}
    for cell in cells(notebook):
        code = compile(cell, "window.ipynb", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        found = eval(code, names)
        if inspect.iscoroutine(found):
            asyncio.run(found)
    told = capsys.readouterr().out
    assert told.count("estimated ") == 3
    assert "data:image/svg+xml" in names["meter"]._repr_html_()  # type: ignore[attr-defined]


def test_the_notebook_holds_no_output_and_only_public_names() -> None:
    notebook = json.loads((EXAMPLES / "notebook" / "window.ipynb").read_text("utf-8"))
    assert [cell["outputs"] for cell in notebook["cells"] if "outputs" in cell] == [
        [] for _ in cells(notebook)
    ]
    assert [name for cell in cells(notebook) for name in inner_imports(cell)] == []


def cells(notebook: dict[str, list[dict[str, object]]]) -> list[str]:
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(cell["source"]) for cell in code]  # type: ignore[arg-type]


def test_what_the_documentation_shows_of_a_page_is_in_the_examples() -> None:
    page = ROOT / "docs" / "your-page.md"
    sources = [path.read_text() for path in sorted((EXAMPLES / "web").glob("*.js*"))]
    there = {line.strip() for text in sources for line in text.splitlines()}
    shown = [block for block in blocks(page.read_text()) if block.language == "jsx"]
    assert len(shown) == 3
    for block in shown:
        for line in block.text.splitlines():
            assert line.strip() in there, line
