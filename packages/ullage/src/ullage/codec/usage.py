"""Usage as the provider reported it, read by its dialect into one meaning.

``input`` always includes cache, ``output`` always includes reasoning. A count that is missing or can't be true is
``None``; the latter is named in ``flags`` and kept in ``raw``. Nothing is estimated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from ullage.codec.foreign import as_plain, parse_json, to_raw
from ullage.codec.rules import Dialect, Path
from ullage.usage import Usage, token_count

__all__ = ["SamplingPass", "kept_json", "read_usage", "sampling_passes", "stream_usage"]


class SamplingPass(NamedTuple):
    """One of several passes the provider made inside one call. ``input`` includes cache."""

    kind: str
    model: str
    usage: Usage

    @property
    def is_own(self) -> bool:
        """Whether the call's own sums hold it: an answer of the model that was called."""
        return self.kind.endswith("message") and self.kind != "advisor_message"


def read_usage(
    dialect: Dialect, raw: object, *, final: bool = True, placeholder: bool = False
) -> Usage:
    """The usage object ``raw`` in our terms.

    ``raw`` is a mapping, an SDK object, or JSON bytes, which are kept byte for byte. ``final=False`` is for a stream
    that was cut; ``placeholder=True`` says that its output is not a count, and leaves it out. An object with none of
    the dialect's fields gives a usage that is unverified and holds nothing but ``raw``. Never raises for what a
    provider or a log may contain.
    """
    fields, kept = _fields(raw)
    if fields is None:
        flags = ("usage:unreadable",) if kept is not None else ()
        return Usage(
            dialect=dialect.name, verified=not flags, final=final, flags=flags, raw=kept
        )
    return _usage_in(dialect, fields, kept, final=final, placeholder=placeholder)


def stream_usage(
    dialect: Dialect, objects: Iterable[Mapping[str, Any]], *, complete: bool
) -> Usage:
    """The usage of a streamed call from the parsed usage objects of its events, in order.

    Later counts replace earlier ones, except that a field which is missing, null or zero leaves the earlier count:
    Anthropic's ``message_start`` carries the input and ``message_delta`` may leave it out
    (https://platform.claude.com/docs/en/build-with-claude/streaming: its counts are cumulative). The output count of
    its ``message_start`` is a placeholder until a ``message_delta`` has come. ``complete=False`` is for a stream
    without its terminal event.
    """
    merged: dict[str, Any] = {}
    reports = 0
    for fields in objects:
        if fields:
            reports += 1
            merged = _merge(merged, fields)
    if not reports:
        return Usage(dialect=dialect.name, final=complete)
    placeholder = dialect.begins_with_placeholder and reports == 1 and not complete
    return _usage_in(
        dialect, merged, to_raw(merged), final=complete, placeholder=placeholder
    )


def _usage_in(
    dialect: Dialect,
    fields: dict[str, Any],
    kept: msgspec.Raw | None,
    *,
    final: bool,
    placeholder: bool,
) -> Usage:
    reading = _Reading(dialect, fields)
    if not reading.knows_any():
        return Usage(
            dialect=dialect.name,
            verified=False,
            final=final,
            flags=("usage:no_known_field",),
            raw=kept,
        )
    reading.read()
    context_input = context_output = None
    if reading.passing and reading.input is not None:
        context_input = reading.input - reading.passing
    elif dialect.passes in fields:
        # The window holds the last pass of the call's own model; an advisor is another one.
        for one in sampling_passes(dialect, fields):
            if one.is_own:
                context_input, context_output = one.usage.input, one.usage.output
    return Usage(
        input=reading.input,
        output=None if placeholder else reading.output,
        cache_read=reading.cache_read,
        cache_write=reading.cache_write,
        reasoning=None if placeholder else reading.reasoning,
        context_input=None if context_input == reading.input else context_input,
        context_output=None
        if context_output == reading.output or placeholder
        else context_output,
        dialect=dialect.name,
        final=final,
        placeholder=placeholder,
        flags=tuple(reading.flags),
        raw=kept,
    )


