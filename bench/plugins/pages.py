"""Runs the snippets of docs/frameworks whose framework needs an environment of its own, against a simulator.

They are the blocks marked ``python bench``. A page is named as the framework's file (``google-adk.md``,
``google_adk.py``), and its snippets run in the environment of the newest version there.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench.environments import CHECKOUT, QUIET, ClientFailed, attempted, python_of
from bench.plugins.frameworks import Contender, Framework
from ullage_simulators import read, running

NAME: Final = "pages"
FOLDER: Final = CHECKOUT / "docs" / "frameworks"
MARKED: Final = re.compile(r"^```python bench\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S: Final = 300
FINAL_ANSWER: Final = {"name": "final_answer", "arguments": {"answer": "It is full."}}
SCRIPTS: Final = {"smolagents": {"answers": [{"calls": [FINAL_ANSWER]}]}}
"""What a simulated model says that an agent would otherwise ask on and on."""
SILENT: Final = QUIET | {"AGNO_TELEMETRY": "false", "OTEL_SDK_DISABLED": "true"}


def page_of(name: str, folder: Path = FOLDER) -> Path:
    """The page of a framework, by the name of its file here."""
    return folder / f"{name.replace('_', '-')}.md"


def snippet(text: str) -> str:
    """The marked blocks of a page as one program, empty without one."""
    return "\n".join(MARKED.findall(text))


def newest(framework: Framework) -> Contender:
    """The plug-in, or what attaches to the framework's client, in its newest version."""
    rows = [each for each in framework.contenders if each.kind == "plug-in"]
    quick = [each for each in rows if each.is_quick]
    return (quick or rows)[-1]


def run_program(program: str, name: str, framework: Framework) -> str:
    """How many calls of a page's program were billed, in words.

    Raises ``ClientFailed``, ``NotInstalled``, ``subprocess.TimeoutExpired``.
    """
    python = python_of(newest(framework).peer)
    scenario = read(SCRIPTS[name]) if name in SCRIPTS else None
    with running(scenario, wires=[framework.wire]) as server:
        address = server.url(framework.wire)
        where = {
            "OPENAI_API_KEY": "any",
            "OPENAI_BASE_URL": address,
            "GOOGLE_API_KEY": "any",
            "GOOGLE_GEMINI_BASE_URL": address,
        }
        done = subprocess.run(
            [str(python), "-c", program],
            capture_output=True,
            text=True,
            env=os.environ | SILENT | where,
            timeout=TIMEOUT_S,
            check=False,
        )
        billed = len(server.truth().bills)
    if done.returncode or not billed:
        last = (done.stderr.strip().splitlines() or ["no call was billed"])[-1]
        raise ClientFailed(last[:300])
    return f"{billed} calls billed"


def run_pages(
    known: dict[str, Framework], folder: Path = FOLDER
) -> Iterator[tuple[str, int]]:
    """A line for each page with a marked block, and its status, as ``attempted``."""
    for name, framework in known.items():
        page = page_of(name, folder)
        program = snippet(page.read_text("utf-8")) if page.exists() else ""
        if not program:
            continue
        title = f"{NAME}, {page.name}, {newest(framework).title}"
        yield attempted(title, partial(run_program, program, name, framework))
