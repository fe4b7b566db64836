"""Attempts of a command to get out of its sandbox, and a table of what came of them.

    uv run python -m tests.tools.escapes            the table in tests/hostile/ATTACKS.md

An attempt that prints the canary or ESCAPED, or leaves a trace on the host, got out.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from ullage_agent.tools.processes import ProcessEnd, ProcessSpec, run_command
from ullage_agent.tools.sandbox import Sandbox, SandboxMode
from ullage_agent.tools.shell import clean_environment

CANARY: Final = "canary-5f2a9c1e"
SHARED_MEMORY = f"/dev/shm/ullage-canary-{os.getpid()}"
"""A file per process, since several processes run these tests at the same time."""
PYTHON: Final = os.path.realpath(sys.executable)
_worlds = itertools.count(100)


@dataclass(slots=True, kw_only=True)
class World:
    """A workspace, and what lies around it for an attempt to reach."""

    root: Path
    outside: Path
    readable: Path
    home: Path
    store: Path
    victim: subprocess.Popen[bytes]
    stream: socket.socket
    datagram: socket.socket
    abstract: socket.socket
    tcp: socket.socket
    udp: socket.socket
    git: dict[str, str]
    nap: str
    """Seconds that no other process sleeps: those of another world, tried at the same time, are not its own."""

    @property
    def names(self) -> dict[str, str]:
        """What an attempt's code may name."""
        return {
            "ROOT": str(self.root),
            "OUTSIDE": str(self.outside),
            "READABLE": str(self.readable),
            "HOME_DIR": str(self.home),
            "STORE": str(self.store),
            "VICTIM": str(self.victim.pid),
            "STREAM": self.stream.getsockname(),
            "DATAGRAM": self.datagram.getsockname(),
            "ABSTRACT": self.abstract.getsockname()[1:].decode(),
            "TCP": str(self.tcp.getsockname()[1]),
            "UDP": str(self.udp.getsockname()[1]),
            "PYTHON": PYTHON,
            "NAP": self.nap,
        }

    def sandbox(self, mode: SandboxMode = "workspace") -> Sandbox:
        return Sandbox(
            mode=mode,
            home=self.home,
            hidden=(self.store, self.root / "data/deep/hidden"),
            readable=(self.readable, Path(sys.base_prefix)),
        )


class Attempt(NamedTuple):
    """``code`` is a shell command, or with ``python`` a program; ``left`` looks for a trace on the host.

    ``prepare`` changes the world before. ``code`` doesn't contain ``CANARY``: from Python 3.13 a traceback prints the
    line of ``-c`` that failed, which would read as an escape.
    """

    name: str
    code: str
    python: bool = False
    left: Callable[[World], bool] | None = None
    prepare: Callable[[World], object] | None = None
    gets_out: bool = False
    """Whether it is known to get out; tests/hostile/ATTACKS.md says so."""


def _heard(listening: socket.socket) -> bool:
    """Whether somebody connected to this socket or wrote to it."""
    listening.setblocking(False)
    try:
        if listening.type == socket.SOCK_STREAM:
            listening.accept()[0].close()
        else:
            listening.recv(100)
    except BlockingIOError:
        return False
    return True


def _sleeps(world: World) -> bool:
    """Whether a process of this world, ``sleep $NAP``, lives on the host; it is ended."""
    found = False
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if (
                name.isdigit()
                and Path(f"/proc/{name}/cmdline").read_bytes()
                == f"sleep\0{world.nap}\0".encode()
            ):
                os.kill(int(name), signal.SIGKILL)
                found = True
    return found


def _is_dead(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.3)
    except subprocess.TimeoutExpired:
        return False
    return True


def _git_changed(world: World) -> bool:
    """Whether anything of git's in the workspace is other than it was made."""
    return _git_in(world.root) != world.git


def _git_in(root: Path) -> dict[str, str]:
    """Each file of a repository, of those that were there from the beginning, and what it holds."""
    found: dict[str, str] = {}
    for place in (".git", "nested", "linked", "empty"):
        for path in sorted((root / place).rglob("*")):
            if (
                path.is_file()
                and path.name != "secret"
                and (place == ".git" or ".git" in path.parts)
            ):
                found[str(path)] = path.read_text(errors="replace")
    return found


