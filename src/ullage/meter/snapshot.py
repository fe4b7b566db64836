"""A checkpoint: the fold as bytes, so that a long session opens without folding its ledger anew.

It holds no message: sums, what the reading rests on, and of each message where it stands in the ledger and what it was
estimated to cost. The first reading after loading reads nothing but the checkpoint. The ledger stays the only truth: a
checkpoint that this code did not write the like of is refused, and the ledger is folded instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ullage.errors import UnreadableInput
from ullage.messages import SystemBlock, Tool
from ullage.meter.anchor import Anchor, Before, Pending, Since
from ullage.meter.departed import Changed, Departed
from ullage.meter.differences import differences, sums
from ullage.meter.fold import Fold
from ullage.meter.forecast import Fixed, Forecaster
from ullage.meter.limits import lookup
from ullage.meter.measured import Measured
from ullage.meter.origin import Ledger
from ullage.meter.reading import Accuracy
from ullage.meter.spend import Spend
from ullage.meter.stored_carried import Places, pack_carried, unpack_carried
from ullage.meter.stored_entries import BLOCK, StoredBlock, lengthened, shortened
from ullage.meter.stored_steps import pack_steps, unpack_steps
from ullage.meter.track import Step, Track
from ullage.meter.trial import trial
from ullage.meter.usages import Usages
from ullage.meter.view import Entry, View
from ullage.meter.window import Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage

MADE_BY: Final = "meter-6"
"""Names the code that can read a checkpoint. Raised when the layout or what the fold makes of events changes. That it
counts alike is found out by a trial when one is loaded, since that depends on the model and the estimator."""

FASTEST: Final = 1
"""zlib's level for columns. Most of them are ids drawn at random, which level 6 makes only 3 % smaller."""

FEWEST_EVENTS: Final = 1_000
MOST_EVENTS: Final = 2_000
"""Events behind the last checkpoint from which on another one is due; see ``should_checkpoint``."""


def should_checkpoint(events_since: int, view_len: int) -> bool:
    """Whether a checkpoint is due, so many events after the last one (or the start) and with so many messages in view.

    A checkpoint is written whole and takes about 60 bytes a message. Up to ``MOST_EVENTS`` messages in view the next
    one is due when as many events have come as there are messages, so that what is written is in proportion to the
    ledger. With more in view it is the time to open that counts: folding takes about 0.1 ms an event, and no more than
    ``MOST_EVENTS`` are ever left to fold. What is written is then 60 bytes x messages in view every ``MOST_EVENTS``
    events: as much as the ledger itself from about 10,000 messages in view on (at 570 bytes a message, as in
    ``bench/opening.py``). Below ``FEWEST_EVENTS`` the ledger is folded in 0.1 s without one.
    """
    return events_since >= min(MOST_EVENTS, max(FEWEST_EVENTS, view_len))


class _Window(msgspec.Struct, frozen=True):
    """The view without its entries."""

    rows: dict[str, dict[str, float]]
    tokens: float
    opening: float
    media: float
    orders: int
    digest: str | None


class _Score(msgspec.Struct, frozen=True):
    """The track without its steps."""

    inside: int
    compared: int
    last: Step | None
    accuracy: Accuracy


class _Moment(msgspec.Struct, frozen=True):
    """What a call under way was compared with: its pending without an entry, and the entry's place in the table."""

    pending: Pending
    rested_on: tuple[Anchor, int | None, bool, Since, float, float] | None


class _Gone(msgspec.Struct, frozen=True):
    """What a compaction or a prune took out, by places in the table."""

    anchor: str
    order: Places
    left: Places
    changed: list[tuple[int, int]]
    summary: str
    is_prune: bool


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """All that is small. ``trial`` is what this code makes of a history that is always the same."""

    trial: str
    seq: int
    revision: int
    session: str
    model: str
    wire: str
    provider: str
    limits: Limits
    calibration: Calibration
    policy: ReasoningPolicy
    system: tuple[SystemBlock, ...] | None
    tools: tuple[Tool, ...] | None
    params: dict[str, object]
    fixed: Fixed
    since: Since
    anchor: Anchor | None
    usages: dict[str, Usage]
    """The last one alone, which its answer is still to be counted with."""
    output: int | None
    output_left: bool
    removed: float
    partial: bool
    history_doubt: float
    unlogged: float | None
    first_messages: float
    measured: Measured
    pending: dict[str, _Moment]
    open_calls: list[str]
    compactions: int
    marks: list[str]
    spend: Spend
    window: _Window
    score: _Score


