"""A checkpoint: the fold of a session as bytes, so that a long session opens without folding its ledger again.

It holds every field of the fold's state that does not follow from others, packed by the type of the field; of each
message its place in the ledger and its estimated cost, and not its content.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Final, get_type_hints

import msgspec

from ullage.checkpoint.entries import BlockPacker, pack_entries, stored_entries
from ullage.errors import UnreadableInput
from ullage.meter import fingerprint
from ullage.meter.fold import Fold
from ullage.meter.forecast import Forecaster
from ullage.meter.state import State
from ullage.meter.view import Entry, Facts, View

VERSION: Final = "checkpoint-1"
"""Raised when the layout of the bytes changes, or what the fold makes of events. A change of the state's fields changes
``made_by`` by itself, and another tokenizer or other constants of the model ``estimator_fingerprint``."""

_TEXT: Final = "Rack 12,500 l from the third cask; `pump.open(rate=0.75)` fails:\n\tvalve_7 is stuck. Wie üblich. 満杯"

FEWEST_EVENTS: Final = 1_000
MOST_EVENTS: Final = 2_000
"""Events behind the last checkpoint from which on another one is due; see ``should_checkpoint``."""


def should_checkpoint(events_since: int, view_len: int) -> bool:
    """Whether a checkpoint is due, so many events after the last one (or the start) and with so many messages in view.

    A checkpoint is written whole and takes about 90 bytes a message. Up to ``MOST_EVENTS`` messages in view the next
    one is due when as many events have come as there are messages, so that what is written is in proportion to the
    ledger. With more in view it is the time to open that counts: folding takes about 0.1 ms an event, and no more than
    ``MOST_EVENTS`` are ever left to fold. Below ``FEWEST_EVENTS`` the ledger is folded in 0.1 s without one.
    """
    return events_since >= min(MOST_EVENTS, max(FEWEST_EVENTS, view_len))


class Stored(msgspec.Struct, frozen=True, array_like=True):
    """The parts of a checkpoint. Entries that are not in view are those that an undo may bring back."""

    estimator: str
    """``estimator_fingerprint`` of the session's model."""
    state: bytes
    count: int
    """How many entries are in view."""
    ids: list[str]
    orders: list[int]
    recent: list[int]
    """Places of the entries that ``View.recent`` holds."""
    in_view: list[bytes]
    others: list[bytes]


_encoder: Final = msgspec.msgpack.Encoder()
_cover: Final = msgspec.msgpack.Decoder(tuple[str, int, bytes])
_parts: Final = msgspec.msgpack.Decoder(Stored)


class Checkpoints:
    """Writes the checkpoints of one session, and remembers what it packed, so that each costs what is new."""

    def __init__(self) -> None:
        self._in_view = BlockPacker(pack_entries)
        self._others = BlockPacker(pack_entries)

    def save(self, fold: Fold) -> bytes:
        """The fold as bytes. No message is read or copied."""
        in_view = list(fold.view)
        others: list[Entry] = []
        places = {id(entry): place for place, entry in enumerate(in_view)}

        def place_of(value: object) -> int:
            """An entry is stored as its place in the list of all entries."""
            if not isinstance(value, Entry):
                raise TypeError(f"{type(value).__name__} can't be stored in a checkpoint")
            if id(value) not in places:
                places[id(value)] = len(places)
                others.append(value)
            return places[id(value)]

        state = msgspec.json.encode(_stored_form(State, fold), enc_hook=place_of)
        entries = [*in_view, *others]
        stored = Stored(
            estimator=estimator_fingerprint(fold.forecaster),
            state=state,
            count=len(in_view),
            ids=[entry.id for entry in entries],
            orders=[entry.order for entry in entries],
            recent=[place_of(entry) for entry in fold.view.recent.values()],
            in_view=self._in_view.packed(in_view),
            others=self._others.packed(others),
        )
        body = _encoder.encode(stored)
        return _encoder.encode((made_by(), zlib.crc32(body), body))

    def load(
        self, data: bytes, *, estimator: str | Callable[[str], float] = "auto"
    ) -> Fold:
        """The fold that was saved, the contents of its messages missing; ``contents`` puts them back.

        ``estimator`` is the one the saved fold had. Raises ``UnreadableInput`` for bytes that are damaged, or were
        written by code or with an estimator that counts otherwise: then the ledger is to be folded instead.
        """
        stored = parts_of(data)
        in_view = stored_entries(
            stored.ids[: stored.count], stored.orders, stored.in_view
        )
        others = stored_entries(
            stored.ids[stored.count :], stored.orders[stored.count :], stored.others
        )
        entries = [*in_view, *others]

        def entry_at(kind: type, value: Any) -> object:
            """The entry at a place. A field of type ``object``, such as a parameter, has its value as it is."""
            return entries[value] if kind is Entry else value

        form = msgspec.json.decode(stored.state, type=_FORM, dec_hook=entry_at)
        fold = Fold(**_values(State, form), estimator=estimator)
        if stored.estimator != estimator_fingerprint(fold.forecaster):
            raise UnreadableInput(
                "The checkpoint was written by code that counts otherwise: fold the ledger instead."
            )
        fold.view.entries = {entry.id: entry for entry in in_view}
        fold.view.recent = {entries[place].id: entries[place] for place in stored.recent}
        self._in_view.remember(in_view, stored.in_view)
        self._others.remember(others, stored.others)
        return fold


