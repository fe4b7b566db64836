"""What a provider holds of a request: content that a body names and does not have. The one place that knows the fields.

A body that *continues* a conversation names the answer, or the conversation, that it comes behind, and has only what is
new. It is metered behind what is known of the conversation, and never changed: a result in it answers a call that the
provider holds, and nothing of what would be shortened is in the body.

- Responses: ``previous_response_id`` and ``conversation``. Instructions and tools are sent with each request
  (https://platform.openai.com/docs/guides/conversation-state).
- Messages: ``thread`` of the type ``continue``. The provider keeps system prompt and tools of the request of the type
  ``create``, and refuses them here (https://platform.claude.com/docs/en/build-with-claude/message-threads). A request
  of the type ``create`` is whole.

A body that names a *prefix* (``PREFIXES``) has its whole history behind content of a fixed size. The history may be
shortened, as each request sends all of it again; the field that names the prefix stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ullage.messages import Message, Request

__all__ = [
    "CONTINUING",
    "PREFIXES",
    "answer_id",
    "continued_as",
    "continued_in",
    "is_conversation",
    "keeps_head",
]

CONTINUING: Final[Mapping[str, Mapping[str, str]]] = {
    "responses": {"previous_response_id": "", "conversation": "id"},
    "messages": {"thread": "previous_message_id"},
}
"""By wire, the fields of a body that continue a conversation which the provider holds, and where the id is in a field
that is an object. Other wires have none."""

PREFIXES: Final = frozenset({"prompt", "cachedContent", "cached_content", "container"})
"""Fields that name content in front of the history, or beside it: a stored prompt
(https://platform.openai.com/docs/api-reference/responses/create), cached content (https://ai.google.dev/api/caching),
files of a container (https://platform.claude.com/docs/en/api/messages)."""

_CONTENT: Final = {"responses": "output", "messages": "content"}
"""The field of a whole answer that holds its content."""

_KEEPS_HEAD: Final = frozenset({"messages"})

_CONVERSATION: Final = "conv_"
"""How the id of a conversation begins (https://platform.openai.com/docs/api-reference/conversations)."""


def continued_in(
    wire: str,
    body: Mapping[str, Any],
) -> str:
    """The id of the answer or the conversation that a body continues; empty for a body that is whole."""
    for field, inner in CONTINUING.get(wire, {}).items():
        named: object = body.get(field)
        if isinstance(named, Mapping):
            named = named.get(inner)
        if named and isinstance(named, str):
            return named
    return ""


def continued_as(
    request: Request,
    response: str,
) -> str:
    """The id by which a later request continues the answer to this one; empty on a wire that can't.

    ``response`` is the answer's own id. All requests of a stored conversation name the conversation.
    """
    if request.wire not in CONTINUING:
        return ""
    if is_conversation(request.chained):
        return request.chained
    return response


def answer_id(
    wire: str,
    answer: object,
) -> str:
    """The id in a provider's whole answer, an SDK's object or JSON; empty for anything else."""
    field = _CONTENT.get(wire)
    if field is None or isinstance(answer, Message):
        return ""
    named: object = None
    if isinstance(answer, Mapping):
        if field in answer:
            named = answer.get("id")
    elif hasattr(answer, field):
        named = getattr(answer, "id", None)
    return named if isinstance(named, str) else ""


def is_conversation(name: str) -> bool:
    """Whether this is the id of a conversation, and not of an answer."""
    return name.startswith(_CONVERSATION)


def keeps_head(wire: str) -> bool:
    """Whether the provider holds system prompt and tools too, so that a request that continues has none."""
    return wire in _KEEPS_HEAD