class _Columns(msgspec.Struct, frozen=True, kw_only=True):
    """What there is one of for each message, call or part, column by column. Numbers are differences to the one before.

    The table holds the entries in view and behind them those that a compaction or a pending call still knows.
    """

    ids: list[str]
    orders: list[int]
    in_view: int
    recent: Places
    holding: Places
    """Entries in view that hold results, and the results' ids beside them."""
    held: list[str]
    named: list[str]
    """Tool calls' ids, and the place of the tool's name beside them."""
    names: list[int]
    tools: list[str]
    carried: dict[str, Any]
    calls: list[str]
    reported: list[int]
    gone: dict[str, _Gone]


class _Table:
    """Every entry that the fold knows, each once."""

    def __init__(self, fold: Fold) -> None:
        self.in_view = list(fold.view)
        self.place = {id(entry): place for place, entry in enumerate(self.in_view)}
        self.aside: list[Entry] = []
        for departed in fold.compacted.values():
            for entry in departed.left:
                self._also(entry)
            for changed in departed.changed:
                self._also(changed.before)
                self._also(changed.after)
        for pending in fold.pending.values():
            self._also(pending.before.output if pending.before is not None else None)
        self._also(fold.output)
        self.by_id = {entry.id: place for place, entry in enumerate(self.in_view)}
        for place, entry in enumerate(self.aside, len(self.in_view)):
            self.by_id.setdefault(entry.id, place)

    def _also(self, entry: Entry | None) -> None:
        if entry is not None and id(entry) not in self.place:
            self.place[id(entry)] = len(self.in_view) + len(self.aside)
            self.aside.append(entry)

    @property
    def all(self) -> list[Entry]:
        return [*self.in_view, *self.aside]

    def of(self, entry: Entry | None) -> int | None:
        return None if entry is None else self.place[id(entry)]

    def places(self, entries: Iterable[Entry]) -> Places:
        return _relative([self.place[id(entry)] for entry in entries])

    def named(self, ids: Iterable[str]) -> Places:
        return _relative([self.by_id.get(each, each) for each in ids])


def _relative(places: Iterable[int | str]) -> Places:
    before = 0
    made: Places = []
    for place in places:
        if isinstance(place, int):
            place, before = place - before, place  # noqa: PLW2901
        made.append(place)
    return made


def _absolute(places: Places) -> Iterator[int | str]:
    before = 0
    for place in places:
        if isinstance(place, str):
            yield place
        else:
            before += place
            yield before


# -- saving --


def save(fold: Fold) -> bytes:
    """The fold as bytes. Reads no message, and packs only what changed since the fold was last saved or loaded."""
    table = _Table(fold)
    calls = {call: place for place, call in enumerate(fold.usages.seqs)}
    stored = _Stored(
        known=msgspec.json.encode(_known(fold, table)),
        columns=zlib.compress(_packer.encode(_columns(fold, table)), FASTEST),
        in_view=fold.written.write(table.in_view, calls),
        aside=fold.written_aside.write(table.aside, calls),
        steps=pack_steps(fold.track, calls),
    )
    body = _packer.encode(stored)
    return _packer.encode((MADE_BY, zlib.crc32(body), body))


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    known: bytes
    columns: bytes
    in_view: list[bytes]
    aside: list[bytes]
    steps: list[bytes]


_packer = msgspec.msgpack.Encoder()


