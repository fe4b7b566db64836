import re
from pathlib import Path

import pytest

from scripts.house.layers import (
    CORE,
    EXCEPTIONS,
    MAY_IMPORT,
    PURE,
    SHELL,
    TYPES,
    cycle,
    faults,
    violations,
)
from scripts.house.source import parsed

ROOT = Path(__file__).parents[2]


PLANTED = [
    ("messages.py", "from ullage.tokens.pretoken import count"),
    ("usage.py", "import os"),
    ("events.py", "from time import monotonic"),
    ("tokens/pretoken.py", "from ullage.meter.reading import Reading"),
    ("tokens/pretoken.py", "import random"),
    ("tokens/pretoken.py", "import bpe_openai"),
    ("meter/fold.py", "import bpe_openai"),
    ("meter/fold.py", "import logging"),
    ("meter/fold.py", "import asyncio"),
    ("meter/fold.py", "from pathlib import Path"),
    ("meter/fold.py", "import subprocess"),
    ("meter/fold.py", "import io"),
    ("meter/fold.py", "from ullage.context.view import view"),
    ("meter/fold.py", "from ullage import Meter"),
    ("meter/fold.py", "import ullage"),
    ("meter/fold.py", "from . import reading"),
    ("meter/fold.py", "import httpx2"),
    ("meter/view.py", "Ledger = Callable[[Sequence[int]], Sequence[Event]]"),
    ("meter/view.py", "async def load() -> None: ..."),
    ("reasoning.py", "from ullage.meter import fold"),
    ("codec/chat.py", "import socket"),
    ("codec/chat.py", "from ullage.meter.meter import Meter"),
    ("agent/decide.py", "from ullage.runtime.runner import run"),
    ("runtime/agent.py", "from ullage_simulators import running"),
    ("importers/rows.py", "from ullage.store import sqlite"),
    ("wire/client.py", "from ullage.runtime import runner"),
    ("server/app.py", "from ullage.cli.main import main"),
    ("__init__.py", "from ullage.importers import pi"),
    ("cellar/cask.py", "import math"),
]

WRAPPED = ("{}", "def f():\n    {}", "if TYPE_CHECKING:\n    {}")


def test_a_planted_import_is_caught() -> None:
    for file, planted in PLANTED:
        for wrapped in WRAPPED:
            source = parsed(file, wrapped.format(planted))
            assert len(list(violations(source))) == 1, (file, wrapped)
            assert len(list(faults([source]))) == 1, (file, wrapped)


@pytest.mark.parametrize(
    "planted",
    [
        "open('x')",
        "print(1)",
        "hash('x')",
        "__import__('os')",
        "datetime.datetime.now(datetime.UTC)",
        "date.today()",
        "class A:\n    def f(self):\n        return [input() for _ in range(3)]",
    ],
)
def test_a_planted_call_that_does_io_is_caught_in_the_core_alone(planted: str) -> None:
    assert len(list(violations(parsed("meter/fold.py", planted)))) == 1
    assert list(violations(parsed("cli/main.py", planted))) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("tokens/bpe.py", "import importlib.util"),
        ("__main__.py", "from ullage.cli import main"),
        (
            "meter/fold.py",
            "from ullage import events\nfrom ullage.tokens.pretoken import count\nimport math",
        ),
        ("meter/meter.py", "import logging\nfrom ullage.codec.dialects import normalise"),
        (
            "importers/rows.py",
            "import json, os\nfrom ullage.codec.dialects import normalise",
        ),
        ("cli/main.py", "import rich\nfrom ullage_simulators import chat"),
        ("meter/fold.py", "opened = reopen('x')\nhashed = value.hash()"),
    ],
)
def test_what_is_allowed_passes(file: str, source: str) -> None:
    assert list(violations(parsed(file, source))) == []


def test_a_planted_circle_is_caught() -> None:
    files = {
        "meter/a.py": "from ullage.meter import b",
        "meter/b.py": "def f():\n    from ullage.meter.c import x",
        "meter/c.py": "import ullage.meter.a",
        "meter/__init__.py": "",
    }
    sources = [parsed(name, text) for name, text in files.items()]
    assert len(list(faults(sources))) == 1
    assert cycle({source.name: source.nodes for source in sources}) == [
        "ullage.meter.a",
        "ullage.meter.b",
        "ullage.meter.c",
        "ullage.meter.a",
    ]


def test_the_table_has_no_circle_itself() -> None:
    left = {package: set(allowed) for package, allowed in MAY_IMPORT.items()}
    while left:
        bottom = [
            package for package, allowed in left.items() if not allowed & left.keys()
        ]
        assert bottom, f"packages that import each other: {sorted(left)}"
        for package in bottom:
            del left[package]


def test_the_core_imports_nothing_of_the_shell() -> None:
    assert all(
        not MAY_IMPORT[package] & (SHELL | {"runtime", "server", "cli"})
        for package in PURE
    )
    assert all(
        file.split("/")[0].removesuffix(".py") in CORE | TYPES for file in EXCEPTIONS
    )


def test_every_package_is_on_the_map_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    packages = MAY_IMPORT.keys() - {"types", "the public names"}
    assert {
        package
        for package in packages
        if not re.search(rf"^\| `{package}(/|\.py)`", text, re.M)
    } == set()
