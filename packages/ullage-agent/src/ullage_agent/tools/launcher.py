"""Runs one command within limits, and ends every process it started. A separate program:

    python -I -S launcher.py '{"command": ["/bin/sh", "-c", "true"], …}'

It is the parent of all processes of the command: Linux gives orphans to it (PR_SET_CHILD_SUBREAPER), so it finds
daemons that left their session, group and environment. It ends them when the command ends, on SIGTERM, and when the
program that started it disappears, which closes the lifeline, a pipe. It imports only the standard library: with
``/bin/true`` it takes 70 ms on a machine where Python alone takes 20.

https://man7.org/linux/man-pages/man2/prctl.2.html
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

POLL_S = 0.05
"""Seconds between two checks of a command for signs that it is out of bounds: three files and one system call."""
SCAN_SHARE = 0.2
"""Share of the time that counting its processes takes at most: for root it runs before every ordinary process."""
KILL_S = 60.0
"""Seconds in which KILL is repeated for processes that were started meanwhile, as a fork bomb's are."""
MARGIN_PROCESSES = 256
"""A user's limit counts all of the user's processes: room for those that start beside the command."""
FLOOR_BYTES = 1 << 30
"""A command may not leave less than this free on the disk or in memory, or half of what was free when it began.

This bounds the memory of all its processes together; a limit of Linux is one for each process."""

SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36
"""Options of prctl, from <linux/prctl.h>."""

libc = ctypes.CDLL(None, use_errno=True)


def main(spec: dict[str, Any]) -> NoReturn:
    """Run the command and report how it ended, on the descriptor ``report`` or by this program's exit code."""
    for kept in (spec["lifeline"], spec["report"]):
        if kept >= 0:
            os.set_inheritable(kept, False)
    if spec["lifeline"] < 0:
        parent = os.getppid()
        libc.prctl(SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(1)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    go_first()
    with held(spec["held"]):
        report = Supervisor(spec).run()
    if spec["report"] >= 0:
        os.write(spec["report"], json.dumps(report).encode())
        os._exit(0)
    if report["error"]:
        os.write(2, report["error"].encode())
    os._exit(report["code"] if report["code"] >= 0 else 128 - report["code"])


def go_first() -> None:
    """Run before every ordinary process, as only root may. Children do not inherit it.

    The kernel limits the number of processes of a normal user but not of root: without this, the 2 cores of a machine
    had 1,900 processes of a fork bomb to run for four minutes, while this process waited for its turn to end them.
    """
    policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, policy, os.sched_param(1))


