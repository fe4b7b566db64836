"""The system calls a sandboxed command may not make, as a program for the kernel (seccomp, in classic BPF).

What file rules can't stop: tracing other processes, the keyring, mounting, sockets that a network namespace does not
cover, and characters put into a terminal's input. Pure: the launcher and bubblewrap hand the program to the kernel.

https://docs.kernel.org/userspace-api/seccomp_filter.html; the numbers are those of
``arch/x86/entry/syscalls/syscall_64.tbl`` and ``include/uapi/asm-generic/unistd.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

Sockets = Literal["own", "internet", "none"]
"""``own``: all kinds, in a network namespace. ``internet``: TCP and UDP. ``none``: only connected pairs."""

MACHINES: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The architectures with a filter, by what the kernel calls them (<linux/audit.h>)."""

_FORBIDDEN: Final[Mapping[str, tuple[int, int]]] = {
    # other processes, their memory and descriptors
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # the kernel's keyring
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    # wide or hardly tested ways into the kernel; io_uring would also make sockets that no filter sees
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # the machine itself
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "settimeofday": (164, 170), "clock_settime": (227, 112), "sethostname": (170, 161),
    "setdomainname": (171, 162), "vhangup": (153, 58), "syslog": (103, 116),
}  # fmt: skip

_SHARED_MEMORY: Final[Mapping[str, tuple[int, int]]] = {
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semctl": (66, 191),
    "semop": (65, 193), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
}  # fmt: skip
"""What all processes of the user share, unless a namespace separates it."""

_NEW_NAMESPACES: Final = 0x7E020000  # every CLONE_NEW… flag of <linux/sched.h> but CLONE_NEWTIME, which is harmless
_SETUID_SETGID: Final = 0o6000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_DGRAM, _RAW, _PACKET = 2, 3, 10
_TYPE: Final = 0xF  # of a socket, without SOCK_CLOEXEC and SOCK_NONBLOCK
_ALL: Final = 0xFFFFFFFF
_INJECTING: Final = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX of <asm-generic/ioctls.h>
_O_ACCMODE, _O_CREAT, _O_TRUNC, _O_TMPFILE = 0o3, 0o100, 0o1000, 0o20000000


class ArgumentTest(NamedTuple):
    """Whether ``argument & mask`` equals ``value``, or with ``differs``, does not."""

    argument: int
    mask: int
    value: int
    differs: bool = False


class RefusedCall(NamedTuple):
    """A call that fails with this error if all tests hold."""

    call: int
    tests: tuple[ArgumentTest, ...] = ()
    error: int = errno.EPERM


def filter_for(
    machine: str,
    sockets: Sockets,
    *,
    has_namespaces: bool,
    guards_truncation: bool = False,
) -> bytes:
    """The program. Raises ``KeyError`` for an architecture without a filter.

    ``has_namespaces`` says that namespaces keep shared memory and other processes apart. ``guards_truncation`` refuses
    to empty files by path, for kernels whose Landlock does not see that.
    """
    arch = MACHINES[machine]
    column = list(MACHINES).index(machine)
    refused = [RefusedCall(numbers[column]) for numbers in _FORBIDDEN.values()]
    if not has_namespaces:
        refused += [RefusedCall(numbers[column]) for numbers in _SHARED_MEMORY.values()]
        refused.append(
            RefusedCall((302, 261)[column], (ArgumentTest(0, _ALL, 0, differs=True),))
        )  # prlimit64 of another process
    refused += _of_namespaces(column)
    refused += _of_privileged_files(column)
    refused += [
        RefusedCall((16, 29)[column], (ArgumentTest(1, _ALL, number),))
        for number in _INJECTING
    ]
    refused += _of_sockets(column, sockets)
    if guards_truncation:
        refused += _of_truncation(column)
    return _assembled(arch, is_x86=machine == "x86_64", refused=refused)


def _of_namespaces(column: int) -> Iterator[RefusedCall]:
    for number in ((272, 97)[column], (56, 220)[column]):  # unshare, clone
        yield RefusedCall(number, (ArgumentTest(0, _NEW_NAMESPACES, 0, differs=True),))
    # its flags are in memory, which no filter can read; the C library then uses clone
    yield RefusedCall(435, error=errno.ENOSYS)


