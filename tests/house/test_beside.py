import pytest

from scripts.house.beside import OURS, faults_of
from scripts.house.source import parsed


@pytest.mark.parametrize(
    ("file", "planted"),
    [
        ("ullage_programs/a.py", "import asyncio"),
        ("ullage_programs/a.py", "from ullage.display import gauge"),
        ("ullage_programs/a.py", "def f():\n    import subprocess"),
        ("ullage_programs/claude_code/log.py", "from ullage.cli import context"),
        ("ullage_programs/claude_code/log.py", "import httpx2"),
        ("ullage_programs/claude_code/log.py", "import ullage"),
        ("ullage_proxy/relay/a.py", "import httpx2"),
        ("ullage_proxy/relay/a.py", "from ullage_programs import facts"),
        ("ullage_proxy/relay/a.py", "from ullage.meter.meter import Meter"),
        ("ullage_simulators/a.py", "from ullage.messages import Message"),
        ("ullage_simulators/a.py", "import httpx2"),
    ],
)
def test_an_import_that_a_file_may_not_make_is_found(file: str, planted: str) -> None:
    (folder,) = (each for each in OURS if file.startswith(each))
    assert len(list(faults_of(folder, [parsed(file, planted)]))) == 1


def test_a_folder_that_is_gone_is_found() -> None:
    for folder in OURS:
        assert len(list(faults_of(folder, []))) == 1


def test_what_is_allowed_passes() -> None:
    for file, text in (
        ("ullage_programs/line/compose.py", "import subprocess, json"),
        ("ullage_programs/claude_code/log.py", "from ullage.usage import Usage"),
        ("ullage_proxy/relay/heads.py", "import h11\nfrom ullage.hosts import host_name"),
        ("ullage_simulators/server.py", "import os\nfrom starlette.routing import Route"),
    ):
        (folder,) = (each for each in OURS if file.startswith(each))
        assert list(faults_of(folder, [parsed(file, text)])) == []