@contextlib.contextmanager
def held(paths: list[str]) -> Iterator[None]:
    """Keep an empty directory at each path, over which bubblewrap mounts it read-only.

    Other commands may rely on the same directory, so each command holds a shared lock on the directory above, and the
    last to end removes it: removing it earlier would unmount it for the others.
    """
    parents: dict[str, int] = {}
    for path in paths:
        above_it, name = os.path.split(path)
        if above_it not in parents:
            found = open_plain(above_it)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            parents[above_it] = os.open(".", flags, dir_fd=found)
            os.close(found)
            fcntl.flock(parents[above_it], fcntl.LOCK_SH)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=parents[above_it])
    try:
        yield
    finally:
        for path in paths:
            above_it, name = os.path.split(path)
            # another command still needs it, or another program has filled it
            with contextlib.suppress(OSError):
                fcntl.flock(parents[above_it], fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.rmdir(name, dir_fd=parents[above_it])
        for parent in parents.values():
            os.close(parent)


class Supervisor:
    """The command's process, and the watch over its descendants."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.limits = spec["limits"]
        self.is_asked_to_end = False
        self.status: int | None = None
        self.wake, waking = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self.end_soon)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.threads = system_threads()
        self.free_disk, self.free_memory = free_bytes(), available_memory()
        self.scan_at = 0.0

    def run(self) -> dict[str, Any]:
        errors, failing = os.pipe2(os.O_CLOEXEC)
        self.notes, noting = os.pipe2(os.O_CLOEXEC)
        self.child = os.fork()
        if self.child == 0:
            become(self.spec, failing, noting)
        os.close(failing)
        os.close(noting)
        status, exceeded = self.attend()
        notes, problem = read_all(self.notes), read_all(errors)
        # a sandbox takes all its processes along
        is_patient = not (self.spec["is_wrapped"] or exceeded)
        self.end(self.spec["grace_s"] if is_patient else 0.0)
        code = os.waitstatus_to_exitcode(status)
        if self.spec["is_wrapped"] and b"started" not in notes and not problem:
            problem = b"the sandbox could not be set up"
        return {
            "code": code,
            "exceeded": exceeded,
            "error": problem.decode("utf-8", "replace"),
        }

    def attend(self) -> tuple[int, str]:
        """Wait for the command. Gives its status, and which limit it exceeded."""
        exceeded = ""
        while True:
            ready = readable([self.wake, self.spec["lifeline"]], POLL_S)
            if self.wake in ready:
                os.read(self.wake, 4096)
            status = self.reap()
            if status is not None:
                return status, exceeded
            if self.spec["lifeline"] in ready:
                self.end(0.0)
            elif self.is_asked_to_end:
                self.end(self.spec["grace_s"])
            elif exceeded := exceeded or self.exceeded():
                self.end(0.0)

    def end_soon(self, *_: object) -> None:
        self.is_asked_to_end = True

    def reap(self) -> int | None:
        """Collect ended processes; the status of the command itself, if it has ended."""
        self.has_children = True
        while self.has_children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.has_children = False
                break
            if pid == 0:
                break
            if pid == self.child:
                self.status = status
        return self.status

    def members(self) -> set[int]:
        """The living processes that descend from this one."""
        self.reap()
        if not self.has_children:  # orphans would be children of this process
            return set()
        parents = processes()
        mine, found = set[int](), {os.getpid()}
        while found:
            found = {pid for pid, parent in parents.items() if parent in found} - mine
            mine |= found
        return mine

    def end(self, grace_s: float) -> None:
        """TERM, then KILL until none is left. A closed lifeline cuts the wait short."""
        if grace_s:
            self.ask(grace_s)
        if self.spec["is_wrapped"] and self.status is None:  # all in it end with it
            send(signal.SIGKILL, {self.child})
        deadline = time.monotonic() + KILL_S
        while (members := self.members()) and time.monotonic() < deadline:
            send(signal.SIGSTOP, members)  # a stopped process starts no other
            send(signal.SIGKILL, members)
            time.sleep(0.005)

    def ask(self, grace_s: float) -> None:
        members = self.members()
        if self.spec["is_wrapped"]:  # the sandbox itself must outlive its processes
            parents = processes()
            members -= {self.child} | {
                pid for pid in members if parents.get(pid) == self.child
            }
        send(signal.SIGTERM, members)
        send(signal.SIGCONT, members)  # a stopped process can't act on TERM
        deadline = time.monotonic() + grace_s
        while (members & self.members()) and time.monotonic() < deadline:
            if readable([self.spec["lifeline"]], 0.02):
                return

    def exceeded(self) -> str:
        """The limit that the command exceeds now; empty for none. Counts its processes only when there are many."""
        if free_bytes() < min(FLOOR_BYTES, self.free_disk // 2):
            return "disk"
        if available_memory() < min(FLOOR_BYTES, self.free_memory // 2):
            return "memory"
        began_at = time.monotonic()
        most = self.limits["processes"]
        if began_at < self.scan_at or system_threads() < self.threads + most:
            return ""
        is_above = len(self.members()) > most
        now = time.monotonic()
        self.scan_at = now + (now - began_at) / SCAN_SHARE
        return "processes" if is_above else ""


def become(spec: dict[str, Any], failing: int, noting: int) -> NoReturn:
    """In the child: limit this process, and turn into the command."""
    failing = above(failing, len(spec["open"]) + 64)
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        limit(spec["limits"])
        if spec["is_wrapped"]:
            pass_on(spec, noting)
        os.execvpe(spec["command"][0], spec["command"], os.environ)
    except OSError as problem:
        os.write(failing, f"{spec['command'][0]}: {problem.strerror or problem}".encode())
    except BaseException as problem:  # noqa: BLE001 - the child of a fork must not continue as a second launcher
        os.write(failing, repr(problem).encode())
    os._exit(127)


def limit(limits: dict[str, int]) -> None:
    """Limits of each process. For root the kernel ignores the number of processes; the supervisor counts them."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_DATA: limits["memory_bytes"],
        resource.RLIMIT_NPROC: user_threads() + limits["processes"] + MARGIN_PROCESSES,
    }
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))


