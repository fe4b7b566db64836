"""Runs shell commands for a model, in the sandbox (``sandbox.py``) or, without one, with the rights of the user."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from ullage.threads import in_thread
from ullage.tokens.truncation import whole_characters
from ullage_agent.tools.outputs import looks_binary
from ullage_agent.tools.processes import ProcessEnd, ProcessSpec, run_command
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.tool import Output, ToolError

TIMEOUT_S: Final = 120.0
LONGEST_S: Final = 600.0
"""Seconds a command gets unless the model asks for others, and the most it can ask for: Claude Code's two
(https://www.mintlify.com/VineeTagarwaL-code/claude-code/reference/tools/bash)."""

KEPT_BYTES: Final = 16_000_000
"""Bytes of a command's output that are kept from its beginning, beside the last million."""

IN_MEMORY: Final = 1_000_000
"""Bytes of the beginning that are held in memory; the rest goes to a temporary file without a name."""
TAIL: Final = 1_000_000
"""Bytes of the end, held in memory."""

_ENVIRONMENT: Final = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""No person uses this terminal: no program may page, draw or prompt."""

_EXCEEDED: Final[dict[str, str]] = {
    "processes": "it had too many processes",
    "memory": "it used too much memory",
    "disk": "it left too little free on the disk",
}


async def shell(
    root: Path,
    command: str,
    timeout_s: float,
    *,
    sandbox: Sandbox,
    allows_unconfined: bool = False,
    env: Mapping[str, str] | None = None,
    kept_bytes: int = KEPT_BYTES,
) -> Output:
    """What a command prints and how it ended. Its processes end with it, also by time limit and cancel.

    ``env`` is the whole environment; ``None`` is the harmless part of this process's environment. Raises ``ToolError``
    for a command that can't be started, or can't be confined without ``allows_unconfined``.
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
            confined = await in_thread(
                lambda: sandbox.confined(plain, allows_unconfined=allows_unconfined)
            )
            end = await run_command(confined, spool.take, timeout_s=timeout_s)
        except OSError as error:
            raise ToolError(
                f"The command can't be started: {error.strerror or error}."
            ) from error
        text = await in_thread(spool.shown)
    denial = await in_thread(
        lambda: denial_note(text, sandbox, root, failed=end.code != 0)
    )
    if denial:  # at the top, where a folded result shows it
        text = f"[{denial}]\n{text}"
    notes = _end_notes(end, timeout_s, has_output=bool(text))
    if notes:
        line_end = "\n" if text and not text.endswith("\n") else ""
        text = f"{text}{line_end}[{'; '.join(notes)}]"
    is_error = end.timed_out or end.code != 0
    return Output(text, is_error=is_error, outcome="timed_out" if end.timed_out else None)


def _end_notes(end: ProcessEnd, timeout_s: float, *, has_output: bool) -> list[str]:
    notes = []
    if end.timed_out:
        notes.append(f"stopped after {timeout_s:g} s; all its processes were ended")
    elif end.exceeded:
        notes.append(
            f"stopped because {_EXCEEDED[end.exceeded]}; all its processes were ended"
        )
    elif end.code < 0:
        notes.append(f"ended by the signal {_signal_name(-end.code)}")
    elif not has_output:
        notes.append(f"exit code {end.code}, no output")
    elif end.code:
        notes.append(f"exit code {end.code}")
    return notes


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


class Spool:
    """Takes any number of bytes and keeps the first ``head_bytes`` (on disk) and the last ``tail_bytes`` of them."""

    def __init__(self, *, head_bytes: int, tail_bytes: int = TAIL) -> None:
        self._head_left = head_bytes
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._tail_bytes = tail_bytes
        self.size_bytes = 0
        """Bytes taken so far."""
        self.problem = ""
        """Why less of the beginning was kept than allowed: a full disk."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def take(self, data: bytes) -> None:
        """Take more bytes. If the disk is full, they are left out like those above the limit."""
        self.size_bytes += len(data)
        while data and self._head_left:
            written = self._to_head(data[: self._head_left])
            self._head_left -= written
            data = data[written:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._tail_bytes:
            self._tail_size -= len(self._tail.popleft())

    def _to_head(self, data: bytes) -> int:
        """How many bytes were written. A full disk ends the head: none then."""
        room = max(0, IN_MEMORY - len(self._memory))
        if room:
            self._memory += data[:room]
            return min(room, len(data))
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by __exit__
            return self._file.write(data)
        except OSError as error:
            self.problem = error.strerror or str(error)
            self._head_left = 0
            return 0

    def shown(self) -> str:
        """The text, or a description of binary output."""
        if looks_binary(bytes(self._memory[:8_000])):
            return f"[binary output, {self.size_bytes:,} bytes]"
        return self.text()

    def text(self) -> str:
        """All that was kept as text, with a note in place of the bytes that were left out."""
        head, tail = bytes(self._memory), b"".join(self._tail)
        if self._file is not None:
            self._file.seek(0)
            head += self._file.read()
        if len(head) + len(tail) == self.size_bytes:
            return (head + tail).decode("utf-8", "replace")
        head = whole_characters(head, cut="end")
        tail = whole_characters(tail, cut="start")
        missing = self.size_bytes - len(head) - len(tail)
        problem = f" ({self.problem})" if self.problem else ""
        note = (
            f"\n[{missing:,} bytes were not kept here, of {self.size_bytes:,} printed{problem}: "
            "send long output to a file instead]\n"
        )
        return head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")


_LINES: Final = 200  # of the end of the output
_NO_NETWORK: Final = re.compile(
    r"could(?: not|n't) resolve|name resolution|name or service not known|network is unreachable"
    r"|ENETUNREACH|EAI_AGAIN|nodename nor servname|failed to lookup address|unable to resolve"
    r"|socket: operation not permitted|cannot create socket|failed to open socket",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(
    r"permission denied|operation not permitted|\bE(?:ACCES|PERM)\b", re.IGNORECASE
)
_READ_ONLY: Final = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)


def denial_note(text: str, sandbox: Sandbox, root: Path, *, failed: bool = True) -> str:
    """Why the command may have failed, by what it printed; empty if the sandbox has nothing to do with it.

    Of a command that succeeded, only a refusal by a read-only place counts.
    """
    end = "\n".join(text.splitlines()[-_LINES:])
    is_read_only = bool(_READ_ONLY.search(end))
    if not (failed or is_read_only) or not sandbox.confines(root):
        return ""
    notes = []
    if failed and sandbox.mode == "workspace" and _NO_NETWORK.search(end):
        notes.append("the sandbox has no network")
    if is_read_only:
        notes.append(
            "in the sandbox files are read-only outside the working directory and $TMPDIR, and so are repositories "
            "(.git): a person can run that command, or open the directory to commands with sandbox_write in their "
            "own ullage.toml"
        )
    elif failed and _REFUSED.search(end):
        notes.append("it may be the sandbox that refuses this")
    return "; ".join(notes)


# -- the environment --

PASSED: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "LC_ALL",
        "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY",
        "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME", "COLUMNS", "LINES", "NO_COLOR", "CI",
        "TMPDIR", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
        "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYENV_ROOT",
        "PYENV_VERSION", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "GOROOT", "GOPATH", "JAVA_HOME", "NVM_DIR",
        "NODE_ENV", "NODE_PATH", "VOLTA_HOME", "RBENV_ROOT", "RBENV_VERSION", "ASDF_DATA_DIR", "DOTNET_ROOT", "CC",
        "CXX", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH",
        "CPATH", "MANPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS", "PIP_CERT",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
        "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "GOPROXY",
    }
)  # fmt: skip
"""Who and where the user is, where toolchains and certificates lie, and how to reach a proxy or a package index.

The locale's names are those of locale(7). No flags of compilers and build tools: a key fits into free text too."""

SECRET_WORDS: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
"""A variable with one of these in its name is never passed."""

ADDRESS_WORDS: Final = ("PROXY", "INDEX")
"""A variable with one of these in its name holds addresses, also without ``://``."""


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a command gets: known names, and no address with a user or a query."""
    passed = {}
    for name, value in environment.items():
        if name in PASSED and not _is_secret(name, value):
            passed[name] = value
    return passed


def _is_secret(name: str, value: str) -> bool:
    if any(word in name.upper() for word in SECRET_WORDS):
        return True
    is_address = any(word in name.upper() for word in ADDRESS_WORDS) or "://" in value
    return is_address and ("@" in value or "?" in value)
