"""The snippets of docs/frameworks that run in an environment of their own: which they are, and what makes one fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.plugins.frameworks import FRAMEWORKS, Contender, Framework
from bench.plugins.pages import newest, page_of, run_pages, snippet

HERE = Framework("Cask", (Contender("the development environment", "none.py"),))
"""Without requirements its Python is the one that runs the tests."""

CALL = """
import os, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
body = b'{"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hello."}]}'
headers = {"authorization": "Bearer any", "content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
"""


def test_only_marked_blocks_are_the_program() -> None:
    text = "```python\na = 1\n```\n```python bench\nb = 2\n```\n```python bench\nc = 3\n```\n"
    assert snippet(text) == "b = 2\n\nc = 3\n"


def test_every_framework_has_a_page_and_a_version_to_run_it_in() -> None:
    for name, framework in FRAMEWORKS.items():
        if name != "openai_agents_chat":
            assert page_of(name).exists()
        assert newest(framework).kind == "plug-in"


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [
        (CALL, 0, "pass: pages, cask.md, the development environment: 1 calls billed"),
        ("x = 1", 1, "no call was billed"),
        (CALL + "raise RuntimeError('it leaks')", 1, "RuntimeError: it leaks"),
    ],
    ids=["a call", "no call", "an error"],
)
def test_a_page_passes_only_if_its_program_ends_well_and_calls_the_simulator(
    program: str, status: int, words: str, tmp_path: Path
) -> None:
    (tmp_path / "cask.md").write_text(f"```python bench\n{program}\n```\n")
    ((said, found),) = run_pages({"cask": HERE, "no_page": HERE}, tmp_path)
    assert found == status
    assert words in said


def test_a_page_without_marked_blocks_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "cask.md").write_text("```python\nx = 1\n```\n")
    assert list(run_pages({"cask": HERE}, tmp_path)) == []
