"""The entries of a view as bytes and back: everything that is known of them but their messages' content.

Entries go in blocks, each packed by itself, so that one that did not change since the last checkpoint is not written
anew, and one that nobody asks for is never unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

import msgspec

from ullage.messages import Message, Role
from ullage.meter.cost import MessageCost, PartCost
from ullage.meter.differences import differences, sums
from ullage.meter.growth import Added, Answer
from ullage.meter.origin import Ledger, Origin, read_all
from ullage.meter.view import Entry, Facts
from ullage.reasoning import Maker

BLOCK: Final = 512
"""Entries that are packed, and messages that are read, at a time. From 64 rows on a row costs 1 µs to fetch from SQLite
and 5 µs to read as an event (``bench/opening.py``'s ledger), so that larger blocks only read more than was asked for.
"""

LEVEL: Final = 3
"""zlib's. On the 100,000 entries of ``bench/opening.py`` (14.1 MB): level 1 gives 3.27 MB in 0.07 s, level 3 2.69 MB in
0.11 s, level 6 2.46 MB in 0.35 s."""

ROLES: Final = get_args(Role)


@dataclass(slots=True)
class Written:
    """What the last checkpoint wrote of a list of entries, for the next one: each block's entries and its bytes."""

    blocks: list[tuple[list[Entry], bytes]] = field(default_factory=list)

    def write(self, entries: Sequence[Entry], calls: Mapping[str, int]) -> list[bytes]:
        """The entries as blocks; those that are as they were are not packed again."""
        chunks = [list(entries[start : start + BLOCK]) for start in range(0, len(entries), BLOCK)]
        known = {id(block[0][0]): block for block in self.blocks}
        done: list[tuple[list[Entry], bytes]] = []
        for chunk in chunks:
            held = known.get(id(chunk[0]))
            done.append(held if held is not None and held[0] == chunk else (chunk, _pack(chunk, calls)))
        self.blocks = done
        return [data for _, data in done]

    def resume(self, entries: Sequence[Entry], blocks: Sequence[bytes]) -> None:
        """These entries were written as these blocks."""
        self.blocks = [(list(entries[at * BLOCK : (at + 1) * BLOCK]), data) for at, data in enumerate(blocks)]


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    """A block: where each message stands, and what else is known of it, which is left packed until it is wanted.

    ``seqs`` are differences. Few messages stand elsewhere than in an event of their own or were pruned: those are by
    their place in the block.
    """

    seqs: list[int]
    places: dict[int, int]
    pruned: dict[int, tuple[int, ...]]
    rows: msgspec.Raw

    @property
    def origins(self) -> list[Origin]:
        return [Origin(seq, self.places.get(at, 0), self.pruned.get(at, ())) for at, seq in enumerate(sums(self.seqs))]


_packer = msgspec.msgpack.Encoder()
_of_block = msgspec.msgpack.Decoder(_Packed)
_of_rows = msgspec.msgpack.Decoder()


class StoredBlock:
    """One block of entries: unpacked when an entry's facts are asked for, its messages read all at once."""

    __slots__ = ("_calls", "_data", "_facts", "_ids", "_ledger", "_messages")

    def __init__(self, data: bytes, ids: Sequence[str], calls: Sequence[str], ledger: Ledger) -> None:
        self._data = data
        self._ids = ids
        self._calls = calls
        self._ledger = ledger
        self._facts: list[Facts] | None = None
        self._messages: list[Message] | None = None

    def facts(self, place: int) -> Facts:
        """What was stored of an entry."""
        if self._facts is None:
            packed = self._packed
            each = zip(_of_rows.decode(packed.rows), self._ids, packed.origins, strict=True)
            self._facts = [_facts(row, name, origin, self._calls) for row, name, origin in each]
        return self._facts[place]

    def message(self, place: int) -> Message:
        """The entry's message; those of the whole block are read with it. Raises what the ledger raises."""
        if self._messages is None:
            self._messages = read_all(self._packed.origins, self._ledger)
        return self._messages[place]

    @property
    def _packed(self) -> _Packed:
        return _of_block.decode(zlib.decompress(self._data))


def _pack(entries: Sequence[Entry], calls: Mapping[str, int]) -> bytes:
    origins = [entry.origin for entry in entries]
    packed = _Packed(
        seqs=differences([origin.seq for origin in origins]),
        places={at: origin.place for at, origin in enumerate(origins) if origin.place},
        pruned={at: origin.pruned for at, origin in enumerate(origins) if origin.pruned},
        rows=msgspec.Raw(_packer.encode([_row(entry, calls) for entry in entries])),
    )
    return zlib.compress(_packer.encode(packed), LEVEL)


def _row(entry: Entry, calls: Mapping[str, int]) -> list[object]:
    role, call, _, opening, cost = entry.facts
    answer = cost.answer
    row: list[object] = [
        ROLES.index(role),
        calls.get(call, call),
        opening,
        cost.tokens,
        cost.reasoning,
        cost.carries,
        cost.maker,
        msgspec.structs.astuple(cost.added),
        None if answer is None else msgspec.structs.astuple(answer),
    ]
    for part in cost.parts:
        row += (shortened(part.id, entry.id), part.row, part.name, part.tokens)
    return row


def _facts(row: list[Any], name: str, origin: Origin, calls: Sequence[str]) -> Facts:
    role, call, opening, tokens, reasoning, carries, maker, added, answer, *parts = row
    cost = MessageCost(
        tokens,
        reasoning,
        Added(*added),
        None if answer is None else Answer(*answer),
        tuple(
            PartCost(lengthened(parts[at], name), parts[at + 1], parts[at + 2], parts[at + 3])
            for at in range(0, len(parts), 4)
        ),
        carries,
        None if maker is None else Maker(*maker),
    )
    return Facts(ROLES[role], calls[call] if isinstance(call, int) else call, origin, opening, cost)


def shortened(part_id: str, message_id: str) -> str:
    """A part's id without its message's, where it begins with that, as most do."""
    if message_id and part_id.startswith(message_id):
        return "\0" + part_id[len(message_id) :]
    return "\1" + part_id if part_id[:1] in ("\0", "\1") else part_id


def lengthened(short: str, message_id: str) -> str:
    """The id that was shortened."""
    match short[:1]:
        case "\0":
            return message_id + short[1:]
        case "\1":
            return short[1:]
        case _:
            return short
