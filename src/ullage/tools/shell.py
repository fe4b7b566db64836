"""Commands of a shell for a model, in the sandbox (``sandbox.py``) or, without one, with the rights of the user."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ullage.tools.command_environment import clean_environment
from ullage.tools.denials import denial_note
from ullage.tools.outputs import looks_binary
from ullage.tools.processes import ProcessEnd, ProcessSpec, run_command
from ullage.tools.sandbox import Sandbox
from ullage.tools.spool import Spool
from ullage.tools.threads import in_thread
from ullage.tools.tool import Output, ToolError

TIMEOUT_S: Final = 120.0
LONGEST_S: Final = 600.0
"""Seconds a command gets unless the model asks for others, and the most it can ask for: Claude Code's two
(https://www.mintlify.com/VineeTagarwaL-code/claude-code/reference/tools/bash)."""

KEPT_BYTES: Final = 16_000_000
"""Bytes of a command's output that are kept from its beginning, beside the last million."""

_ENVIRONMENT: Final = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""Nobody sits at this terminal: nothing pages, draws or asks."""


_EXCEEDED: Final[dict[str, str]] = {
    "processes": "it had too many processes",
    "memory": "it used too much memory",
    "disk": "it left too little free on the disk",
    "temp": "it filled its temporary directory",
}


async def shell(
    root: Path,
    command: str,
    timeout_s: float,
    *,
    sandbox: Sandbox,
    env: Mapping[str, str] | None = None,
    kept_bytes: int = KEPT_BYTES,
) -> Output:
    """What a command prints and how it ended. Its processes end with it, by time limit and cancel too.

    ``env`` is the whole environment; without it the harmless part of this process's. Raises ``ToolError`` for a
    command that can't be started.
    """
    if "\0" in command:
        raise ToolError("A command can't hold the character NUL.")
    if not 0 < timeout_s <= LONGEST_S:
        raise ToolError(f"timeout_s must be above 0 and at most {LONGEST_S:g}.")
    program = shutil.which("bash") or "/bin/sh"
    given = clean_environment(os.environ) if env is None else env
    plain = ProcessSpec((program, "-c", command), root, {**given, **_ENVIRONMENT})
    with Spool(head_bytes=kept_bytes) as spool:
        try:
            confined = await in_thread(sandbox.confined, plain)
            ended = await run_command(confined, spool.take, timeout_s=timeout_s)
        except OSError as error:
            raise ToolError(f"The command can't be started: {error.strerror or error}.") from error
        text = await in_thread(_printed, spool)
    denial = await in_thread(lambda: denial_note(text, sandbox, root, failed=ended.code != 0))
    return _told(text, ended, timeout_s, denial)


def _printed(spool: Spool) -> str:
    if looks_binary(spool.sample()):
        return f"[binary output, {spool.size_bytes:,} bytes]"
    return spool.text()


def _told(text: str, ended: ProcessEnd, timeout_s: float, denial: str) -> Output:
    notes = []
    if ended.timed_out:
        notes.append(f"stopped after {timeout_s:g} s; all its processes were ended")
    elif ended.exceeded:
        notes.append(f"stopped because {_EXCEEDED[ended.exceeded]}; all its processes were ended")
    elif ended.code < 0:
        notes.append(f"ended by the signal {_signal(-ended.code)}")
    elif ended.code or not text:
        notes.append(f"exit code {ended.code}" + ("" if text else ", no output"))
    if ended.left_over:
        notes.append("processes it left in the background were ended")
    if denial:  # first, where a folded result shows it
        text = f"[{denial}]\n{text}"
    line = f"[{'; '.join(notes)}]" if notes else ""
    whole = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}" if line else text
    return Output(whole, is_error=ended.timed_out or ended.code != 0, outcome="timed_out" if ended.timed_out else None)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