def _of_privileged_files(column: int) -> Iterator[RefusedCall]:
    """Another user could start a file outside that was made setuid here."""
    places = {
        (90, -1): 1,
        (91, 52): 1,
        (268, 53): 2,
        (452, 452): 2,
        (85, -1): 1,
        (133, -1): 1,
        (259, 33): 2,
    }
    for (
        numbers,
        argument,
    ) in places.items():  # chmod, fchmod, fchmodat, fchmodat2, creat, mknod, mknodat
        if numbers[column] >= 0:
            yield RefusedCall(
                numbers[column],
                (ArgumentTest(argument, _SETUID_SETGID, 0, differs=True),),
            )
    for number, flags in (((2, -1)[column], 1), ((257, 56)[column], 2)):  # open, openat
        if number >= 0:
            for creating in (_O_CREAT, _O_TMPFILE):
                creates = ArgumentTest(flags, creating, creating)
                yield RefusedCall(
                    number,
                    (creates, ArgumentTest(flags + 1, _SETUID_SETGID, 0, differs=True)),
                )
    yield RefusedCall(437, error=errno.ENOSYS)  # openat2: its flags are in memory


def _of_sockets(column: int, sockets: Sockets) -> Iterator[RefusedCall]:
    make, pair = (41, 198)[column], (53, 199)[column]
    # a datagram socket of a pair can still send to any address
    if sockets != "own":
        yield RefusedCall(pair, (ArgumentTest(1, _TYPE, _DGRAM),))
    families: tuple[int, ...] = ()
    if sockets == "own":
        families = (_UNIX, _INET, _INET6, _NETLINK)
    elif sockets == "internet":
        families = (_INET, _INET6, _NETLINK)
        for kind in (_RAW, _PACKET):
            for family in (_INET, _INET6):
                yield RefusedCall(
                    make, (ArgumentTest(0, _ALL, family), ArgumentTest(1, _TYPE, kind))
                )
    yield RefusedCall(
        make, tuple(ArgumentTest(0, _ALL, family, differs=True) for family in families)
    )
    if families:  # netlink gives only the table of addresses, which name resolution reads
        yield RefusedCall(
            make,
            (ArgumentTest(0, _ALL, _NETLINK), ArgumentTest(2, _ALL, 0, differs=True)),
        )


def _of_truncation(column: int) -> Iterator[RefusedCall]:
    yield RefusedCall((76, 45)[column])  # truncate
    for number, flags in (((2, -1)[column], 1), ((257, 56)[column], 2)):
        if number >= 0:
            yield RefusedCall(
                number, (ArgumentTest(flags, _O_ACCMODE | _O_TRUNC, _O_TRUNC),)
            )


_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_X32: Final = 0x40000000
"""From this number on a call is of the x32 ABI, which would bypass the numbers above."""


def _assembled(arch: int, *, is_x86: bool, refused: list[RefusedCall]) -> bytes:
    program = [_step(_LOAD, 4), _step(_EQUAL, arch, 1, 0), _step(_RETURN, _KILL)]
    if is_x86:
        program += [
            _step(_LOAD, 0),
            _step(_AT_LEAST, _X32, 0, 1),
            _step(_RETURN, _ERROR | errno.ENOSYS),
        ]
    for each in refused:
        program += _refusing(each)
    program.append(_step(_RETURN, _ALLOW))
    return b"".join(program)


def _refusing(refusal: RefusedCall) -> list[bytes]:
    left = (
        3 * len(refusal.tests) + 1
    )  # instructions from after the comparison to the end of this refusal
    steps = [_step(_LOAD, 0), _step(_EQUAL, refusal.call, 0, left)]
    for test in refusal.tests:
        left -= 3
        if_true, if_false = (left, 0) if test.differs else (0, left)
        steps += [
            _step(
                _LOAD, 16 + 8 * test.argument
            ),  # the lower half, on a little-endian machine
            _step(_AND, test.mask),
            _step(_EQUAL, test.value, if_true, if_false),
        ]
    return [*steps, _step(_RETURN, _ERROR | refusal.error)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