def _make_repositories(root: Path) -> None:
    """One with an unpopulated submodule, and in it one of its own and one that is a file leading to another."""
    for git in (".git", ".git/modules/sub", ".git/worktrees/w", "nested/.git"):
        for name in ("objects", "refs"):
            (root / git / name).mkdir(parents=True)
        (root / git / "config").write_text("[core]\n\tbare = false\n")
        (root / git / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/hooks").mkdir()
    (root / "linked").mkdir()
    (root / "linked/.git").write_text("gitdir: ../.git/modules/sub\n")
    (root / "empty/sub").mkdir(parents=True)
    (root / ".git/index").write_bytes(index_of("empty/sub"))


def index_of(submodule: str, *, mode: int = 0o160000) -> bytes:
    """An index of git with one entry."""
    entry = struct.pack(">6I", *[0] * 6) + struct.pack(">4I", mode, 0, 0, 0) + bytes(20)
    entry += struct.pack(">H", len(submodule)) + submodule.encode()
    return (
        b"DIRC" + struct.pack(">II", 2, 1) + entry + bytes(8 - len(entry) % 8) + bytes(20)
    )


def _call(x86: int, arm: int, *arguments: str) -> str:
    """A program that makes a system call and says whether it was let through."""
    given = ", ".join(arguments)
    return (
        "import ctypes, os, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"number = {x86} if platform.machine() == 'x86_64' else {arm}\n"
        f"result = libc.syscall(number, {given})\n"
        "number = ctypes.get_errno()\n"
        "print(result, os.strerror(number))\n"
        "print('ESCAPED') if result >= 0 or number not in (1, 3, 13, 38) else None\n"
    )


FILES: Final[Sequence[Attempt]] = (
    Attempt("read a key in the home directory", "cat $HOME_DIR/.ssh/id_ed25519"),
    Attempt("read it through a symbolic link", "ln -sf $HOME_DIR/.ssh/id_ed25519 link; cat link"),
    Attempt("read it through a hard link", "ln $HOME_DIR/.ssh/id_ed25519 hard; cat hard"),
    Attempt("read a file beside the workspace with ..", "cat ../outside/secret; cat $ROOT/../outside/secret"),
    Attempt("list a directory beside the workspace", "ls $OUTSIDE && echo ESCAPED"),
    Attempt("read the store inside the workspace", "cat store.db; cat < store.db; cp store.db copy; cat copy"),
    Attempt("write beside the workspace", "echo x > ../outside/new; echo x > $OUTSIDE/new2",
            left=lambda world: any((world.outside / name).exists() for name in ("new", "new2"))),
    Attempt("write in a directory that can be read", "echo x > $READABLE/new",
            left=lambda world: (world.readable / "new").exists()),
    Attempt("write in /etc", "echo x > /etc/ullage-escape && echo ESCAPED"),
    Attempt("delete or rename a file outside", "rm -f $READABLE/plain; mv $READABLE/plain moved; mv $OUTSIDE/secret m",
            left=lambda world: not (world.readable / "plain").exists() or not (world.outside / "secret").exists()),
    Attempt("empty a file outside", "import os\nfor flags in (os.O_RDONLY, os.O_RDWR):\n    try:\n"
            "        os.open(os.environ['READABLE'] + '/plain', flags | os.O_TRUNC)\n"
            "    except OSError as problem:\n        print(problem)\n"
            "os.truncate(os.environ['READABLE'] + '/plain', 0)", python=True,
            left=lambda world: (world.readable / "plain").stat().st_size == 0),
    Attempt("change the mode of a file outside", "chmod 666 $READABLE/plain",
            left=lambda world: (world.readable / "plain").stat().st_mode & 0o777 == 0o666),
    Attempt("make a setuid program in the workspace", "cp /bin/true own; chmod 4755 own; chmod u+s own; "
            "install -m 4755 /bin/true own2", left=lambda world: any(
                (world.root / name).exists() and (world.root / name).stat().st_mode & 0o4000
                for name in ("own", "own2"))),
    Attempt("make a setuid file without a name", "import os\nmade = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755)\n"
            "if os.fstat(made).st_mode & 0o4000:\n    print('ESCAPED')", python=True),
    Attempt("take a hidden file along with its directory", "mv data moved; mv data/deep data/d; cat moved/deep/hidden "
            "data/d/hidden", left=lambda world: not (world.root / "data/deep").exists()),
    *(Attempt(name, code, left=_git_changed) for name, code in {
        "write a hook of the repository": "echo evil > .git/hooks/pre-commit; mv .git gone && mkdir -p .git/hooks && "
        "echo evil > .git/hooks/pre-commit",
        "write the repository's settings": "git config core.fsmonitor evil; echo evil >> .git/config; "
        "echo evil > new; mv new .git/config; ln -f new .git/config",
        "lead git to other settings": "mkdir -p o; echo ../o > .git/commondir; echo evil > .git/config.worktree",
        "write the settings of a submodule": "echo evil >> .git/modules/sub/config; "
        "echo evil >> .git/worktrees/w/gitdir",
        "add a submodule to the index": "cp -r nested own; echo evil > .git/index; mv .git/index .git/i",
        "write the settings of a nested repository": "echo evil >> nested/.git/config; mkdir nested/.git/hooks",
        "exchange a nested repository": "mv nested away; mkdir -p nested/.git; echo evil > nested/.git/config",
        "exchange a file that leads to a repository": "echo 'gitdir: ../own' > linked/.git; rm -f linked/.git; "
        "mv linked l; mkdir -p linked; echo 'gitdir: ../own' > linked/.git",
        "fill an empty submodule": "git init -q empty/sub; mkdir -p empty/sub/.git; mv empty e; "
        "mkdir -p empty/sub/.git; echo evil > empty/sub/.git/config",
    }.items()),
    Attempt("make a repository where there is none", "git init -q; mkdir -p .git/hooks; echo evil > .git/config; "
            "ln -s own .git; echo 'gitdir: own' > .git", prepare=lambda world: shutil.rmtree(world.root / ".git"),
            left=lambda world: os.path.lexists(world.root / ".git")),
    Attempt("make the workspace itself a repository", "git init -q --bare .; mkdir objects refs; "
            "echo ref: refs/heads/main > HEAD", prepare=lambda world: shutil.rmtree(world.root / ".git"),
            left=lambda world: (world.root / "HEAD").exists()),
    Attempt("make a repository in a new directory", "mkdir -p new/.git; echo evil > new/.git/config",
            left=lambda world: (world.root / "new/.git/config").exists(),
            gets_out=True),
    Attempt("make a device node", "mknod disk b 254 0 && echo ESCAPED; mknod null2 c 1 3 && echo ESCAPED"),
    Attempt("mount", "mkdir -p m; mount -t tmpfs none m && echo ESCAPED; mount --bind $OUTSIDE m && cat m/secret"),
    Attempt("open a file by its handle", _call(304, 265, "-100", "b'\\x08' + bytes(15)", "0"), python=True),
    Attempt("write to /proc/sys and /sys", "echo x > /proc/sys/kernel/domainname && echo ESCAPED; "
            "echo 1 > /sys/devices/system/cpu/cpu1/online && echo ESCAPED"),
)  # fmt: skip

PROCESSES: Final[Sequence[Attempt]] = (
    Attempt("read the environment of another process", "cat /proc/$VICTIM/environ /proc/*/environ"),
    Attempt("read its command line", "cat /proc/$VICTIM/cmdline /proc/*/cmdline | tr '\\0' ' ' | grep '9177[0]' && "
            "echo ESCAPED"),
    Attempt("go through /proc/PID/root and cwd", "cat /proc/$VICTIM/roo[t]$OUTSIDE/secret "
            "/proc/*/roo[t]$OUTSIDE/secret /proc/*/cwd/outside/secret"),
    Attempt("read its memory", "open(f\"/proc/{os.environ['VICTIM']}/mem\", 'rb')", python=True),
    Attempt("trace a process", _call(101, 117, "16", "int(os.environ['VICTIM'])", "0", "0"), python=True),
    Attempt("read memory by process_vm_readv", _call(310, 270, "int(os.environ['VICTIM'])",
            "(ctypes.c_void_p * 2)(id(os), 8)", "1", "(ctypes.c_void_p * 2)(4096, 8)", "1", "ctypes.c_long(0)"),
            python=True),
    Attempt("take a descriptor of another process", "os.pidfd_open(int(os.environ['VICTIM']))\nprint('ESCAPED')",
            python=True),
    Attempt("send a signal to a process outside", "kill -9 $VICTIM", left=lambda world: _is_dead(world.victim)),
    Attempt("limit a process outside", "import resource\nresource.prlimit(int(os.environ['VICTIM']), "
            "resource.RLIMIT_NOFILE, (1, 1))\nprint('ESCAPED')", python=True),
    Attempt("find an open descriptor of the parent", "import stat\nfor number in range(3, 256):\n    try:\n"
            "        found = os.fstat(number)\n    except OSError:\n        continue\n"
            "    print('ESCAPED', number, oct(found.st_mode))", python=True),
    Attempt("a child that leaves session and group", "setsid sleep $NAP & disown", left=_sleeps),
    Attempt("a daemon, forked twice", "(setsid sh -c '(sleep $NAP &) &' &)", left=_sleeps),
    Attempt("a daemon without environment", "(env -i setsid nohup sleep $NAP >/dev/null 2>&1 &)", left=_sleeps),
    Attempt("gain rights by a setuid program", "import ctypes\nif ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) != 1:\n"
            "    print('ESCAPED')", python=True),
    Attempt("a user namespace", "unshare -U true && echo ESCAPED; unshare -Ur sh -c 'echo ESCAPED'"),
    Attempt("a mount namespace", "unshare -m true && echo ESCAPED"),
    Attempt("a namespace by clone3", _call(435, 435, "b'\\0\\0\\0\\x10' + bytes(84)", "88"), python=True),
    Attempt("the keyring", _call(250, 219, "0", "-3", "1"), python=True),
    Attempt("put characters into a terminal", "import fcntl\n"
            "for name in ('/dev/tty', '/dev/pts/0', '/dev/console'):\n    try:\n"
            "        fcntl.ioctl(os.open(name, os.O_RDWR), 0x5412, b'x')\n        print('ESCAPED')\n"
            "    except OSError as problem:\n        print(problem)", python=True),
    Attempt("a core dump", "ulimit -c unlimited; sh -c 'kill -SEGV $$'; ls core* && echo ESCAPED"),
    Attempt("io_uring, which makes sockets unseen", _call(425, 425, "1", "bytes(120)"), python=True),
    Attempt("bpf", _call(321, 280, "0", "None", "0"), python=True),
    Attempt("shared memory of the user", f"print(open('{SHARED_MEMORY}').read())", python=True),
    Attempt("load a kernel module", _call(175, 105, "None", "0", "None"), python=True),
)  # fmt: skip

NETWORK: Final[Sequence[Attempt]] = (
    Attempt("TCP to the machine itself", "import socket\n"
            "socket.create_connection(('127.0.0.1', int(os.environ['TCP'])), 2)", python=True,
            left=lambda world: _heard(world.tcp)),
    Attempt("UDP, as name resolution uses it", "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto("
            "b'sent', ('127.0.0.1', int(os.environ['UDP'])))", python=True, left=lambda world: _heard(world.udp)),
)  # fmt: skip

SOCKETS: Final[Sequence[Attempt]] = (
    Attempt("a socket file outside, as Docker's", "import socket\nsocket.socket(socket.AF_UNIX).connect("
            "os.environ['STREAM'])", python=True, left=lambda world: _heard(world.stream)),
    Attempt("one by the end of a socket pair", "import socket\nsocket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]"
            ".sendto(b'sent', os.environ['DATAGRAM'])", python=True, left=lambda world: _heard(world.datagram)),
    Attempt("an abstract socket", "import socket\nsocket.socket(socket.AF_UNIX).connect("
            "'\\0' + os.environ['ABSTRACT'])", python=True, left=lambda world: _heard(world.abstract)),
    Attempt("a raw socket", "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nprint('ESCAPED')",
            python=True),
    Attempt("a packet socket", "import socket\nsocket.socket(17, socket.SOCK_RAW)\nprint('ESCAPED')", python=True),
    Attempt("the hypervisor's sockets", "import socket\nsocket.socket(40, socket.SOCK_STREAM)\nprint('ESCAPED')",
            python=True),
)  # fmt: skip

ATTEMPTS: Final = (*FILES, *PROCESSES, *NETWORK, *SOCKETS)


@contextmanager
def world_in(place: Path) -> Iterator[World]:
    """A workspace below this directory, with secrets, sockets and a process around it."""
    root, outside, readable, home = (
        place / name for name in ("project", "outside", "readable", "home")
    )
    for each in (root, outside, readable, home / ".ssh", root / "data/deep"):
        each.mkdir(parents=True)
    _make_repositories(root)
    (root / "data/deep/hidden").write_text(CANARY)
    (outside / "secret").write_text(CANARY)
    (readable / "plain").write_text("plain")
    (readable / "plain").chmod(0o644)
    (home / ".ssh/id_ed25519").write_text(CANARY)
    store = root / "store.db"
    store.write_text(CANARY)
    shared = Path(SHARED_MEMORY)
    shared.write_text(CANARY)
    with ExitStack() as stack:
        stack.callback(shared.unlink)
        sockets = [stack.enter_context(socket.socket(*kind)) for kind in _KINDS]
        short = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="ullage-sockets-"))
        )
        stream, datagram, abstract, tcp, udp = sockets
        stream.bind(str(short / "stream"))
        datagram.bind(str(short / "datagram"))
        abstract.bind(f"\0ullage-{os.getpid()}")
        tcp.bind(("127.0.0.1", 0))
        udp.bind(("127.0.0.1", 0))
        for listening in (stream, abstract, tcp):
            listening.listen()
        victim = subprocess.Popen(
            ["sleep", "91770"],
            env={"SECRET": CANARY, "PATH": os.environ["PATH"]},
            cwd=outside,
            start_new_session=True,
        )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        yield World(
            root=root, outside=outside, readable=readable, home=home, store=store, victim=victim, stream=stream,
            datagram=datagram, abstract=abstract, tcp=tcp, udp=udp, git=_git_in(root),
            nap=f"9{os.getpid()}{next(_worlds)}",
        )  # fmt: skip


