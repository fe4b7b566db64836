import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.tool_context import FakeToolContext
from ullage.errors import SettingError
from ullage_agent.tools.builtin import builtin_tools
from ullage_agent.tools.running import CallResult, run_call


async def call(root: Path, name: str, **arguments: Any) -> CallResult:
    (tool,) = builtin_tools([name])
    return await run_call(tool, json.dumps(arguments), FakeToolContext(root))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SettingError, match="no built-in tool 'cat'"):
        builtin_tools(("cat",))
    with pytest.raises(SettingError, match="no built-in tool 'rm'"):
        builtin_tools(("read",), approve=("rm",))


def test_what_changes_something_runs_alone() -> None:
    alone = {tool.name: tool.sequential for tool in builtin_tools()}
    assert alone == {
        "read": False,
        "write": True,
        "edit": True,
        "list": False,
        "search": False,
        "shell": True,
    }


def test_what_only_looks_may_run_again_after_a_crash() -> None:
    again = {tool.name for tool in builtin_tools() if tool.idempotent}
    assert again == {"read", "list", "search", "write"}


def test_only_what_writes_by_a_thread_may_take_effect_after_a_cancel() -> None:
    assert {tool.name for tool in builtin_tools() if tool.outlives_cancel} == {
        "write",
        "edit",
    }


def test_sandboxed_tools_need_approval_only_where_wanted(tmp_path: Path) -> None:
    # The working directory may hold the code that the tests run, and commands there always need approval.
    assert not any(tool.needs_approval for tool in builtin_tools(root=tmp_path))
    assert all(tool.needs_approval for tool in builtin_tools(root=tmp_path, approve=True))
    named = builtin_tools(root=tmp_path, approve=("shell", "edit"))
    assert {tool.name for tool in named if tool.needs_approval} == {"shell", "edit"}

    def is_bad(arguments: Any) -> bool:
        return "rm" in arguments["command"]

    assert (
        builtin_tools(("shell",), root=tmp_path, approve={"shell": is_bad})[
            0
        ].needs_approval
        is is_bad
    )


def test_every_argument_is_described() -> None:
    for tool in builtin_tools():
        schema = json.loads(bytes(tool.declaration.schema))
        assert tool.declaration.description
        assert all(each.get("description") for each in schema["properties"].values()), (
            tool.name
        )


@pytest.mark.program
async def test_they_work_together_on_a_session_s_root(tmp_path: Path) -> None:
    assert (
        await call(tmp_path, "write", path="src/a.py", content="def f():\n    return 1\n")
    ).outcome == "finished"
    found = (await call(tmp_path, "edit", path="src/a.py", old="1", new="2")).outcome
    assert found == "finished"
    assert "return 2" in (await call(tmp_path, "read", path="src/a.py")).output.text
    assert (await call(tmp_path, "list", path="src")).output.text == "a.py  22 bytes"
    given = (await call(tmp_path, "search", pattern="def")).output.text
    assert given == "src/a.py:1: def f():"
    told = (await call(tmp_path, "shell", command="cat src/a.py")).output.text
    assert told == "def f():\n    return 2\n"


async def test_a_root_of_their_own_goes_before_the_session_s(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    tool = builtin_tools(("list",), root=tmp_path)[0]
    assert "here" in (await run_call(tool, "{}", FakeToolContext(Path("/")))).output.text
