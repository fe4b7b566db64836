"""Explicit caches: contents that Google keeps under a name, and puts in front of requests that say it.

https://ai.google.dev/gemini-api/docs/caching and https://ai.google.dev/api/caching. A cache never expires here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from ullage_simulators.body import Body
from ullage_simulators.gemini.rules import refuse
from ullage_simulators.prompt import InputCount
from ullage_simulators.wire import CallInProgress, Memory, Route

FIELDS: Final = frozenset({"ttl", "expireTime", "displayName", "name"})
"""Fields of a cache that a request has not."""
_HELD: Final = ("systemInstruction", "tools", "toolConfig")
_CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TTL: Final = "3600s"


@dataclass(frozen=True, slots=True)
class KeptContent:
    """A cache: what is shown of it, what it holds, and the prefix that it is."""

    shown: Body
    body: Body
    counted: InputCount


def complete(call: CallInProgress) -> None:
    """Put the contents of the cache in front of those of the request. Refuses one that can't be used for it."""
    name = call.body.get("cachedContent")
    if not name:
        return
    kept = _found(call.memory, name)
    if any(call.body.get(held) for held in _HELD):
        raise refuse("cache_holds")
    asked = f"models/{call.model_name}"
    if kept.shown["model"] != asked:
        raise refuse("cache_model", asked=asked, kept=kept.shown["model"])
    held = {name: kept.body[name] for name in _HELD if name in kept.body}
    contents = [*kept.body["contents"], *(call.body["contents"] or [])]
    call.body = {**call.body, **held, "contents": contents}
    call.memory.cache(call.model).write(kept.counted)


def keep(call: CallInProgress, counted: InputCount) -> Body:
    """A new cache, as it is shown."""
    least = 4_096 if "pro" in call.model.name else 1_024
    if counted.input < least:
        raise refuse("cache_too_small", count=counted.input, least=least)
    name = f"cachedContents/{call.memory.new_id('')}"
    shown = {
        "name": name,
        "model": f"models/{call.model_name}",
        "displayName": call.body.get("displayName", ""),
        "createTime": _time(_CREATED),
        "usageMetadata": {"totalTokenCount": counted.input},
        **_times(call.body),
    }
    call.memory.items[name] = KeptContent(shown, call.body, counted)
    return shown


def stored(
    memory: Memory,
    endpoint: Route,
    body: Body,
) -> Body:
    """Shows, lists, changes or deletes what is kept."""
    if len(endpoint.parts) == 1:
        kept = memory.items.values()
        listed = [each.shown for each in kept if isinstance(each, KeptContent)]
        return {"cachedContents": listed} if listed else {}
    name = "/".join(endpoint.parts)
    shown = _found(memory, name).shown
    if endpoint.method == "DELETE":
        del memory.items[name]
        return {}
    if endpoint.method == "PATCH":
        shown.update(_times(body))
    return shown


def _found(memory: Memory, name: str) -> KeptContent:
    kept = memory.items.get(name)
    if not isinstance(kept, KeptContent):
        raise refuse("cache_unknown")
    return kept


def _times(body: Mapping[str, str]) -> Body:
    seconds = float(body.get("ttl", _TTL).removesuffix("s"))
    expires = body.get("expireTime") or _time(_CREATED + timedelta(seconds=seconds))
    return {"updateTime": _time(_CREATED), "expireTime": expires}


def _time(when: datetime) -> str:
    return when.isoformat().replace("+00:00", "Z")