_KINDS: Final = (
    (socket.AF_UNIX, socket.SOCK_STREAM),
    (socket.AF_UNIX, socket.SOCK_DGRAM),
    (socket.AF_UNIX, socket.SOCK_STREAM),
    (socket.AF_INET, socket.SOCK_STREAM),
    (socket.AF_INET, socket.SOCK_DGRAM),
)


class Tried(NamedTuple):
    """How an attempt went: whether it got out, what it printed, how its command ended."""

    escaped: bool
    printed: str
    ended: ProcessEnd


async def try_escape(
    attempt: Attempt,
    world: World,
    mode: SandboxMode = "workspace",
    *,
    timeout_s: float = 30.0,
) -> Tried:
    """Make one attempt."""
    env = {**clean_environment(os.environ), **world.names}
    program = (PYTHON, "-I", "-S", "-c", f"import os\n{attempt.code}")
    arguments = program if attempt.python else ("/bin/sh", "-c", attempt.code)
    if attempt.prepare is not None:
        attempt.prepare(world)
    printed = bytearray()
    command = world.sandbox(mode).confined(ProcessSpec(arguments, world.root, env))
    ended = await run_command(command, printed.extend, timeout_s=timeout_s)
    text = printed.decode("utf-8", "replace")
    trace = attempt.left is not None and attempt.left(world)
    return Tried(trace or CANARY in text or "ESCAPED" in text, text, ended)


async def outcome(attempt: Attempt, mode: SandboxMode = "workspace") -> Tried:
    """One attempt in a world of its own."""
    place = Path(tempfile.mkdtemp(prefix="ullage-escape-"))
    try:
        with world_in(place) as world:
            return await try_escape(attempt, world, mode)
    finally:
        shutil.rmtree(place)


def main() -> None:
    """Write the table."""
    sys.stdout.write("| attempt | bubblewrap |\n|---|---|\n")
    for attempt in ATTEMPTS:
        tried = asyncio.run(outcome(attempt))
        told = "**gets out**" if tried.escaped else "stopped"
        sys.stdout.write(f"| {attempt.name} | {told} |\n")


if __name__ == "__main__":
    main()
