"""A request body as the items that a provider caches, in its order: names, digests and sizes, no content.

Providers cache a request as a prefix: tools, then the system prompt, then the messages
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://developers.openai.com/api/docs/guides/prompt-caching). What is hashed is the body as it was sent, with its order
of keys and its white space: both count. How a string is escaped does not, as the provider reads it first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ullage.codec.foreign import as_plain
from ullage.events import SentBody, SentItem, SentKind
from ullage.meter.fingerprint import digest
from ullage.meter.policy import REQUESTS_KEPT
from ullage.meter.same_content import CACHE_MARKS

SETTINGS: Final = (
    "thinking", "tool_choice", "speed", "output_config", "output_format", "context_management", "container",
    "mcp_servers", "reasoning", "reasoning_effort", "verbosity", "text", "response_format", "parallel_tool_calls",
    "service_tier", "prompt_cache_key", "prompt_cache_retention", "toolConfig", "cachedContent",
)  # fmt: skip
"""Fields beside tools, system prompt and messages that are part of what is cached, or choose the cache
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching#what-invalidates-the-cache,
https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics)."""

_MARKS: Final = tuple(CACHE_MARKS)
_BETAS: Final = "anthropic-beta"
_encoder: Final = msgspec.json.Encoder(enc_hook=as_plain)


def sent_items(
    body: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
    *,
    model: str = "",
) -> list[SentItem]:
    """The items of a body that was read from JSON. Never raises for what a client may send.

    Args:
        body: The body; an object of any of the four wires.
        headers: Those of the request, with lower-case names.
        model: The model, where the body does not name it.
    """
    found = [_item("model", str(body.get("model") or model), "")]
    betas = (headers or {}).get(_BETAS, "")
    names = sorted(filter(None, (name.strip() for name in betas.split(","))))
    found += [_item("beta", name, "") for name in names]
    for tool in _listed(body.get("tools")):
        found += _tools(tool)
    system = body.get("system") or body.get("instructions")
    if not system:
        system = _listed_in(body.get("systemInstruction"), "parts")
    for block in _blocks(system):
        found.append(_item("system", f"system block {_count(found, 'system')}", block))
    config = body.get("generationConfig")
    thinking = config.get("thinkingConfig") if isinstance(config, dict) else None
    for name, value in [*body.items(), ("thinkingConfig", thinking)]:
        if value is not None and (name in SETTINGS or value is thinking):
            found.append(_item("setting", name, value))
    found[len(found) :] = _messages(body, _count(found, "system"))
    heads = [item for item in found if item.kind != "message"]
    heads.sort(key=lambda item: _ORDER.index(item.kind))
    found = [*heads, *(item for item in found if item.kind == "message")]
    mark = body.get("cache_control")
    if mark and found:  # the provider marks the last block by itself
        found[-1] = msgspec.structs.replace(found[-1], mark=_life(mark))
    return found


_ORDER: Final = ("model", "beta", "tool", "system", "setting")


def _count(items: list[SentItem], kind: str) -> int:
    return sum(item.kind == kind for item in items)


def _tools(tool: Any) -> Iterator[SentItem]:
    tool = _fields(tool)
    inner = _listed(tool.get("functionDeclarations"))
    for each in map(_fields, inner or [tool]):
        if each.get("defer_loading"):
            continue  # it is part of the message that refers to it
        named = each.get("function")
        if not isinstance(named, dict):
            named = each
        name = named.get("name") or named.get("type") or ""
        yield _item("tool", str(name), each)


def _messages(body: Mapping[str, Any], blocks: int) -> Iterator[SentItem]:
    """The items of the messages; the system's in front of all others belong to the system prompt."""
    listed = body.get("messages") or body.get("input") or body.get("contents")
    if isinstance(listed, str):
        listed = [{"role": "user", "content": listed}]
    is_head = True
    for place, message in enumerate(map(_fields, _listed(listed)), 1):
        role = str(message.get("role") or message.get("type") or "item")
        is_head = is_head and role in ("system", "developer")
        for kind, content in _contents(message):
            if is_head:
                yield _item("system", f"system block {blocks}", content, role)
                blocks += 1
            else:
                words = role if kind in ("", role) else f"{role}, {kind}"
                yield _item("message", f"message {place} ({words})", content, role)


def _contents(message: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The blocks of a message with their kinds; an item without content is one block."""
    field = "parts" if "parts" in message else "content"
    if not isinstance(message.get(field), str | list):
        yield "", message
        return
    for block in map(_fields, _blocks(message[field])):
        yield str(block.get("type") or next(iter(block), "")), block
    for name, value in message.items():
        if name not in (field, "role", "type", "id", "status") and value:
            for each in _listed(value) or [value]:
                yield name, each


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return _listed(content)


def _fields(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = as_plain(value)
    return value if isinstance(value, dict) else {"": value}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _listed_in(value: Any, name: str) -> list[Any]:
    return _listed(value.get(name)) if isinstance(value, dict) else []


def _item(kind: SentKind, name: str, content: Any, role: str = "") -> SentItem:
    mark = ""
    if isinstance(content, dict):
        for field in _MARKS:
            if content.get(field):
                mark = _life(content[field])
    data = _encoded(content)
    if any(field.encode() in data for field in _MARKS):
        data = _encoded(_bare(content))
    named = name if kind in ("model", "beta", "setting") else role
    return SentItem(kind, name, digest(named, data), len(data), mark)


def _encoded(content: Any) -> bytes:
    try:
        return _encoder.encode(content)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return repr(content).encode("utf-8", "backslashreplace")


def _life(mark: Any) -> str:
    found = mark.get("ttl") if isinstance(mark, dict) else None
    return str(found or "5m")


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        fields: dict[Any, Any] = {}
        for name, inner in value.items():
            if name not in CACHE_MARKS:
                fields[name] = _bare(inner)
        return fields
    if isinstance(value, list):
        return [_bare(inner) for inner in value]
    return value


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
