"""The steps of a session as columns of numbers, in blocks that are written once and read when somebody asks."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ullage.meter.differences import bits, differences, floats, sums
from ullage.meter.stored_entries import LEVEL
from ullage.meter.track import Step, StoredSteps, Track

BLOCK: Final = 512
"""Steps that are packed at a time."""


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    """Every step's fields, column by column. ``calls`` are places in the list of reported calls, or names.

    ``estimated`` and ``at`` are differences to the step before; ``low`` and ``high`` to ``estimated``. Few steps have
    marks or are first: those stand by their place.
    """

    calls: list[int | str]
    estimated: list[int]
    low: list[int]
    high: list[int]
    error: list[int | None]
    at: list[int]
    marks: dict[int, tuple[str, ...]]
    first: list[int]


_packer = msgspec.msgpack.Encoder()
_unpacker = msgspec.msgpack.Decoder(_Columns)


def pack_steps(track: Track, calls: Mapping[str, int]) -> list[bytes]:
    """The steps in blocks. Full ones are packed once."""
    full = track.packed
    new = track.after(BLOCK * len(full))
    while len(new) >= BLOCK:
        full.append(_pack(new[:BLOCK], calls))
        new = new[BLOCK:]
    return [*full, _pack(new, calls)] if new else list(full)


def unpack_steps(blocks: Sequence[bytes], calls: Sequence[str], track: Track) -> None:
    """Give the stored steps to a track that has none: the last block at once, the others when they are asked for."""
    whole, last = tuple(blocks), list[Step]()
    if whole:
        columns = _columns(whole[-1])
        if len(columns.estimated) < BLOCK:
            whole = whole[:-1]
            last = _steps(columns, calls, BLOCK * len(whole))
    track.packed = list(whole)
    track.resume(
        StoredSteps(
            count=BLOCK * len(whole),
            errors=lambda: [error for data in whole for error in _errors(_columns(data))],
            read=lambda: [
                step for place, data in enumerate(whole) for step in _steps(_columns(data), calls, BLOCK * place)
            ],
        ),
        last,
    )


def _columns(data: bytes) -> _Columns:
    return _unpacker.decode(zlib.decompress(data))


def _pack(steps: Sequence[Step], calls: Mapping[str, int]) -> bytes:
    columns = _Columns(
        calls=[calls.get(step.call, step.call) for step in steps],
        estimated=differences([step.estimated for step in steps]),
        low=[step.estimated - step.low for step in steps],
        high=[step.high - step.estimated for step in steps],
        error=[step.error for step in steps],
        at=differences(bits([step.at for step in steps])),
        marks={place: step.marks for place, step in enumerate(steps) if step.marks},
        first=[place for place, step in enumerate(steps) if step.first],
    )
    return zlib.compress(_packer.encode(columns), LEVEL)


def _steps(columns: _Columns, calls: Sequence[str], before: int) -> list[Step]:
    first = set(columns.first)
    each = zip(
        columns.calls,
        sums(columns.estimated),
        columns.low,
        columns.high,
        columns.error,
        floats(sums(columns.at)),
        strict=True,
    )
    return [
        Step(
            number=before + place + 1,
            call=calls[call] if isinstance(call, int) else call,
            estimated=estimated,
            low=estimated - low,
            high=estimated + high,
            at=at,
            actual=None if error is None else estimated - error,
            marks=columns.marks.get(place, ()),
            first=place in first,
        )
        for place, (call, estimated, low, high, error, at) in enumerate(each)
    ]


def _errors(columns: _Columns) -> list[float]:
    """The sizes of the errors in percent, of those steps that count for the median."""
    first = set(columns.first)
    each = enumerate(zip(sums(columns.estimated), columns.error, strict=True))
    return [
        abs(100 * error / (estimated - error))
        for place, (estimated, error) in each
        if error is not None and place not in first
    ]