def _known(fold: Fold, table: _Table) -> _Known:
    view, track = fold.view, fold.track
    return _Known(
        trial=trial(fold.wire, fold.provider, fold.model, fold.estimator),
        seq=fold.seq,
        revision=fold.revision,
        session=fold.session,
        model=fold.model,
        wire=fold.wire,
        provider=fold.provider,
        limits=fold.limits,
        calibration=fold.calibration,
        policy=fold.policy,
        system=fold.system,
        tools=fold.tools,
        params=fold.params,
        fixed=fold.fixed,
        since=fold.since,
        anchor=fold.anchor,
        usages=fold.usages.at_hand(fold.anchor.call) if fold.anchor is not None else {},
        output=table.of(fold.output),
        output_left=fold.output_left,
        removed=fold.removed,
        partial=fold.partial,
        history_doubt=fold.history_doubt,
        unlogged=fold.unlogged,
        first_messages=fold.first_messages,
        measured=fold.measured,
        pending={call: _moment(pending, table) for call, pending in fold.pending.items()},
        open_calls=sorted(fold.open_calls),
        compactions=fold.compactions,
        marks=fold.marks,
        spend=fold.spend,
        window=_Window(view.rows, view.tokens, view.opening, view.media, view.orders, view.rolled),
        score=_Score(track.inside, track.compared, track.last, track.accuracy),
    )


def _moment(pending: Pending, table: _Table) -> _Moment:
    before = pending.before
    if before is None:
        return _Moment(pending, None)
    rested_on = (
        before.anchor,
        table.of(before.output),
        before.output_left,
        before.since,
        before.changed,
        before.removed,
    )
    return _Moment(replace(pending, before=None), rested_on)


def _columns(fold: Fold, table: _Table) -> _Columns:
    view = fold.view
    entries = table.all
    tools = {name: place for place, name in enumerate(dict.fromkeys(view.tool_names.values()))}
    return _Columns(
        ids=[entry.id for entry in entries],
        orders=differences([entry.order for entry in entries]),
        in_view=len(table.in_view),
        recent=table.places(view.recent.values()),
        holding=table.named(view.holders.values()),
        held=[shortened(part, message) for part, message in view.holders.items()],
        named=list(view.tool_names),
        names=[tools[name] for name in view.tool_names.values()],
        tools=list(tools),
        carried=pack_carried(fold.carried, table.named),
        calls=list(fold.usages.seqs),
        reported=differences(list(fold.usages.seqs.values())),
        gone={name: _gone(departed, table) for name, departed in fold.compacted.items()},
    )


def _gone(departed: Departed, table: _Table) -> _Gone:
    return _Gone(
        anchor=departed.anchor,
        order=table.named(departed.order),
        left=table.places(departed.left),
        changed=[(table.place[id(each.before)], table.place[id(each.after)]) for each in departed.changed],
        summary=departed.summary,
        is_prune=departed.is_prune,
    )


# -- loading --


def load(data: bytes, *, ledger: Ledger, estimator: str | Callable[[str], float] = "auto") -> Fold:
    """The fold that was saved. Reads no message; ``ledger`` gives them when they are asked for.

    ``estimator`` is the one the saved fold had. Raises ``UnreadableInput`` for bytes that are damaged, or were written
    by code or with an estimator that counts otherwise: then the ledger is to be folded anew.
    """
    stored = _opened(data)
    known = _of_known.decode(stored.known)
    if known.trial != trial(known.wire, known.provider, known.model, estimator):
        raise UnreadableInput("The checkpoint was written by code that counts otherwise: fold the ledger anew.")
    return _fold(stored, known, _of_columns.decode(zlib.decompress(stored.columns)), ledger, estimator)


def _opened(data: bytes) -> _Stored:
    """What was stored, if it is whole and of this form; nothing of it can then fail to be read later."""
    try:
        made_by, checksum, body = _of_cover.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise UnreadableInput(f"This is no checkpoint ({problem}): fold the ledger anew.") from problem
    if made_by != MADE_BY:
        raise UnreadableInput(f"The checkpoint was written by {made_by[:40]!r}: fold the ledger anew.")
    if zlib.crc32(body) != checksum:
        raise UnreadableInput("The checkpoint is damaged: fold the ledger anew.")
    return _stored.decode(body)


