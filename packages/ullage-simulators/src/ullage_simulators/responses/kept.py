"""What OpenAI keeps: responses by their ids, and conversations with their items.

Sources: https://developers.openai.com/api/docs/guides/conversation-state; openai 3.52 ``types/conversations/``. A
response is kept unless ``store`` is false. What it is continued from is the whole conversation up to it, without the
``instructions`` and ``tools`` of its request. Nothing expires here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ullage_simulators.body import Body
from ullage_simulators.faults import Frame
from ullage_simulators.responses.rules import refuse
from ullage_simulators.seal import digest
from ullage_simulators.wire import CallInProgress, Memory, Replay, Route

CREATED: Final = 1_767_225_600
MOST_ITEMS: Final = 20
"""Items that one request adds to a conversation (openai 3.52, ``conversation_create_params.py``)."""
_PAGE: Final = 20


@dataclass(slots=True)
class KeptResponse:
    """``items`` is the conversation after the response, ``given`` what the model was given; ``shown`` is the object.

    In the background it goes on without a reader from ``begun`` on, by the monotonic clock, an event each delay;
    ``opening`` is the object until its end. It is streamed again from behind any event, if it was created as a stream,
    and cancelling it twice changes nothing: https://developers.openai.com/api/docs/guides/background.
    """

    items: list[Body]
    given: list[Body]
    shown: Body
    opening: Body | None = None
    frames: list[Frame] = field(default_factory=list)
    is_streamed: bool = False
    delay_s: float = 0.0
    begun: float = field(default_factory=time.monotonic)

    @property
    def now(self) -> Body:
        """The object as it is now."""
        reached = self._reached
        if self.opening is None or reached >= len(self.frames):
            return self.shown
        return {**self.opening, "status": "in_progress" if reached else "queued"}

    @property
    def _reached(self) -> float:
        return (time.monotonic() - self.begun) // (self.delay_s or 1e-9)

    def cancel(self) -> None:
        """Ends where it is."""
        if self.opening is None:
            raise refuse("not_cancellable")
        if self.now is not self.shown:
            self.shown = {**self.opening, "status": "cancelled"}
            self.frames = self.frames[: int(self._reached)]

    def replay(self, after: int) -> Replay:
        """Its events behind this number."""
        if self.opening is None:
            raise refuse("not_background")
        if not self.is_streamed:
            raise refuse("not_streamed")
        left_out = after + 1
        begun = self.begun + self.delay_s * left_out
        return Replay(self.frames[left_out:], begun)


@dataclass(slots=True)
class KeptConversation:
    shown: Body
    items: list[Body] = field(default_factory=list)


def conversation_id(body: Mapping[str, Any]) -> str:
    """The conversation that a request belongs to; empty for none."""
    asked = body.get("conversation")
    if isinstance(asked, dict):
        asked = asked["id"]
    return str(asked or "")


def earlier_items(call: CallInProgress) -> list[Body]:
    """The items of the conversation that the request continues. Refuses one that can't be found."""
    previous = call.body.get("previous_response_id")
    conversation = conversation_id(call.body)
    if previous and conversation:
        raise refuse("two_parents")
    if conversation:
        return _conversation(call.memory, conversation).items
    if not previous:
        return []
    kept = _of_connection(call, previous) or call.memory.items.get(previous)
    if not isinstance(kept, KeptResponse):
        raise refuse("response_unknown", id=previous)
    return kept.items


def keep(
    call: CallInProgress,
    shown: Body,
    items: list[Body],
) -> None:
    """Remember a response, and the conversation after it.

    Each lane of a connection keeps its last response, stored or not.
    """
    kept = KeptResponse(items, call.body["input"], shown)
    if call.body.get("store", True):
        call.memory.items[shown["id"]] = kept
    if call.endpoint.local is not None:
        call.endpoint.local[_lane(call)] = kept
    conversation = conversation_id(call.body)
    if conversation:
        _conversation(call.memory, conversation).items = _named(items)


def _of_connection(call: CallInProgress, previous: str) -> KeptResponse | None:
    """The response that a lane of the connection ended with.

    Its own lane forgets it: a request that is refused is not continued from, one that is answered is the lane's last.
    https://developers.openai.com/api/docs/guides/websocket-mode
    """
    lanes = call.endpoint.local or {}
    for lane, kept in lanes.items():
        if kept.shown["id"] == previous:
            if lane == _lane(call):
                del lanes[lane]
            return kept  # type: ignore[no-any-return]
    return None


