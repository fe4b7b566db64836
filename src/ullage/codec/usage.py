"""Usage as the provider reported it, read by its dialect into one meaning.

``input`` always includes cache, ``output`` always includes reasoning; what was not said is ``None``; what can't be true
is ``None`` too, named in ``flags`` and kept in ``raw``. Nothing is estimated here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from ullage.codec.dialects import ANTHROPIC, DIALECTS, UNKNOWN, Dialect, Path, dialect_for
from ullage.codec.foreign import as_plain, parse_json, to_raw
from ullage.usage import Usage

__all__ = ["SamplingPass", "dialect_for", "normalise", "normalise_with", "sampling_passes", "stream_usage"]

LARGEST = 10**9
"""More tokens than any request can hold; a larger number is an error of whoever wrote it."""


class SamplingPass(NamedTuple):
    """One of several passes the provider made inside one call. ``input`` includes cache."""

    kind: str
    model: str
    usage: Usage


def normalise(dialect: str, raw: object, *, final: bool = True, placeholder: bool = False) -> Usage:
    """The usage object ``raw`` in our terms.

    ``raw`` is a mapping, an SDK object, or JSON bytes, which are kept byte for byte. ``final=False`` is for a stream
    that was cut; ``placeholder=True`` says that its output is not a count, and leaves it out. A dialect that is not in
    the table, or an object with none of its fields, gives a usage that is unverified and holds nothing but ``raw``.
    Never raises for what a provider or a log may contain.
    """
    row = DIALECTS.get(dialect)
    if row is None:
        return Usage(
            dialect=dialect or UNKNOWN, verified=False, final=final, flags=("dialect:unknown",), raw=_keep(raw)
        )
    return normalise_with(row, raw, final=final, placeholder=placeholder)


def normalise_with(row: Dialect, raw: object, *, final: bool = True, placeholder: bool = False) -> Usage:
    """``normalise`` for a dialect that is given as a table row instead of by name."""
    fields, kept = _fields(raw)
    if fields is None:
        flags = ("usage:unreadable",) if kept is not None else ()
        return Usage(dialect=row.name, verified=not flags, final=final, flags=flags, raw=kept)
    reading = _Reading(row, fields)
    if not reading.knows_any():
        return Usage(dialect=row.name, verified=False, final=final, flags=("usage:no_known_field",), raw=kept)
    reading.read()
    context, answer = reading.context_input(), reading.context_output()
    return Usage(
        input=reading.input,
        output=None if placeholder else reading.output,
        cache_read=reading.cache_read,
        cache_write=reading.cache_write,
        reasoning=None if placeholder else reading.reasoning,
        context_input=None if context == reading.input else context,
        context_output=None if answer == reading.output or placeholder else answer,
        dialect=row.name,
        final=final,
        placeholder=placeholder,
        flags=tuple(reading.flags),
        raw=kept,
    )


def stream_usage(dialect: str, objects: Iterable[object], *, complete: bool) -> Usage:
    """The usage of a streamed call from the usage objects its events carried, in order.

    Later counts replace earlier ones, except that a field which is missing, null or zero leaves what was said before:
    Anthropic's ``message_start`` carries the input and ``message_delta`` may leave it out
    (https://platform.claude.com/docs/en/build-with-claude/streaming: its counts are cumulative). Anthropic's output
    count of ``message_start`` is a placeholder until a ``message_delta`` has come. ``complete=False`` is for a stream
    without its terminal event.
    """
    merged: dict[str, Any] = {}
    seen = 0
    for one in objects:
        fields, _ = _fields(one)
        if fields:
            seen += 1
            merged = _merge(merged, fields)
    if not seen:
        return Usage(dialect=dialect, final=complete)
    placeholder = dialect == ANTHROPIC.name and seen == 1 and not complete
    return normalise(dialect, merged, final=complete, placeholder=placeholder)


def sampling_passes(raw: object) -> tuple[SamplingPass, ...]:
    """The passes inside one Anthropic call, from ``usage.iterations``; empty when it made only one or did not say.

    The call's own input and output are the sum of its ``message`` passes. Passes of kind ``compaction`` and
    ``advisor_message`` are billed beside that sum (https://platform.claude.com/docs/en/build-with-claude/compaction),
    the latter by another model. The last ``message`` pass is what the window held.
    """
    fields, _ = _fields(raw)
    listed = (fields or {}).get("iterations")
    if not isinstance(listed, list):
        return ()
    return tuple(
        SamplingPass(
            str(one.get("type", "message")),
            str(one.get("model") or ""),
            normalise(ANTHROPIC.name, {key: value for key, value in one.items() if key != "iterations"}),
        )
        for one in listed
        if isinstance(one, Mapping)
    )


@dataclass(slots=True)
class _Found:
    """A field's value: ``value`` is None when it is missing or can't be true, ``present`` when it was there at all."""

    value: int | None = None
    present: bool = False


class _Reading:
    """One pass over one usage object; ``flags`` collects what could not be true."""

    def __init__(self, row: Dialect, fields: Mapping[str, Any]) -> None:
        self.row = row
        self.fields = fields
        self.flags: list[str] = []
        self.input: int | None = None
        self.output: int | None = None
        self.cache_read: int | None = None
        self.cache_write: int | None = None
        self.reasoning: int | None = None
        self.passing: int = 0

    def knows_any(self) -> bool:
        """Whether the object has any of the dialect's input or output fields, or an empty object was sent."""
        row = self.row
        paths = (*row.input, *row.output, *row.total, *row.more_input, *row.passing_input)
        return not self.fields or any(_dig(self.fields, path) is not _ABSENT for path in paths)

    def read(self) -> None:
        row = self.row
        stated_input = self.field("input", row.input)
        stated_output = self.field("output", row.output)
        stated_total = self.field("total", row.total)
        read = self.field("cache_read", row.cache_read)
        write = self.cache_write_field()
        reasoning = self.field("reasoning", row.reasoning)
        more = self.all_of("input", row.more_input)
        self.passing = self.all_of("input", row.passing_input)
        total = stated_total.value or None  # a total of zero beside counts is a total that was not filled in
        self.cache_read, self.cache_write = read.value, write.value
        self.reasoning = reasoning.value
        self.input = stated_input.value
        if self.input is not None:
            self.input += more
        self.output = stated_output.value
        if self.nothing_counted(stated_input, stated_output):
            return
        if row.omits_zero:
            self.fill_zeros(total)
        self.check_total(total)
        self.settle_reasoning(total)
        self.settle_cache()
        if self.input is not None:
            self.input += self.passing

    def field(self, name: str, paths: Path) -> _Found:
        """The first of the alternatives that holds a number; one that is there but unusable is flagged."""
        found = _Found()
        for path in paths:
            value = _dig(self.fields, path)
            if value is _ABSENT or value is None:
                continue
            count, problem = _count(value)
            if problem:
                self.flag(name, problem)
            if not found.present or (found.value is None and count is not None):
                found = _Found(count, True)
            if count is not None:
                break
        return found

    def cache_write_field(self) -> _Found:
        """Cache writes; where only Anthropic's breakdown by lifetime is given, its sum."""
        found = self.field("cache_write", self.row.cache_write)
        breakdown = self.fields.get("cache_creation")
        if found.present or self.row.cache != "outside" or not isinstance(breakdown, Mapping):
            return found
        counts = [_count(value)[0] for value in breakdown.values()]
        known = [count for count in counts if count is not None]
        return _Found(sum(known), True) if known else found

    def all_of(self, name: str, paths: Path) -> int:
        """The sum of the fields that are there; the second spelling of a field is not added to the first."""
        for path in paths:
            found = self.field(name, (path,))
            if found.value is not None:
                return found.value
        return 0

    def flag(self, name: str, problem: str) -> None:
        flag = f"{name}:{problem}"
        if flag not in self.flags:
            self.flags.append(flag)

    def nothing_counted(self, stated_input: _Found, stated_output: _Found) -> bool:
        """A prompt is never empty: zero input is a count that was not made, and then zero output is none either.

        An input of zero beside cached tokens that stand outside it is a real one: all of the prompt was cached.
        """
        cached = self.row.cache == "outside" and ((self.cache_read or 0) + (self.cache_write or 0)) > 0
        if stated_input.value == 0 and not cached and not self.input:
            self.flag("input", "zero")
            self.input = None
            if not self.output:
                if stated_output.value == 0:
                    self.flag("output", "zero")
                self.output = self.reasoning = self.cache_read = self.cache_write = None
                return True
        return False

    def fill_zeros(self, total: int | None) -> None:
        """Fields that this dialect leaves out when they are zero, where the total proves that they are."""
        if total is None or self.input is None:
            return
        rest = total - self.input - self.passing
        if self.output is None and rest >= (self.reasoning or 0):
            self.output = rest - (self.reasoning or 0)
        elif self.output is not None and self.reasoning is None and rest == self.output:
            self.reasoning = 0

    def check_total(self, total: int | None) -> None:
        """A total smaller than what it totals: one of the numbers is wrong, and nothing says which."""
        if total is None or self.input is None or self.output is None:
            return
        if total < self.input + self.output:
            self.flag("total", "below_parts")
            self.input = self.output = self.reasoning = None

    def settle_reasoning(self, total: int | None) -> None:
        if self.output is None:
            return
        beyond = None if total is None or self.input is None else total - self.input - self.passing - self.output
        if self.row.thinking == "remainder":
            if beyond is not None and beyond >= 0:
                self.reasoning = beyond
                self.output += beyond
            return
        if self.reasoning is None:
            return
        if self.reasoning_is_outside(beyond):
            self.output += self.reasoning
        elif self.reasoning > self.output:
            self.flag("reasoning", "exceeds_output")
            self.reasoning = None

    def reasoning_is_outside(self, beyond: int | None) -> bool:
        assert self.reasoning is not None
        assert self.output is not None
        if self.row.thinking == "detect":
            if self.cached_outside():
                beyond = None if beyond is None else beyond - self.cached_outside()
            return self.reasoning > 0 and (beyond == self.reasoning or self.reasoning > self.output)
        return self.row.thinking == "outside"

    def cached_outside(self) -> int:
        return (self.cache_read or 0) + (self.cache_write or 0) if self.row.cache == "outside" else 0

    def settle_cache(self) -> None:
        if self.input is None:
            return
        if self.row.cache == "outside":
            self.input += (self.cache_read or 0) + (self.cache_write or 0)
            return
        if (self.cache_read or 0) > self.input:
            self.flag("cache_read", "exceeds_input")
            self.cache_read = None
        if (self.cache_read or 0) + (self.cache_write or 0) > self.input:
            self.flag("cache_write", "exceeds_input")
            self.cache_write = None

    def context_input(self) -> int | None:
        """What the window held, where ``input`` is a sum over several passes; None where it is not."""
        if self.input is not None and self.passing:
            return self.input - self.passing
        if self.row.name != ANTHROPIC.name:
            return None
        last = self.last_pass()
        return last.input if last is not None else None

    def context_output(self) -> int | None:
        """The answer of the last pass, where ``output`` is a sum over several; None where it is not."""
        last = self.last_pass() if self.row.name == ANTHROPIC.name else None
        return last.output if last is not None else None

    def last_pass(self) -> Usage | None:
        """The last of Anthropic's own passes, an advisor's left out."""
        own = [one for one in sampling_passes(self.fields) if one.kind.endswith("message") and not _is_advice(one)]
        return own[-1].usage if own else None


def _is_advice(one: SamplingPass) -> bool:
    return one.kind == "advisor_message"


_ABSENT = object()


def _dig(fields: Mapping[str, Any], path: str) -> object:
    value: object = fields
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return _ABSENT
        value = value[key]
    return value


def _count(value: object) -> tuple[int | None, str]:
    """A token count, or why it can't be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, "not_a_number"
    if isinstance(value, float):
        if not math.isfinite(value):
            return None, "not_finite"
        if not value.is_integer():
            return None, "not_whole"
    if value < 0:
        return None, "negative"
    if value > LARGEST:
        return None, "too_large"
    return int(value), ""


def _fields(raw: object) -> tuple[dict[str, Any] | None, msgspec.Raw | None]:
    """The object's fields and its JSON to keep. No fields when it is no object; no JSON when there was nothing."""
    if raw is None:
        return None, None
    if isinstance(raw, msgspec.Raw | memoryview):
        raw = bytes(raw)
    if isinstance(raw, bytes | bytearray):
        return _parsed(bytes(raw))
    plain = as_plain(raw)
    return (plain if isinstance(plain, dict) else None), to_raw(plain)


def _parsed(data: bytes) -> tuple[dict[str, Any] | None, msgspec.Raw]:
    try:
        plain = parse_json(data)
    except ValueError:
        return None, to_raw(data.decode("utf-8", "backslashreplace"))
    try:
        msgspec.json.decode(data)
        kept = msgspec.Raw(data)
    except msgspec.DecodeError:  # NaN and the like, which only Python's reader takes
        kept = to_raw(plain)
    return (plain if isinstance(plain, dict) else None), kept


def _keep(raw: object) -> msgspec.Raw | None:
    return _fields(raw)[1]


def _merge(before: dict[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for key, value in after.items():
        earlier = merged.get(key)
        if isinstance(value, Mapping) and isinstance(earlier, dict):
            merged[key] = _merge(earlier, value)
        elif (value is not None and value != 0) or earlier is None:
            merged[key] = value
    return merged