def sampling_passes(dialect: Dialect, raw: object) -> tuple[SamplingPass, ...]:
    """The passes inside one call, from the field ``dialect.passes``; empty when it made one, or did not list them.

    The call's own input and output are the sum of its ``message`` passes. Anthropic bills passes of kind
    ``compaction`` and ``advisor_message`` beside that sum
    (https://platform.claude.com/docs/en/build-with-claude/compaction), the latter by another model. The window held
    the last ``message`` pass.
    """
    fields, _ = _fields(raw)
    listed = (fields or {}).get(dialect.passes)
    passes: list[SamplingPass] = []
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping):
            counts = {key: value for key, value in one.items() if key != dialect.passes}
            kind, model = str(one.get("type", "message")), str(one.get("model") or "")
            passes.append(SamplingPass(kind, model, read_usage(dialect, counts)))
    return tuple(passes)


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
        self.passing = 0

    def knows_any(self) -> bool:
        """Whether the object has any of the dialect's input or output fields, or an empty object was sent."""
        row = self.row
        paths = (*row.input, *row.output, *row.total, *row.more_input, *row.passing_input)
        return not self.fields or any(
            _dig(self.fields, path) is not _ABSENT for path in paths
        )

    def read(self) -> None:
        row = self.row
        stated_input = self.field("input", row.input)
        stated_output = self.field("output", row.output)
        total = (
            self.field("total", row.total).value or None
        )  # zero beside counts is a total that was not filled in
        self.input, self.output = stated_input.value, stated_output.value
        self.cache_read = self.field("cache_read", row.cache_read).value
        self.cache_write = self.cache_writes()
        self.reasoning = self.field("reasoning", row.reasoning).value
        more = self.field("input", row.more_input).value
        if self.input is not None and more is not None:
            self.input += more
        self.passing = self.field("input", row.passing_input).value or 0
        # Cached tokens that the input does not include.
        cached = (
            (self.cache_read or 0) + (self.cache_write or 0)
            if row.cache == "outside"
            else 0
        )
        if (
            stated_input.value == 0
            and not self.input
            and not cached
            and not self.is_beside()
        ):
            # A prompt is never empty: zero is a count that was not made, and then zero output is none either.
            self.flag("input", "zero")
            self.input = None
            if not self.output:
                if stated_output.value == 0:
                    self.flag("output", "zero")
                self.output = self.reasoning = self.cache_read = self.cache_write = None
                return
        if row.omits_zero and total is not None:
            self.fill_zeros(total)
        parts = (
            None
            if self.input is None or self.output is None
            else self.input + self.output
        )
        if (
            total is not None and parts is not None and total < parts
        ):  # one is wrong, and nothing tells which
            self.flag("total", "below_parts")
            self.input = self.output = self.reasoning = None
        if self.output is not None and (
            self.reasoning is not None or row.thinking == "remainder"
        ):
            self.settle_reasoning(total, cached)
        if self.input is not None:
            if row.cache == "outside":
                self.input += cached
            else:
                self.settle_cache()
            self.input += self.passing

    def is_beside(self) -> bool:
        """Whether all the passes listed are billed beside the call, which then made none and truly counted zero."""
        passes = sampling_passes(self.row, self.fields)
        return bool(passes) and not any(one.is_own for one in passes)

    def field(self, name: str, paths: Path) -> _Found:
        """The first of the alternatives that holds a number; one that is there but unusable is flagged."""
        found = _Found()
        for path in paths:
            value = _dig(self.fields, path)
            if value is _ABSENT or value is None:
                continue
            count, problem = token_count(value)
            if problem:
                self.flag(name, problem)
            if count is not None:
                return _Found(count, True)
            found = _Found(None, True)
        return found

    def cache_writes(self) -> int | None:
        """Cache writes; where only their parts are given, the sum of these."""
        found = self.field("cache_write", self.row.cache_write)
        for path in self.row.more_cache_write:
            more = self.field("cache_write", (path,)).value
            if more is not None:
                found = _Found((found.value or 0) + more, True)
        parts = self.fields.get(self.row.cache_write_parts)
        if found.present or not isinstance(parts, Mapping):
            return found.value
        counts = [count for count, _ in map(token_count, parts.values()) if count is not None]
        return sum(counts) if counts else None

    def flag(self, name: str, problem: str) -> None:
        flag = f"{name}:{problem}"
        if flag not in self.flags:
            self.flags.append(flag)

    def fill_zeros(self, total: int) -> None:
        """Fields that this dialect leaves out when they are zero, where the total proves that they are."""
        if self.input is None:
            return
        rest = total - self.input - self.passing
        if self.output is None and rest >= (self.reasoning or 0):
            self.output = rest - (self.reasoning or 0)
        elif self.output is not None and self.reasoning is None and rest == self.output:
            self.reasoning = 0

    def settle_reasoning(self, total: int | None, cached: int) -> None:
        """Adds reasoning to the output where the dialect counts it beside the output."""
        assert self.output is not None
        beyond = None
        if total is not None and self.input is not None:
            beyond = total - self.input - self.passing - self.output
        if self.row.thinking == "remainder":
            if beyond is not None and beyond >= 0:
                self.reasoning = beyond
                self.output += beyond
            return
        assert self.reasoning is not None
        is_outside = self.row.thinking == "outside"
        if self.row.thinking == "detect" and self.reasoning > 0:
            is_outside = beyond == self.reasoning + cached or self.reasoning > self.output
        if is_outside:
            self.output += self.reasoning
        elif self.reasoning > self.output:
            self.flag("reasoning", "exceeds_output")
            self.reasoning = None

    def settle_cache(self) -> None:
        """Drops counts of the cache that can't be part of the input."""
        assert self.input is not None
        if (self.cache_read or 0) > self.input:
            self.flag("cache_read", "exceeds_input")
            self.cache_read = None
        if (self.cache_read or 0) + (self.cache_write or 0) > self.input:
            self.flag("cache_write", "exceeds_input")
            self.cache_write = None


_ABSENT = object()


def _dig(fields: Mapping[str, Any], path: str) -> object:
    value: object = fields
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return _ABSENT
        value = value[key]
    return value


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


def kept_json(raw: object) -> msgspec.Raw | None:
    """The JSON of a usage object that can't be read, to be kept."""
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
