import pytest

from scripts.house.beside import MODULES, faults_of, faults_of_the_runtime
from scripts.house.pages import ROOT
from scripts.house.source import parsed


@pytest.mark.parametrize(
    ("package", "planted"),
    [
        ("ullage_line", "import asyncio"),
        ("ullage_line", "from ullage.display import gauge"),
        ("ullage_line", "def f():\n    import subprocess"),
        ("ullage_relay", "import httpx2"),
        ("ullage_relay", "from ullage_line import status"),
        ("ullage_simulators", "from ullage.messages import Message"),
        ("ullage_simulators", "import msgspec"),
    ],
)
def test_an_import_that_a_package_may_not_make_is_found(
    package: str, planted: str
) -> None:
    assert len(list(faults_of(package, [parsed("a.py", planted)]))) == 1


def test_a_circle_is_found() -> None:
    for package in MODULES:
        files = [
            parsed("a.py", f"from {package}.b import x"),
            parsed("b.py", f"import {package}.a"),
        ]
        assert len(list(faults_of(package, files))) == 1, package


def test_what_is_allowed_passes() -> None:
    line = [
        parsed("compose.py", "import subprocess, json\nfrom ullage_line import gauge")
    ]
    assert list(faults_of("ullage_line", line)) == []
    simulators = [parsed("server.py", "import os\nfrom starlette.routing import Route")]
    assert list(faults_of("ullage_simulators", simulators)) == []


def test_the_runtime_imports_frames_of_the_relay_alone() -> None:
    for planted, found in (("ullage_relay.server", 1), ("ullage_relay.frames", 0)):
        source = parsed("runtime/a.py", f"from {planted} import x")
        assert len(list(faults_of_the_runtime([source]))) == found, planted


def test_the_wheel_holds_the_line_and_the_relay() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"src/ullage", "src/ullage_line", "src/ullage_relay"]' in project
