"""The system calls a sandboxed command may not make, as a program for the kernel (seccomp, in classic BPF).

Bubblewrap takes it (``--seccomp``) for what its namespaces do not keep apart: sockets of other kinds, the user's
keyring, files that others could run with this user's rights, and namespaces of the command's own, through which most
faults of the kernel are reached.

https://docs.kernel.org/userspace-api/seccomp_filter.html; the numbers are those of
``arch/x86/entry/syscalls/syscall_64.tbl`` and ``include/uapi/asm-generic/unistd.h``.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

MACHINES: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The architectures with a filter, by what the kernel calls them (<linux/audit.h>)."""


class RefusedCall(NamedTuple):
    """A call that fails with ``error``, unless its ``argument & mask`` is one of the ``allowed`` values.

    ``numbers`` are those of the call on each machine; -1 where it has none.
    """

    numbers: tuple[int, int]
    argument: int = 0
    mask: int = 0
    allowed: tuple[int, ...] = ()
    error: int = errno.EPERM


_NEW_USER: Final = 0x10000000  # CLONE_NEWUSER: without it no other namespace can be made
_SETUID_SETGID: Final = 0o6000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET = 1, 5
_TYPE: Final = 0xF  # of a socket, without SOCK_CLOEXEC and SOCK_NONBLOCK
_ALL: Final = 0xFFFFFFFF

_REFUSED: Final = (
    RefusedCall((248, 217)),  # add_key
    RefusedCall((249, 218)),  # request_key
    RefusedCall((250, 219)),  # keyctl
    RefusedCall((321, 280)),  # bpf
    RefusedCall((425, 425)),  # io_uring_setup, which makes sockets unseen
    RefusedCall((272, 97), 0, _NEW_USER, (0,)),  # unshare
    RefusedCall((56, 220), 0, _NEW_USER, (0,)),  # clone
    RefusedCall((90, -1), 1, _SETUID_SETGID, (0,)),  # chmod
    RefusedCall((91, 52), 1, _SETUID_SETGID, (0,)),  # fchmod
    RefusedCall((268, 53), 2, _SETUID_SETGID, (0,)),  # fchmodat
    RefusedCall((452, 452), 2, _SETUID_SETGID, (0,)),  # fchmodat2
    RefusedCall((85, -1), 1, _SETUID_SETGID, (0,)),  # creat
    RefusedCall((133, -1), 1, _SETUID_SETGID, (0,)),  # mknod
    RefusedCall((259, 33), 2, _SETUID_SETGID, (0,)),  # mknodat
    RefusedCall((2, -1), 2, _SETUID_SETGID, (0,)),  # open
    RefusedCall((257, 56), 3, _SETUID_SETGID, (0,)),  # openat
    # the flags of clone3 and openat2 are in memory, which no filter can read: programs then use the older calls
    RefusedCall((435, 435), error=errno.ENOSYS),
    RefusedCall((437, 437), error=errno.ENOSYS),
)

_IN_OWN_NETWORK: Final = (
    RefusedCall((41, 198), 0, _ALL, (_UNIX, _INET, _INET6, _NETLINK)),  # socket
)
_IN_SHARED_NETWORK: Final = (
    RefusedCall((41, 198), 0, _ALL, (_INET, _INET6, _NETLINK)),  # socket
    # a datagram socket of a pair can still send to any address
    RefusedCall((53, 199), 1, _TYPE, (_STREAM, _SEQPACKET)),  # socketpair
)
"""Abstract sockets of the machine, such as that of the X server, belong to its network: no file guards them."""


def filter_for(machine: str, *, shares_network: bool) -> bytes:
    """The program. Raises ``KeyError`` for an architecture without a filter."""
    arch = MACHINES[machine]
    column = list(MACHINES).index(machine)
    program = [_step(_LOAD, 4), _step(_EQUAL, arch, 1, 0), _step(_RETURN, _KILL)]
    if machine == "x86_64":
        program += [
            _step(_LOAD, 0),
            _step(_AT_LEAST, _X32, 0, 1),
            _step(_RETURN, _ERROR | errno.ENOSYS),
        ]
    sockets = _IN_SHARED_NETWORK if shares_network else _IN_OWN_NETWORK
    for call in (*_REFUSED, *sockets):
        if call.numbers[column] >= 0:
            program += _refusing(call, call.numbers[column])
    program.append(_step(_RETURN, _ALLOW))
    return b"".join(program)


_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_X32: Final = 0x40000000
"""From this number on a call is of the x32 ABI, which would bypass the numbers above."""


def _refusing(call: RefusedCall, number: int) -> Iterator[bytes]:
    tests = len(call.allowed)
    argument = 16 + 8 * call.argument  # its lower half, on a little-endian machine
    yield _step(_LOAD, 0)
    yield _step(_EQUAL, number, 0, tests + 3)
    yield _step(_LOAD, argument)
    yield _step(_AND, call.mask)
    for left, value in zip(range(tests, 0, -1), call.allowed, strict=True):
        yield _step(_EQUAL, value, left, 0)
    yield _step(_RETURN, _ERROR | call.error)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
