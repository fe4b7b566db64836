import os
import sys
from pathlib import Path

import pytest

from ullage_agent.runtime.sandboxing import sandbox_of
from ullage_agent.runtime.settings import Settings
from ullage_agent.tools.protected_paths import UllageCode, ullage_code
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.shell import shell

ALL = "; ".join(
    (
        "echo x > .venv/bin/python",
        "echo x > .venv/lib/site-packages/ullage/tools/grep.py",
        "echo x > .venv/lib/site-packages/sitecustomize.py",
        "rm -rf .venv",
        "mv .venv moved",
        "mv deep moved",
        "echo x > deep/src/a.py",
        "echo x > later",
    )
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with an environment that Ullage runs from, and a source directory on its ``sys.path``."""
    root = tmp_path / "project"
    for name in (".venv/bin", ".venv/lib/site-packages/ullage/tools", "deep/src"):
        (root / name).mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    for name in (".venv/lib/site-packages/ullage/tools/grep.py", "deep/src/a.py"):
        (root / name).touch()
    return root


def code_in(root: Path) -> UllageCode:
    packages = root / ".venv/lib/site-packages"
    files = (
        root / ".venv/bin/python",
        root / ".venv",
        packages,
        root / "deep/src",
        root / "later",
    )
    return UllageCode(files, (packages / "ullage", packages))


def state(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_a_command_changes_nothing_that_ullage_runs(root: Path) -> None:
    sandbox = Sandbox(code=code_in(root))
    before = state(root)
    output = await shell(root, f"{ALL}; echo x > new", 30, sandbox=sandbox)
    assert "Read-only file system" in output.text
    (root / "new").unlink()
    assert state(root) == before
    assert (root / ".venv/bin/python").is_symlink() and not (root / "later").exists()


async def test_a_root_that_can_not_keep_it_counts_as_unconfined(root: Path) -> None:
    code = code_in(root)
    for inside in (".venv", ".venv/lib/site-packages/ullage/tools", "deep/src"):
        assert "holds the code" in Sandbox(code=code).weakness(root / inside)
    assert Sandbox(code=code).weakness(root / "deep") == ""


async def test_a_link_to_it_can_not_be_kept(root: Path, tmp_path: Path) -> None:
    (root / ".venv").rename(tmp_path / "elsewhere")
    (root / ".venv").symlink_to(tmp_path / "elsewhere")
    assert "a link can be exchanged" in Sandbox(code=code_in(root)).weakness(root)


def test_the_code_of_this_process_is_known() -> None:
    code = ullage_code()
    package = Path(ullage_code.__code__.co_filename).parents[1]
    assert {package, Path(sys.executable), Path(sys.prefix)} <= set(code.files)
    assert package in code.modules
    assert "holds the code" in Sandbox().weakness(package / "tools")


async def test_a_bubblewrap_in_the_workspace_is_not_run(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = root / ".venv/bin/bwrap"
    program.write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert Sandbox().confines(root)
    assert not (root / "ran").exists()


async def test_a_configuration_that_is_missing_can_not_be_made(tmp_path: Path) -> None:
    root = tmp_path / "home/.config"
    root.mkdir(parents=True)
    environment = {"HOME": str(tmp_path / "home"), "ULLAGE_DATA": str(tmp_path / "data")}
    sandbox = sandbox_of(Settings(), environment)
    output = await shell(
        root,
        "mkdir -p ullage; echo x > ullage/ullage.toml; rm -r ullage",
        30,
        sandbox=sandbox,
    )
    assert "Read-only file system" in output.text
    assert list(root.iterdir()) == []
