"""Whether two messages are the same to a model: ids, revisions and cache marks are no content."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.messages import Message, ProviderData

CACHE_MARKS: Final = frozenset({"cache_control", "cachePoint"})
"""Fields that only say where a provider's cache may begin. A caller moves the mark to the newest message on each call
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching;
https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html)."""

_encoder: Final = msgspec.json.Encoder(order="sorted")

_HINTS: Final = tuple(mark.encode() for mark in CACHE_MARKS)


def same_content(one: Message, other: Message) -> bool:
    """Whether two messages have the same content, whatever their ids and cache marks."""
    if one is other or (one.id == other.id and one == other):
        return True
    return content_digest(one) == content_digest(other)


def content_digest(message: Message) -> bytes:
    """Names the content of a message: that of another one with the same content is the same."""
    parts = [bare_fields(part) for part in message.parts]
    data = _encoder.encode((message.role, parts))
    return blake2b(data, digest_size=16).digest()


def bare_fields(part: msgspec.Struct) -> dict[str, object]:
    """The fields of a part that a model reads."""
    fields = msgspec.structs.asdict(part)
    for name in ("id", "revision"):
        fields.pop(name, None)
    if "content" in fields:
        fields["content"] = [bare_fields(each) for each in part.content]  # type: ignore[attr-defined]
    provider = fields.get("provider")
    if isinstance(provider, ProviderData):
        fields["provider"] = _unmarked(provider)
    return fields


def _unmarked(data: ProviderData) -> ProviderData | None:
    """A provider's fields without cache marks; ``None`` when there are no others.

    Who they came from is no content: a caller sends an answer back unchanged after it has gone over to another model.
    """
    data = replace(data, provider="", model="")
    written = bytes(data.data)
    if not any(hint in written for hint in _HINTS):
        return data
    fields = _without_marks(msgspec.json.decode(written))
    if not fields:
        return None
    return replace(data, data=msgspec.Raw(msgspec.json.encode(fields)))


def _without_marks(value: object) -> object:
    if isinstance(value, dict):
        fields: dict[object, object] = {}
        for key, inner in value.items():
            if key not in CACHE_MARKS:
                fields[key] = _without_marks(inner)
        return fields
    if isinstance(value, list):
        return [_without_marks(inner) for inner in value]
    return value
