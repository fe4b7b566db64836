"""The codes that the functions of ``migrations/`` give, so that a refused write ends no transaction."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """What became of a write."""

    DONE = 0
    NO_SESSION = 1
    LEASE_LOST = 2
    OTHERS_CAME = 3
    AHEAD = 4
    NOT_WAITING = 5
    SENT_BEFORE = 6
    OTHER_PLACE = 7
    OFFSET_USED = 8
    ID_TAKEN = 9
    BUSY = 10
