import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage_agent.tools import shell as shell_module
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.shell import LONGEST_S, Spool, denial_note, shell
from ullage_agent.tools.tool import Output, ToolError

OPEN = Sandbox(mode="off")


async def told(command: str, root: Path, timeout_s: float = 30.0) -> Output:
    return await shell(root, command, timeout_s, sandbox=OPEN)


async def test_what_a_command_prints_is_the_result(tmp_path: Path) -> None:
    assert await told("echo hello", tmp_path) == Output("hello\n")


async def test_an_exit_code_is_said_and_is_an_error(tmp_path: Path) -> None:
    found = await told("printf no; exit 3", tmp_path)
    assert found == Output("no\n[exit code 3]", is_error=True)


async def test_silence_is_said(tmp_path: Path) -> None:
    assert await told("true", tmp_path) == Output("[exit code 0, no output]")


async def test_a_signal_is_named(tmp_path: Path) -> None:
    found = await told("kill -SEGV $$", tmp_path)
    assert found == Output("[ended by the signal SIGSEGV]", is_error=True)


async def test_a_command_whose_time_is_up_says_what_it_printed(tmp_path: Path) -> None:
    output = await told("echo begun; sleep 1000", tmp_path, 2)
    assert output == Output(
        "begun\n[stopped after 2 s; all its processes were ended]", (), True, "timed_out"
    )


async def test_binary_output_is_described(tmp_path: Path) -> None:
    found = (await told("head -c 5000 /dev/zero", tmp_path)).text
    assert found == "[binary output, 5,000 bytes]\n".rstrip("\n")


async def test_broken_utf8_is_shown_with_marks(tmp_path: Path) -> None:
    assert (
        await told(r"printf 'a long line with one bad byte: \377\n'", tmp_path)
    ).text.endswith("byte: \ufffd\n")


async def test_nobody_is_asked_anything(tmp_path: Path) -> None:
    output = await told('read answer; echo "$TERM $PAGER $answer"', tmp_path)
    assert output.text == "dumb cat \n"


async def test_the_environment_may_be_another(tmp_path: Path) -> None:
    output = await shell(
        tmp_path,
        'echo "$WORD$HOME"',
        30,
        sandbox=OPEN,
        env={"WORD": "only", "PATH": "/usr/bin:/bin"},
    )
    assert output.text == "only\n"


@pytest.mark.parametrize(
    ("command", "timeout_s"), [("a\0b", 1), ("true", 0), ("true", LONGEST_S + 1)]
)
async def test_what_makes_no_sense_is_refused(
    tmp_path: Path, command: str, timeout_s: float
) -> None:
    with pytest.raises(ToolError):
        await told(command, tmp_path, timeout_s)


async def test_a_directory_that_is_gone_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="can't be started"):
        await told("true", tmp_path / "gone")


@given(
    st.lists(st.binary(max_size=30), max_size=20), st.integers(0, 60), st.integers(1, 60)
)
def test_the_beginning_and_the_end_are_kept_whatever_comes(
    pieces: list[bytes], head: int, tail: int
) -> None:
    data = b"".join(pieces).translate(bytes(0x61 + each % 26 for each in range(256)))
    at = 0
    with Spool(head_bytes=head, tail_bytes=tail) as kept:
        for piece in pieces:
            kept.take(data[at : at + len(piece)])
            at += len(piece)
        text = kept.text()
    assert kept.size_bytes == len(data)
    whole = data.decode()
    if "[" in text:
        start, end = text.split("\n[")[0], text.split("]\n")[1]
        assert whole.startswith(start) and whole.endswith(end)
        assert len(start) == head and len(end) >= tail
        assert f"{len(whole) - len(start) - len(end):,} bytes were not kept" in text
    else:
        assert text == whole


def test_no_character_is_torn_at_the_gap() -> None:
    with Spool(head_bytes=10, tail_bytes=10) as kept:
        kept.take("日本語日本語日本語日本語".encode())
        assert "\ufffd" not in kept.text()


def test_what_is_over_the_limit_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        with Spool(head_bytes=2_000_000) as kept:
            for _ in range(5_000):
                kept.take(bytes(65_536))
            _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.size_bytes == 5_000 * 65_536
    assert peak < 20_000_000  # bytes, of 320,000,000


def test_a_full_disk_shortens_the_beginning_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    with (
        Spool(head_bytes=50_000_000, tail_bytes=100) as kept,
        open("/dev/full", "r+b", buffering=0) as full,
    ):
        kept._file = full
        for _ in range(40):
            kept.take(b"x" * 65_536)
        assert kept.problem == "No space left on device"
        kept._file = None
        assert "(No space left on device)" in kept.text()
    assert kept.size_bytes == 40 * 65_536 > shell_module.IN_MEMORY


NO_NETWORK = "the sandbox has no network"
READ_ONLY = "in the sandbox files are read-only outside the working directory"
REFUSED = "it may be the sandbox that refuses this"


def test_a_failure_that_looks_like_the_sandboxs_is_explained(tmp_path: Path) -> None:
    told_of = {
        "curl: (6) Could not resolve host: example.org": NO_NETWORK,
        "connect ENETUNREACH 10.0.0.1:443": NO_NETWORK,
        "touch: cannot touch '/etc/new': Read-only file system": READ_ONLY,
        "fatal: sub/.git: Read-only file system": READ_ONLY,
        "bash: /usr/lib/x: Permission denied": REFUSED,
        "AssertionError: 1 != 2": "",
        "bash: line 1: foo: command not found": "",
        "connection to 127.0.0.1 refused": "",
    }
    for text, note in told_of.items():
        found = denial_note(text, Sandbox(), tmp_path)
        assert found.startswith(note) if note else not found, text
        assert denial_note(text, Sandbox(mode="off"), tmp_path) == ""
        succeeded = denial_note(text, Sandbox(), tmp_path, failed=False)
        assert bool(succeeded) is (note == READ_ONLY), text
    with_network = Sandbox(mode="workspace+network")
    assert denial_note("Could not resolve host: x", with_network, tmp_path) == ""
