from pathlib import Path

import pytest

from tests.tools.surroundings import FakeSurroundings
from ullage.tools.builtin import builtin
from ullage.tools.sandbox import Backend, Limits, Sandbox
from ullage.tools.shell import shell
from ullage.tools.tool import ToolError

BACKENDS: tuple[Backend, ...] = ("bubblewrap", "landlock")


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_command_works_in_its_workspace(backend: Backend, tmp_path: Path) -> None:
    line = (
        "echo one > a && cat a && mkdir -p d/e && mv a d/e && ls d/e && echo x > $TMPDIR/t && echo x > $HOME/h && pwd"
    )
    output = await shell(tmp_path, line, 30, sandbox=Sandbox(backends=(backend,)))
    assert output.text == f"one\na\n{tmp_path}\n"


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_failure_at_the_sandbox_is_explained(backend: Backend, tmp_path: Path) -> None:
    output = await shell(tmp_path, "echo x > /etc/ullage-new", 30, sandbox=Sandbox(backends=(backend,)))
    assert "files are read-only in the sandbox" in output.text


async def test_bubblewrap_comes_first_and_landlock_where_it_is_missing(tmp_path: Path) -> None:
    assert Sandbox().backend(tmp_path) == "bubblewrap"
    assert Sandbox(backends=("landlock",)).backend(tmp_path) == "landlock"
    assert Sandbox(mode="off").backend(tmp_path) == "none"


async def test_landlock_refuses_a_workspace_that_holds_the_store(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    store.touch()
    sandbox = Sandbox(backends=("landlock",), stores=(store,))
    assert sandbox.weakness(tmp_path) == f"Landlock can't hide {store} inside the workspace"


async def test_commands_that_can_not_be_confined_always_ask(tmp_path: Path) -> None:
    (tool,) = builtin(("shell",), root=tmp_path, sandbox=Sandbox(backends=()))
    assert tool.needs_approval is True
    assert tool.unconfined


async def test_a_sandbox_that_is_off_asks_as_the_settings_say(tmp_path: Path) -> None:
    (tool,) = builtin(("shell",), root=tmp_path, sandbox=Sandbox(mode="off"))
    assert tool.needs_approval is False
    assert tool.unconfined == ""


async def test_a_workspace_that_can_not_be_confined_is_refused_at_the_call(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    store.touch()
    (tool,) = builtin(("shell",), sandbox=Sandbox(backends=("landlock",), stores=(store,)))
    with pytest.raises(ToolError, match="can't be confined"):
        await tool.run({"command": "true"}, FakeSurroundings(tmp_path))


async def test_the_description_says_the_mode_and_stays_the_same(tmp_path: Path) -> None:
    made = [builtin(("shell",), root=tmp_path, sandbox=Sandbox())[0].declaration for _ in range(2)]
    assert made[0] == made[1]
    assert "there is no network" in made[0].description
    (open_,) = builtin(("shell",), root=tmp_path, sandbox=Sandbox(mode="workspace+network"))
    assert "the network is open" in open_.declaration.description
    (off,) = builtin(("shell",), root=tmp_path, sandbox=Sandbox(mode="off"))
    assert "sandbox" not in off.declaration.description


async def test_a_limit_is_named(tmp_path: Path) -> None:
    sandbox = Sandbox(limits=Limits(processes=20))
    output = await shell(tmp_path, "for each in $(seq 60); do sleep 20 & done; wait", 60, sandbox=sandbox)
    assert "stopped because it had too many processes" in output.text
