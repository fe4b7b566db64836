import asyncio
from pathlib import Path

import pytest

from ullage.tools.sandbox import Sandbox
from ullage.tools.shell import LONGEST_S, shell
from ullage.tools.tool import Output, ToolError

OPEN = Sandbox(mode="off")


async def told(command: str, root: Path, timeout_s: float = 30.0) -> Output:
    return await shell(root, command, timeout_s, sandbox=OPEN)


async def test_what_a_command_prints_is_the_result(tmp_path: Path) -> None:
    assert await told("echo hello", tmp_path) == Output("hello\n")


async def test_an_exit_code_is_said_and_is_an_error(tmp_path: Path) -> None:
    assert await told("printf no; exit 3", tmp_path) == Output("no\n[exit code 3]", is_error=True)


async def test_silence_is_said(tmp_path: Path) -> None:
    assert await told("true", tmp_path) == Output("[exit code 0, no output]")


async def test_a_signal_is_named(tmp_path: Path) -> None:
    assert await told("kill -SEGV $$", tmp_path) == Output("[ended by the signal SIGSEGV]", is_error=True)


async def test_a_command_whose_time_is_up_says_what_it_printed(tmp_path: Path) -> None:
    output = await told("echo begun; sleep 1000", tmp_path, 0.3)
    assert output == Output("begun\n[stopped after 0.3 s; all its processes were ended]", (), True, "timed_out")


async def test_processes_left_behind_are_named(tmp_path: Path) -> None:
    assert "left in the background were ended" in (await told("sleep 1000 & echo x", tmp_path)).text


async def test_binary_output_is_described(tmp_path: Path) -> None:
    assert (await told("head -c 5000 /dev/zero", tmp_path)).text == "[binary output, 5,000 bytes]\n".rstrip("\n")


async def test_broken_utf8_is_shown_with_marks(tmp_path: Path) -> None:
    assert (await told(r"printf 'a long line with one bad byte: \377\n'", tmp_path)).text.endswith("byte: \ufffd\n")


async def test_a_hundred_megabytes_are_kept_by_their_ends(tmp_path: Path) -> None:
    output = await shell(tmp_path, "seq 1 11200000; echo the end", 60, sandbox=OPEN, kept_bytes=100_000)
    assert len(output.text) < 1_300_000
    assert output.text.startswith("1\n2\n")
    assert output.text.endswith("the end\n")
    assert "bytes were not kept here" in output.text


async def test_nobody_is_asked_anything(tmp_path: Path) -> None:
    output = await told('read answer; echo "$TERM $PAGER $answer"', tmp_path)
    assert output.text == "dumb cat \n"


async def test_the_environment_may_be_another(tmp_path: Path) -> None:
    output = await shell(tmp_path, 'echo "$WORD$HOME"', 30, sandbox=OPEN, env={"WORD": "only", "PATH": "/usr/bin:/bin"})
    assert output.text == "only\n"


@pytest.mark.parametrize(("command", "timeout_s"), [("a\0b", 1), ("true", 0), ("true", LONGEST_S + 1)])
async def test_what_makes_no_sense_is_refused(tmp_path: Path, command: str, timeout_s: float) -> None:
    with pytest.raises(ToolError):
        await told(command, tmp_path, timeout_s)


async def test_a_directory_that_is_gone_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="can't be started"):
        await told("true", tmp_path / "gone")


async def test_a_cancel_goes_on_after_the_processes_have_ended(tmp_path: Path) -> None:
    task = asyncio.ensure_future(told("echo $$ > pid; exec sleep 1000", tmp_path))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
