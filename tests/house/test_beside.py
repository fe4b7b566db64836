import pytest

from scripts.house.beside import MODULES, faults_of, faults_of_the_runtime
from scripts.house.pages import ROOT
from scripts.house.source import parsed


@pytest.mark.parametrize(
    ("package", "planted"),
    [
        ("ullage_programs", "import asyncio"),
        ("ullage_programs", "from ullage.display import gauge"),
        ("ullage_programs", "def f():\n    import subprocess"),
        ("ullage_relay", "import httpx2"),
        ("ullage_relay", "from ullage_programs import facts"),
        ("ullage_simulators", "from ullage.messages import Message"),
        ("ullage_simulators", "import msgspec"),
    ],
)
def test_an_import_that_a_package_may_not_make_is_found(
    package: str, planted: str
) -> None:
    assert len(list(faults_of(package, [parsed("a.py", planted)]))) == 1


@pytest.mark.parametrize(
    "planted", ["from ullage.runtime import agent", "import httpx2", "import ullage"]
)
def test_a_reader_of_a_log_imports_the_core_alone(planted: str) -> None:
    log = parsed("claude_code/log.py", planted)
    assert len(list(faults_of("ullage_programs", [log]))) == 1


def test_a_circle_is_found() -> None:
    for package in MODULES:
        files = [
            parsed("a.py", f"from {package}.b import x"),
            parsed("b.py", f"import {package}.a"),
        ]
        assert len(list(faults_of(package, files))) == 1, package


def test_what_is_allowed_passes() -> None:
    line = [
        parsed("line/compose.py", "import subprocess, json"),
        parsed("claude_code/log.py", "from ullage.usage import Usage"),
    ]
    assert list(faults_of("ullage_programs", line)) == []
    simulators = [parsed("server.py", "import os\nfrom starlette.routing import Route")]
    assert list(faults_of("ullage_simulators", simulators)) == []


def test_the_runtime_imports_frames_of_the_relay_alone() -> None:
    for planted, found in (("ullage_relay.server", 1), ("ullage_relay.frames", 0)):
        source = parsed("runtime/a.py", f"from {planted} import x")
        assert len(list(faults_of_the_runtime([source]))) == found, planted


def test_the_wheel_holds_the_programs_and_the_relay() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"src/ullage", "src/ullage_programs", "src/ullage_relay"]' in project
