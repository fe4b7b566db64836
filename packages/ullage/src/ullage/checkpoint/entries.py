"""The entries of a view as bytes, in blocks: all that is known of them but their contents.

A block that did not change since the last checkpoint is not packed again, and one that nothing reads is never unpacked.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from ullage.meter.view import Entry, Facts

T = TypeVar("T")

BLOCK: Final = 128
"""Entries that are packed at a time: with their ids before them they fit into the 32 KB that zlib looks back."""

LEVEL: Final = 3
"""zlib's. On the 100,000 entries of ``bench/loop_opening.py`` (17 MB): level 1 gives 3.4 MB in 0.15 s, level 3 2.9 MB
in 0.19 s, level 6 2.6 MB in 0.5 s."""

_packer: Final = msgspec.msgpack.Encoder()
_unpacker: Final = msgspec.msgpack.Decoder(list[Facts])


class BlockPacker(Generic[T]):
    """Packs a list in blocks and remembers what it packed, so that a block of the same items is packed once."""

    def __init__(self, pack: Callable[[Sequence[T]], bytes]) -> None:
        self._pack = pack
        self._packed: dict[int, tuple[Sequence[T], bytes]] = {}

    def packed(self, items: Sequence[T]) -> list[bytes]:
        """The items as blocks."""
        before, self._packed = self._packed, {}
        blocks: list[bytes] = []
        for start in range(0, len(items), BLOCK):
            chunk = items[start : start + BLOCK]
            known = before.get(id(chunk[0]))
            if known is None or known[0] != chunk:
                known = (chunk, self._pack(chunk))
            self._packed[id(chunk[0])] = known
            blocks.append(known[1])
        return blocks

    def remember(self, items: Sequence[T], blocks: Sequence[bytes]) -> None:
        """Take these items as packed into these blocks."""
        for number, block in enumerate(blocks):
            chunk = items[number * BLOCK : (number + 1) * BLOCK]
            self._packed[id(chunk[0])] = (chunk, block)


def pack_entries(entries: Sequence[Entry]) -> bytes:
    """A block of these entries' facts."""
    compressor = zlib.compressobj(
        LEVEL, zdict=_dictionary([entry.id for entry in entries])
    )
    facts = _packer.encode([entry.facts for entry in entries])
    return compressor.compress(facts) + compressor.flush()


def _dictionary(ids: Sequence[str]) -> bytes:
    """The ids of a block's messages, which most of their parts' ids begin with. They are stored beside the block."""
    return "".join(ids).encode("utf-8", "surrogatepass") or b"-"


class StoredEntry(Entry):
    """An entry out of a checkpoint, its content missing. Its facts are unpacked when they are first read."""

    __slots__ = ("_block", "_place")

    def __init__(self, id: str, order: int, block: _StoredBlock, place: int) -> None:
        self.id = id
        self.order = order
        self.content = None
        self._block = block
        self._place = place

    def __getattr__(self, name: str) -> Any:
        if name != "facts":
            raise AttributeError(name)
        self.facts = self._block.facts()[self._place]
        return self.facts


class _StoredBlock:
    """A packed block, unpacked once."""

    __slots__ = ("_data", "_facts", "_ids")

    def __init__(self, data: bytes, ids: Sequence[str]) -> None:
        self._data = data
        self._ids = ids
        self._facts: list[Facts] | None = None

    def facts(self) -> list[Facts]:
        """The facts of its entries, in their order."""
        if self._facts is None:
            decompressor = zlib.decompressobj(zdict=_dictionary(self._ids))
            self._facts = _unpacker.decode(decompressor.decompress(self._data))
        return self._facts


def stored_entries(
    ids: Sequence[str], orders: Sequence[int], blocks: Sequence[bytes]
) -> list[Entry]:
    """The entries of these blocks."""
    entries: list[Entry] = []
    for number, data in enumerate(blocks):
        start = number * BLOCK
        names = ids[start : start + BLOCK]
        block = _StoredBlock(data, names)
        for place, name in enumerate(names):
            entries.append(StoredEntry(name, orders[start + place], block, place))
    return entries