def _fold(
    stored: _Stored, known: _Known, columns: _Columns, ledger: Ledger, estimator: str | Callable[[str], float]
) -> Fold:
    fold = Fold(limits=known.limits, calibration=known.calibration, estimator=estimator, policy=known.policy)
    for name in _AS_THEY_ARE:
        setattr(fold, name, getattr(known, name))
    fold.forecaster = Forecaster(known.wire, known.provider, known.model, estimator)
    fold.known = lookup(known.provider, known.model) if known.model else None
    entries = _entries(stored, columns, ledger)
    in_view, aside = entries[: columns.in_view], entries[columns.in_view :]
    fold.written.resume(in_view, stored.in_view)
    fold.written_aside.resume(aside, stored.aside)
    fold.view = _view(known.window, columns, entries)
    fold.carried = unpack_carried(columns.carried, lambda places: _names(places, columns.ids))
    fold.output = None if known.output is None else entries[known.output]
    fold.open_calls = set(known.open_calls)
    fold.pending = {call: _pending(moment, entries) for call, moment in known.pending.items()}
    fold.compacted = {name: _departed(gone, entries) for name, gone in columns.gone.items()}
    fold.usages = Usages(dict(zip(columns.calls, sums(columns.reported), strict=True)), ledger, known.usages)
    score = known.score
    fold.track = Track(inside=score.inside, compared=score.compared, last=score.last, accuracy=score.accuracy)
    unpack_steps(stored.steps, columns.calls, fold.track)
    return fold


_AS_THEY_ARE: Final = (
    *("seq", "revision", "session", "model", "wire", "provider", "system", "tools", "params", "fixed", "since"),
    *("anchor", "output_left", "removed", "partial", "history_doubt", "unlogged", "first_messages"),
    *("measured", "compactions", "marks", "spend"),
)
"""What is stored under the name and in the form that it has in the fold."""


def _entries(stored: _Stored, columns: _Columns, ledger: Ledger) -> list[Entry]:
    """The table, each entry with the block that it can be read from."""
    orders = sums(columns.orders)
    entries: list[Entry] = []
    for data in (*stored.in_view, *stored.aside):
        start = len(entries)
        size = min(BLOCK, (columns.in_view if start < columns.in_view else len(orders)) - start)
        ids = columns.ids[start : start + size]
        block = StoredBlock(data, ids, columns.calls, ledger)
        entries += [
            Entry(name, order, block, place)
            for name, order, place in zip(ids, orders[start : start + size], range(size), strict=True)
        ]
    return entries


def _view(window: _Window, columns: _Columns, entries: Sequence[Entry]) -> View:
    owners = _names(columns.holding, columns.ids)
    view = View(
        rows=window.rows,
        tokens=window.tokens,
        opening=window.opening,
        media=window.media,
        orders=window.orders,
        tool_names=dict(zip(columns.named, [columns.tools[place] for place in columns.names], strict=True)),
        holders={lengthened(part, owner): owner for part, owner in zip(columns.held, owners, strict=True)},
    )
    view.resume(window.digest, zip(columns.ids, entries[: columns.in_view], strict=False), _of(columns.recent, entries))
    return view


def _names(places: Places, ids: Sequence[str]) -> list[str]:
    return [ids[place] if isinstance(place, int) else place for place in _absolute(places)]


def _of(places: Places, entries: Sequence[Entry]) -> list[Entry]:
    return [entries[place] for place in _absolute(places) if isinstance(place, int)]


def _pending(moment: _Moment, entries: Sequence[Entry]) -> Pending:
    if moment.rested_on is None:
        return moment.pending
    anchor, output, output_left, since, changed, removed = moment.rested_on
    entry = None if output is None else entries[output]
    return replace(moment.pending, before=Before(anchor, entry, output_left, since, changed, removed))


def _departed(gone: _Gone, entries: Sequence[Entry]) -> Departed:
    return Departed(
        anchor=gone.anchor,
        order=tuple(entries[place].id if isinstance(place, int) else place for place in _absolute(gone.order)),
        left=tuple(_of(gone.left, entries)),
        changed=tuple(Changed(entries[before], entries[after]) for before, after in gone.changed),
        summary=gone.summary,
        is_prune=gone.is_prune,
    )


_of_cover: Final = msgspec.msgpack.Decoder(tuple[str, int, bytes])
_stored: Final = msgspec.msgpack.Decoder(_Stored)
_of_known: Final = msgspec.json.Decoder(_Known)
_of_columns: Final = msgspec.msgpack.Decoder(_Columns)