def pass_on(spec: dict[str, Any], noting: int) -> None:
    """The descriptors that bubblewrap and its inner script expect, by their numbers; they close them again.

    A directory of the workspace is opened here, name by name and never through a link, so that a link in its place
    mounts nothing else.
    """
    free = max([number for number, _, _ in spec["open"]], default=0) + 32
    reading, writing = os.pipe()
    os.write(writing, bytes.fromhex(spec["seccomp"]))
    os.close(writing)
    noting, reading = above(noting, free), above(reading, free)
    for number, parent, name in spec["open"]:
        found = open_plain(name, parent)
        os.dup2(found, number, inheritable=True)
        if found != number:
            os.close(found)
    os.dup2(noting, 9, inheritable=True)
    os.dup2(reading, 10, inheritable=True)


def open_plain(name: str, parent: int = -1) -> int:
    """A descriptor of a name in an open directory, or of an absolute path, step by step and never through a link."""
    here = os.open("/", os.O_PATH | os.O_CLOEXEC) if parent < 0 else os.dup(parent)
    for step in name.split("/"):
        if not step:
            continue
        directory = here
        try:
            here = os.open(
                step, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory
            )
        finally:
            os.close(directory)
        if stat.S_ISLNK(os.fstat(here).st_mode):
            os.close(here)
            raise OSError(errno.ELOOP, f"{step} was exchanged for a link")
    return here


def above(descriptor: int, least: int) -> int:
    """A copy with a number above those in use."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, least)


def processes() -> dict[int, int]:
    """Each living process of the system and its parent."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split(None, 2)[:2]
            except (OSError, ValueError):
                continue  # it has ended
            if state not in (b"Z", b"X"):
                found[int(name)] = int(parent)
    return found


def send(number: int, members: set[int]) -> None:
    for pid in members:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def system_threads() -> int:
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[3].partition(b"/")[2])


def user_threads() -> int:
    """How many threads this user has now: a limit on processes counts threads."""
    total, mine = 0, os.getuid()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == mine:
                    total += len(os.listdir(f"/proc/{name}/task"))
    return total


def available_memory() -> int:
    """Bytes available without swapping, by the kernel's estimate."""
    with open("/proc/meminfo", "rb") as file:
        return 1024 * int(file.read().partition(b"MemAvailable:")[2].split(None, 1)[0])


def free_bytes() -> int:
    """Bytes free on the disk of the working directory."""
    found = os.statvfs(".")
    return found.f_bavail * found.f_frsize


def readable(descriptors: list[int], timeout_s: float) -> set[int]:
    """Which of these can be read or are closed, by the end of that time. -1 is none.

    ``select`` would refuse a number above 1,023: a server with many connections hands such a lifeline on.
    """
    asked = select.poll()
    for descriptor in descriptors:
        if descriptor >= 0:
            asked.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in asked.poll(timeout_s * 1000)}


def read_all(descriptor: int) -> bytes:
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