def _lane(call: CallInProgress) -> str:
    return str(call.body.get("stream_id", ""))


def _named(items: list[Body], first: int = 0) -> list[Body]:
    """The items as the server lists them; ``first`` is the place of the first one."""
    return [_listed(item, place) for place, item in enumerate(items, first)]


def _listed(item: Body, place: int) -> Body:
    identity = f"msg_0{digest(item, place):0>48}"
    listed = {"id": identity, "type": "message", "status": "completed", **item}
    content = item.get("content")
    if isinstance(content, str):
        written = "output_text" if item.get("role") == "assistant" else "input_text"
        listed["content"] = [{"type": written, "text": content}]
    return listed


def stored(
    memory: Memory,
    endpoint: Route,
    query: Mapping[str, str],
    body: Body,
) -> Body | Replay:
    """The answer to a request about what is kept, by its method and path."""
    match endpoint.method, *endpoint.parts:
        case "GET", "responses", identity if query.get("stream") == "true":
            after = int(query.get("starting_after", -1))
            return _response(memory, identity).replay(after)
        case "GET", "responses", identity:
            return _response(memory, identity).now
        case "POST", "responses", identity, _:
            kept = _response(memory, identity)
            kept.cancel()
            return kept.now
        case "DELETE", "responses", identity:
            _response(memory, identity)
            del memory.items[identity]
            return {"id": identity, "object": "response", "deleted": True}
        case "GET", "responses", identity, _:
            given = _response(memory, identity).given
            return _page(_named(given), query)
        case "POST", "conversations":
            return _begin(memory, body)
        case "GET", "conversations", identity:
            return _conversation(memory, identity).shown
        case "POST", "conversations", identity:
            shown = _conversation(memory, identity).shown
            shown["metadata"] = body["metadata"]
            return shown
        case "DELETE", "conversations", identity:
            _conversation(memory, identity)
            del memory.items[identity]
            return {"id": identity, "object": "conversation.deleted", "deleted": True}
        case method, _, identity, _, *item:
            return _of_items(_conversation(memory, identity), method, item, query, body)
    raise LookupError(endpoint)


def _response(memory: Memory, identity: str) -> KeptResponse:
    kept = memory.items.get(identity)
    if not isinstance(kept, KeptResponse):
        raise refuse("response_gone", id=identity)
    return kept


def _conversation(memory: Memory, identity: str) -> KeptConversation:
    kept = memory.items.get(identity)
    if not isinstance(kept, KeptConversation):
        raise refuse("conversation_unknown", id=identity)
    return kept


def _begin(memory: Memory, body: Body) -> Body:
    identity = memory.new_id("conv_0", 48)
    shown = {
        "id": identity,
        "object": "conversation",
        "created_at": CREATED + memory.requests,
        "metadata": body.get("metadata") or {},
    }
    memory.items[identity] = KeptConversation(shown, _new_items(body, 0))
    return shown


def _new_items(body: Body, first: int) -> list[Body]:
    items = body.get("items") or []
    if len(items) > MOST_ITEMS:
        raise refuse("array_too_long", path="items", limit=MOST_ITEMS, size=len(items))
    return _named(items, first)


def _of_items(
    kept: KeptConversation,
    method: str,
    path: list[str],
    query: Mapping[str, str],
    body: Body,
) -> Body:
    """The items of a conversation are listed and added to; one is shown and taken out."""
    if not path and method == "GET":
        return _page(kept.items, query)
    if not path:
        added = _new_items(body, len(kept.items))
        kept.items = [*kept.items, *added]
        return _page(added, {"order": "asc", "limit": str(MOST_ITEMS)})
    found = [item for item in kept.items if item["id"] == path[0]]
    if not found:
        raise refuse("item_unknown", id=path[0])
    if method == "GET":
        return found[0]
    kept.items = [item for item in kept.items if item["id"] != path[0]]
    return kept.shown


def _page(items: list[Body], query: Mapping[str, str]) -> Body:
    """A page of a list: the newest first, unless it is asked for in the order of the conversation."""
    if query.get("order", "desc") == "desc":
        items = items[::-1]
    identities = [item["id"] for item in items]
    start = 0
    if query.get("after") in identities:
        start = identities.index(query["after"]) + 1
    end = start + int(query.get("limit", _PAGE))
    page = items[start:end]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else "",
        "last_id": page[-1]["id"] if page else "",
        "has_more": end < len(items),
    }
