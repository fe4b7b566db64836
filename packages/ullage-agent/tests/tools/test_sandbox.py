import asyncio
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.tools.tool_context import FakeToolContext
from ullage_agent.tools.builtin import builtin_tools
from ullage_agent.tools.processes import ProcessSpec, run_command
from ullage_agent.tools.sandbox import CommandLimits, Sandbox
from ullage_agent.tools.shell import shell
from ullage_agent.tools.tool import ToolError


@pytest.fixture
def no_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without it."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


async def test_a_command_works_in_its_workspace(tmp_path: Path) -> None:
    line = (
        "echo one > a && cat a && mkdir -p d/e && mv a d/e && ls d/e && "
        "echo x > $TMPDIR/t && echo x > $HOME/h && pwd"
    )
    output = await shell(tmp_path, line, 30, sandbox=Sandbox())
    assert output.text == f"one\na\n{tmp_path}\n"


async def test_a_narrower_workspace_that_turns_link_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a" / "sub").mkdir(parents=True)
    (outside / "sub").mkdir(parents=True)
    sandbox = Sandbox(is_narrow=True)
    place = root / "a" / "sub"
    found = (await shell(place, "echo x > f", 30, sandbox=sandbox)).text
    assert found == "[exit code 0, no output]"
    confined = sandbox.confined(ProcessSpec(("/bin/sh", "-c", "echo x > f"), place, {}))
    (root / "a").rename(root / "aside")
    (root / "a").symlink_to(outside)
    with pytest.raises(ToolError, match="no longer the directory"):
        await shell(place, "echo x > f", 30, sandbox=sandbox)
    with suppress(OSError):  # exchanged after it was looked at
        await run_command(confined, lambda _: None, timeout_s=60)
    assert not list((outside / "sub").iterdir())


async def test_a_failure_at_the_sandbox_is_explained(tmp_path: Path) -> None:
    output = await shell(tmp_path, "echo x > /etc/ullage-new", 30, sandbox=Sandbox())
    assert "in the sandbox files are read-only" in output.text


async def test_a_bubblewrap_that_fails_is_said_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that a system keeps from making namespaces, or that is too old."""
    program = tmp_path / "bin/bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no permission >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    root = tmp_path / "root"
    root.mkdir()
    assert Sandbox().weakness(root) == (
        "bubblewrap fails here (no permission); install bubblewrap (apt install "
        "bubblewrap), or set sandbox to off if you accept that"
    )
    assert not Sandbox().confines(root)


async def test_a_workspace_that_holds_the_home_is_unconfined(tmp_path: Path) -> None:
    """Files that start programs can be made there as well as changed: ~/.zshenv, ~/.ssh/authorized_keys."""
    home = tmp_path / "home"
    home.mkdir()
    sandbox = Sandbox(home=home)
    for root in (home, tmp_path, Path("/")):
        assert not sandbox.confines(root)
        (tool,) = builtin_tools(("shell",), root=root, sandbox=sandbox)
        assert (
            tool.needs_approval is True
            and tool.unconfined.count("holds the home directory") == 1
        )
        assert (
            "choose another --root" in tool.unconfined
            and "bubblewrap" not in tool.unconfined
        )
    opened = Sandbox(home=home, writable=(home,))
    (tmp_path / "beside").mkdir()
    weakness = opened.weakness(tmp_path / "beside")
    assert weakness.endswith("take it out of sandbox_write")


@pytest.mark.usefixtures("no_bubblewrap")
async def test_commands_that_can_not_be_confined_always_ask(tmp_path: Path) -> None:
    (tool,) = builtin_tools(("shell",), root=tmp_path, sandbox=Sandbox())
    assert tool.needs_approval is True
    assert tool.unconfined.startswith("bubblewrap is not installed; ")


async def test_a_sandbox_that_is_off_asks_as_the_settings_say(tmp_path: Path) -> None:
    (tool,) = builtin_tools(("shell",), root=tmp_path, sandbox=Sandbox(mode="off"))
    assert tool.needs_approval is False
    assert tool.unconfined == ""


async def test_a_workspace_that_can_not_be_confined_is_refused_at_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not known when the tool was made."""
    monkeypatch.chdir(tmp_path)
    (tool,) = builtin_tools(("shell",), sandbox=Sandbox())
    assert tool.needs_approval is False
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"can't be confined .* is not installed"):
        await tool.run({"command": "true"}, FakeToolContext(tmp_path))


async def test_commands_run_unconfined_only_where_allowed(tmp_path: Path) -> None:
    """The workspace may have changed since it was found that commands can be confined to it."""
    (tmp_path / ".git").symlink_to(tmp_path / "elsewhere")
    command = ProcessSpec(("true",), tmp_path, {})
    sandbox = Sandbox()
    with pytest.raises(ToolError, match=r"none is run without approval: .* is a link"):
        sandbox.confined(command)
    assert sandbox.confined(command, allows_unconfined=True).arguments == ("true",)


async def test_the_description_says_the_mode_and_stays_the_same(tmp_path: Path) -> None:
    made = [
        builtin_tools(("shell",), root=tmp_path, sandbox=Sandbox())[0].declaration
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert "there is no network" in made[0].description
    (open_,) = builtin_tools(
        ("shell",), root=tmp_path, sandbox=Sandbox(mode="workspace+network")
    )
    assert "the network is open" in open_.declaration.description
    (off,) = builtin_tools(("shell",), root=tmp_path, sandbox=Sandbox(mode="off"))
    assert "sandbox" not in off.declaration.description


async def test_a_limit_is_named(tmp_path: Path) -> None:
    sandbox = Sandbox(limits=CommandLimits(processes=20))
    output = await shell(
        tmp_path, "for each in $(seq 60); do sleep 20 & done; wait", 60, sandbox=sandbox
    )
    assert "stopped because it had too many processes" in output.text


async def test_a_refusal_is_told_of_though_the_command_goes_on(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    line = "git commit --allow-empty -m x; git config a.b c; echo > .git/x; true"
    output = await shell(tmp_path, line, 30, sandbox=Sandbox())
    assert not output.is_error
    note = output.text.splitlines()[0]
    assert "so are repositories (.git)" in note and "sandbox_write" in note


async def test_nothing_is_left_of_a_repository_s_placeholder(tmp_path: Path) -> None:
    both = [
        shell(tmp_path, "sleep 0.1; mkdir .git/x; ls -A", 30, sandbox=Sandbox())
        for _ in range(2)
    ]
    for output in await asyncio.gather(*both):
        assert "Read-only file system" in output.text
        assert ".git\nHEAD\n" in output.text
    assert list(tmp_path.iterdir()) == []


async def test_a_repository_that_was_opened_can_be_written(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    sandbox = Sandbox(writable=(tmp_path / ".git",))
    line = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s"
    assert (await shell(tmp_path, line, 30, sandbox=sandbox)).text == "x\n"
