"""Grants: calls that a person allowed in advance, by tool or by the first words of a command. Pure.

    grant = Grant(id="g1", tool="shell", prefix=("git", "status"))
    covers(grant, "shell", {"command": "git status --short"})       # True
    covers(grant, "shell", {"command": "git status; rm -rf ."})     # False: two commands

A grant answers the question that would be asked; it gives no tool, no directory and no right beyond it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ullage.agent.simple_command import simple_command

SHELL: Final = "shell"
"""The tool whose calls are granted by the first words of their ``command``, and never as a whole."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RUNS_OTHERS: Final = _names(
    """
    . awk bash builtin busybox bwrap chroot chrt cmd command coproc csh dash doas ed emacs env eval exec expect find
    fish flock gawk gdb ionice ksh mawk nawk nice nohup nsenter nvim osascript parallel pkexec powershell pwsh rbash
    runuser script sed setarch setpriv setsid sh socat source ssh stdbuf strace su sudo systemd-run taskset time timeout
    tmux trap unshare vi vim watch xargs zsh
    """
)
"""Programs that run whatever the rest of their line says: no prefix that begins with one is taken."""

_INTERPRETERS: Final = _names(
    "bun deno groovy java jshell julia lua node nodejs perl php pypy python r rscript ruby scala tclsh ts-node"
)
"""Programs that take code as an argument: their name alone is no prefix, nor is it with an option."""

_SUBCOMMANDS: Final = _names(
    """
    apt apt-get brew bundle cargo conda dnf docker dotnet gem gh git go gradle helm hg just kubectl make mvn nix npm
    pdm pip pip3 pnpm podman poetry rustup svn systemctl terraform uv yarn
    """
)
"""Programs whose second word says what is done: it belongs to the prefix."""

_NOT_OFFERED: Final = _names(
    """
    chmod chown cp crontab curl dd install kill killall ln mkfs mv nc ncat pkill reboot rm rmdir rsync scp sftp shutdown
    tar tee telnet truncate wget
    """
)
"""Programs that write, delete or send what their line names: such a grant can be given, and nobody is tempted to."""

_RUNNERS: Final = frozenset(
    {
        ("bundle", "exec"), ("cargo", "run"), ("docker", "exec"), ("docker", "run"), ("go", "run"), ("kubectl", "exec"),
        ("nix", "develop"), ("nix", "run"), ("nix", "shell"), ("npm", "exec"), ("npm", "run"), ("pdm", "run"),
        ("pnpm", "dlx"), ("pnpm", "exec"), ("pnpm", "run"), ("podman", "exec"), ("podman", "run"), ("poetry", "run"),
        ("uv", "run"), ("yarn", "run"),
    }
)  # fmt: skip
"""Subcommands that run what the third word names: it belongs to the prefix as well."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of ``tool`` need no further approval; with a ``prefix``, those whose command begins with these words.

    ``declaration`` is the digest of the tool's declaration, for tools of servers: one that changes is asked about
    again. ``at`` is when it was given, in seconds since 1970.
    """

    id: str
    tool: str
    prefix: tuple[str, ...] = ()
    declaration: str = ""
    at: float = 0

    def __str__(self) -> str:
        return f"{self.tool}: {' '.join(self.prefix)} …" if self.prefix else self.tool


def covers(grant: Grant, name: str, arguments: Mapping[str, Any] | None, declaration: str = "") -> bool:
    """Whether the grant allows a call with these parsed arguments; ``None`` are none that could be read."""
    if grant.tool != name or grant.declaration != declaration or arguments is None:
        return False
    if name != SHELL:
        return not grant.prefix
    command = arguments.get("command")
    words = simple_command(command) if isinstance(command, str) else None
    if words is None or why_no_prefix(grant.prefix):
        return False
    return words[: len(grant.prefix)] == grant.prefix


def why_no_prefix(prefix: tuple[str, ...]) -> str:
    """Why these words can't be granted as a prefix; empty when they can."""
    if not prefix or not all(prefix):
        return "A grant for shell needs the first words of a command."
    program, second = prefix[0].rsplit("/", 1)[-1].lower(), prefix[1] if len(prefix) > 1 else ""
    if program in _RUNS_OTHERS:
        return f"{prefix[0]} runs whatever follows it, so it can't begin a grant."
    is_module = second == "-m" and len(prefix) > 2 and not prefix[2].startswith("-")
    if _is_interpreter(program) and not is_module and (not second or second.startswith("-")):
        return f"{prefix[0]} runs code from its arguments: a grant has to name the script or the module."
    if program in _SUBCOMMANDS and (not second or second.startswith("-")):
        return f"{prefix[0]} does many things: a grant has to name the subcommand."
    if (program, second) in _RUNNERS and (len(prefix) < 3 or prefix[2].startswith("-")):
        return f"{prefix[0]} {second} runs what the next word names: a grant has to name it."
    return ""


def _is_interpreter(program: str) -> bool:
    return program.rstrip("0123456789.") in _INTERPRETERS  # python3.12 too


def offered_prefix(command: object) -> tuple[str, ...]:
    """The shortest prefix of this command that is worth offering; empty where there is none."""
    words = simple_command(command) if isinstance(command, str) else None
    if words is None or words[0].rsplit("/", 1)[-1] in _NOT_OFFERED:
        return ()
    for length in range(1, min(3, len(words)) + 1):
        prefix = words[:length]
        if length > 1 and not _is_plain_word(prefix[-1]):
            return ()
        if not why_no_prefix(prefix):
            return prefix
        if prefix[-1] == "-m":
            continue
    return ()


def _is_plain_word(word: str) -> bool:
    return bool(word) and (word == "-m" or not word.startswith("-")) and len(word) < 60