def parts_of(data: bytes) -> Stored:
    """The parts of a checkpoint, if it is whole and of this form; none of them can then fail to be read later."""
    try:
        written_by, checksum, body = _cover.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise UnreadableInput(
            f"This is no checkpoint ({problem}): fold the ledger instead."
        ) from problem
    if written_by != made_by():
        raise UnreadableInput(
            f"The checkpoint was written by {written_by[:40]!r}: fold the ledger instead."
        )
    if zlib.crc32(body) != checksum:
        raise UnreadableInput("The checkpoint is damaged: fold the ledger instead.")
    return _parts.decode(body)


def estimator_fingerprint(forecaster: Forecaster) -> str:
    """Names how text is counted for a model and its constants: another name, other numbers."""
    family = forecaster.family
    return fingerprint.digest(
        forecaster.counter.name,
        repr(forecaster.counter.count(_TEXT, family.vocabulary)),
        repr((family, forecaster.template, forecaster.media_rule, forecaster.rules)),
    )


# -- the state by its fields --

BESIDE: Final[dict[type, tuple[str, ...]]] = {View: ("entries", "recent")}
"""Fields that are stored beside the state, as there is an entry in them for each message."""


def stored_fields(kind: type) -> list[str]:
    """Names of the fields of a dataclass of the state that are stored with it."""
    names: list[str] = []
    for field in fields(kind):
        if not field.metadata.get("derived") and field.name not in BESIDE.get(kind, ()):
            names.append(field.name)
    return names


@lru_cache
def _form(kind: type) -> Any:
    """A struct with the stored fields of a dataclass; those that are dataclasses themselves are structs in turn."""
    hints = get_type_hints(kind)
    named: list[tuple[str, Any]] = []
    for name in stored_fields(kind):
        hint = hints[name]
        named.append((name, _form(hint) if _is_part_of_state(hint) else hint))
    return msgspec.defstruct(kind.__name__, named, kw_only=True)


def _is_part_of_state(hint: Any) -> bool:
    """Whether it is one of the dataclasses that the state is made of, which change in place."""
    return (
        isinstance(hint, type)
        and is_dataclass(hint)
        and not hint.__dataclass_params__.frozen  # type: ignore[attr-defined]
    )


def _stored_form(kind: type, value: object) -> Any:
    values: dict[str, object] = {}
    hints = get_type_hints(kind)
    for name in stored_fields(kind):
        held = getattr(value, name)
        values[name] = (
            _stored_form(hints[name], held) if _is_part_of_state(hints[name]) else held
        )
    return _form(kind)(**values)


def _values(kind: type, form: msgspec.Struct) -> dict[str, Any]:
    values: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for name in stored_fields(kind):
        held = getattr(form, name)
        values[name] = (
            hints[name](**_values(hints[name], held))
            if _is_part_of_state(hints[name])
            else held
        )
    return values


@lru_cache
def made_by() -> str:
    """Names the code that can read a checkpoint."""
    return f"{VERSION} {form_digest(State)}"


def form_digest(kind: type) -> str:
    """Names all that is stored of a state, by the names and types of the fields."""
    described = repr(msgspec.inspect.multi_type_info([_form(kind), Facts]))
    return fingerprint.digest(re.sub(r" at 0x[0-9a-f]+", "", described))


_FORM: Final = _form(State)
_known_to_msgspec: Final = msgspec.json.Decoder(_FORM)
"""Made here so that no thread is the first to ask for the form's types: see docs/why/index.md#types-and-events."""
