import re
from pathlib import Path

import pytest

import ullage
from scripts.house import layers
from scripts.house.source import parsed

ROOT = Path(__file__).parents[2]


PLANTED = [
    ("ullage/messages.py", "from ullage.tokens.pretoken import count"),
    ("ullage/usage.py", "import os"),
    ("ullage/events.py", "from time import monotonic"),
    ("ullage/tokens/pretoken.py", "from ullage.meter.reading import Reading"),
    ("ullage/tokens/pretoken.py", "import random"),
    ("ullage/tokens/pretoken.py", "import splintr"),
    ("ullage/meter/fold.py", "import splintr"),
    ("ullage/meter/fold.py", "import logging"),
    ("ullage/meter/fold.py", "import asyncio"),
    ("ullage/meter/fold.py", "from pathlib import Path"),
    ("ullage/meter/fold.py", "import subprocess"),
    ("ullage/meter/fold.py", "import io"),
    ("ullage/meter/fold.py", "from ullage.context.view import view"),
    ("ullage/meter/fold.py", "from ullage import Meter"),
    ("ullage/meter/fold.py", "import ullage"),
    ("ullage/meter/fold.py", "from . import reading"),
    ("ullage/meter/fold.py", "import httpx2"),
    ("ullage/meter/view.py", "Ledger = Callable[[Sequence[int]], Sequence[Event]]"),
    ("ullage/meter/view.py", "async def load() -> None: ..."),
    ("ullage/reasoning.py", "from ullage.meter import fold"),
    ("ullage/codec/chat.py", "import socket"),
    ("ullage/codec/chat.py", "from ullage.meter.meter import Meter"),
    ("ullage/importers/pi.py", "from ullage.store import sqlite"),
    ("ullage/wire/client.py", "from ullage_agent.runtime import runner"),
    ("ullage/cli/context.py", "from ullage_proxy.relay import frames"),
    ("ullage/cli/context.py", "import litestar"),
    ("ullage/cellar/cask.py", "import math"),
    ("ullage_agent/loop/decide.py", "from ullage_agent.runtime.runner import run"),
    ("ullage_agent/runtime/agent.py", "from ullage_server.app import app"),
    ("ullage_agent/runtime/agent.py", "from ullage_agent.chat import app"),
    ("ullage_agent/runtime/agent.py", "import asyncpg"),
    ("ullage_proxy/metering/lane.py", "from ullage_agent.runtime import agent"),
    ("ullage_server/app.py", "from ullage_proxy.relay import frames"),
    ("ullage_server/app.py", "from ullage_cluster.postgres import store"),
    ("ullage_cellar/cask.py", "import math"),
]

WRAPPED = ("{}", "def f():\n    {}", "if TYPE_CHECKING:\n    {}")


def test_a_planted_import_is_caught() -> None:
    for file, planted in PLANTED:
        for wrapped in WRAPPED:
            source = parsed(file, wrapped.format(planted))
            assert len(list(layers.violations(source))) == 1, (file, planted, wrapped)
            assert len(list(layers.faults([source]))) == 1, (file, planted, wrapped)


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
    assert len(list(layers.violations(parsed("ullage/meter/fold.py", planted)))) == 1
    assert list(layers.violations(parsed("ullage/cli/main.py", planted))) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("ullage/tokens/bpe.py", "import importlib.util"),
        ("ullage/__main__.py", "from ullage.cli import main"),
        (
            "ullage/meter/fold.py",
            "from ullage import events\nfrom ullage.tokens.pretoken import count\nimport math",
        ),
        (
            "ullage/meter/meter.py",
            "import logging\nfrom ullage.codec.dialects import normalise",
        ),
        (
            "ullage/importers/pi.py",
            "import json, os\nfrom ullage.codec.dialects import normalise",
        ),
        ("ullage/cli/main.py", "import rich"),
        ("ullage_agent/cli/demo.py", "from ullage_simulators import chat"),
        (
            "ullage_server/app.py",
            "import litestar\nfrom ullage_agent.runtime import agent",
        ),
        ("ullage_cluster/cli/worker.py", "from ullage_server.app import app"),
        ("ullage/meter/fold.py", "opened = reopen('x')\nhashed = value.hash()"),
    ],
)
def test_what_is_allowed_passes(file: str, source: str) -> None:
    assert list(layers.violations(parsed(file, source))) == []


def test_a_planted_circle_is_caught() -> None:
    files = {
        "ullage/meter/a.py": "from ullage.meter import b",
        "ullage/meter/b.py": "def f():\n    from ullage.meter.c import x",
        "ullage/meter/c.py": "import ullage.meter.a",
        "ullage/meter/__init__.py": "",
    }
    sources = [parsed(name, text) for name, text in files.items()]
    assert len(list(layers.faults(sources))) == 1
    assert layers.cycle({source.name: source.nodes for source in sources}) == [
        "ullage.meter.a",
        "ullage.meter.b",
        "ullage.meter.c",
        "ullage.meter.a",
    ]


def test_no_distribution_stands_on_one_that_stands_on_it() -> None:
    for name, one in layers.distributions().items():
        (top,) = (each for each in one.holds if each.replace("_", "-") == name)
        for other in layers.distributions().values():
            below = {
                each for each in other.holds if each in layers.allowed(top)
            } - one.holds
            assert all(top not in layers.allowed(each) for each in below), (name, below)


def test_the_core_is_on_the_map() -> None:
    floors = {
        f"{top}/{name}"
        for top, all_of in layers.FLOORS.items()
        for floor in all_of
        for name in floor
    }
    assert floors > layers.PURE
    assert {layers.package_of(file) for file in layers.EXCEPTIONS} <= layers.PURE


def test_every_package_is_on_the_map_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    packages = {
        name for all_of in layers.FLOORS.values() for floor in all_of for name in floor
    }
    assert {
        package
        for package in packages - {"types", "__main__", *ullage._MODULES}
        if not re.search(rf"^\| [^|]*`{package}(/|\.py)`", text, re.M)
    } == set()
