"""A request as the items that a provider caches, in its order: names, digests and sizes, no content.

Providers cache a request as a prefix: tools, then the system prompt, then the messages
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://developers.openai.com/api/docs/guides/prompt-caching). Order of keys and white space count. How a string is
escaped does not, as the provider reads it first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ullage.codec.foreign import to_raw
from ullage.events import SentBody, SentItem
from ullage.messages import Part, ProviderData, Request, SystemBlock
from ullage.meter.fingerprint import digest, of_tools
from ullage.meter.policy import DIGESTED_AT_ONCE, REQUESTS_KEPT
from ullage.meter.same_content import CACHE_MARKS, bare_fields

SETTINGS: Final = (
    "thinking", "tool_choice", "speed", "output_config", "output_format", "context_management", "container",
    "mcp_servers", "reasoning", "reasoning_effort", "verbosity", "text", "response_format", "parallel_tool_calls",
    "service_tier", "prompt_cache_key", "prompt_cache_retention", "toolConfig", "cachedContent", "thinkingConfig",
)  # fmt: skip
"""Fields beside tools, system prompt and messages that are part of what is cached, or choose the cache
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching#what-invalidates-the-cache,
https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics)."""

_encoder: Final = msgspec.json.Encoder(order="sorted")


KnownItems = dict[int, tuple[Part, SentItem]]
"""The items of parts by the parts' identity, which are read once for all requests that hold them."""


def sent_items(
    request: Request,
    headers: Mapping[str, str] | None = None,
    known: KnownItems | None = None,
) -> list[SentItem]:
    """The items of a request.

    Args:
        request: As it was read from the body, or as a ledger has it.
        headers: Those of the call, with lower-case names.
        known: Items of parts of an earlier request; afterwards it has those of this one, so that it holds no more.
    """
    earlier = {} if known is None else known.copy()
    known = {} if known is None else known
    known.clear()
    found = [SentItem("model", request.model, digest(request.model), 0)]
    betas = (headers or {}).get("anthropic-beta", "").replace(" ", "")
    found += [
        SentItem("beta", name, digest(name), 0)
        for name in sorted(betas.split(","))
        if name
    ]
    for tool in request.tools:
        if not tool.deferred:  # such a one is part of the message that refers to it
            size = len(tool.description) + len(bytes(tool.schema))
            found.append(SentItem("tool", tool.name, of_tools((tool,)), size))
    for place, block in enumerate(request.system):
        data = _encoder.encode({"text": block.text})  # as in a message of the system
        name, named = f"system block {place}", digest("system", data)
        found.append(SentItem("system", name, named, len(data), _mark_of(block)))
    for name, data in settings_of(request):
        found.append(SentItem("setting", name, digest(name, data), len(data)))
    for place, message in enumerate(request.messages, 1):
        for part in message.parts:
            name = f"message {place} ({message.role}, {part.__struct_config__.tag})"
            if id(part) in earlier:
                known[id(part)] = earlier[id(part)]
            else:
                size, fields = 0, dict[str, object]()
                for key, value in bare_fields(part).items():
                    if isinstance(value, str) and len(value) > DIGESTED_AT_ONCE:
                        size += len(value)
                        fields[key] = _digest_of_long(value)
                    elif value:
                        fields[key] = value
                data = _encoder.encode(fields)
                named, size = digest(message.role, data), size + len(data)
                item = SentItem("message", name, named, size, _mark_of(part))
                known[id(part)] = part, item
            item = known[id(part)][1]
            if item.name != name:
                item = replace(item, name=name)
            found.append(item)
    mark = request.params.get("cache_control")
    if mark:  # the provider marks the last block by itself
        found[-1] = replace(found[-1], mark=_life(mark))
    return found


def _digest_of_long(text: str) -> str:
    """The digest of a text of which no copy is made as a whole."""
    named = ""
    for start in range(0, len(text), DIGESTED_AT_ONCE):
        named = digest(named, text[start : start + DIGESTED_AT_ONCE])
    return named


def settings_of(request: Request) -> Iterator[tuple[str, bytes]]:
    """The names and the JSON of a request's settings that are part of what is cached."""
    config = request.params.get("generationConfig")
    inner = config if isinstance(config, dict) else {}
    for name, value in (*request.params.items(), *inner.items()):
        if name in SETTINGS and value is not None:
            yield name, bytes(to_raw(value))


def _mark_of(content: Part | SystemBlock) -> str:
    data = getattr(content, "provider", None)
    if not isinstance(data, ProviderData):
        return ""
    for field in CACHE_MARKS:
        if field.encode() in bytes(data.data):
            mark = msgspec.json.decode(data.data).get(field)
            return _life(mark) if mark else ""
    return ""


def _life(mark: Any) -> str:
    found = mark.get("ttl") if isinstance(mark, dict) else None
    return str(found or "5m")


class SentItems:
    """The items of the last requests of one conversation, so that only what is new of the next one is stored."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[SentItem, ...]] = {}

    def take(self, call: str, items: Sequence[SentItem]) -> SentBody:
        """The items of a call behind those that an earlier one begins with, too."""
        after, most = "", 0
        for name, earlier in self._kept.items():
            same = common_items(earlier, items, with_marks=True)
            if same >= most:
                after, most = name, same
        self._kept[call] = tuple(items)
        while len(self._kept) > REQUESTS_KEPT:
            del self._kept[next(iter(self._kept))]
        if not most:
            return SentBody(items=tuple(items))
        return SentBody(after=after, same=most, items=tuple(items[most:]))

    def read(self, call: str, sent: SentBody | None) -> tuple[SentItem, ...]:
        """What ``take`` was given, from what it gave, in the order of the calls; nothing where that is not known."""
        if sent is None or (sent.after and sent.after not in self._kept):
            return ()
        items = (*self._kept.get(sent.after, ())[: sent.same], *sent.items)
        self.take(call, items)
        return items


def common_items(
    one: Sequence[SentItem], other: Sequence[SentItem], *, with_marks: bool = False
) -> int:
    """How many items both begin with; ``with_marks``: their cache marks are the same, too."""
    same = 0
    for before, now in zip(one, other, strict=False):
        is_same = before.digest == now.digest
        if not is_same or (with_marks and before.mark != now.mark):
            break
        same += 1
    return same
