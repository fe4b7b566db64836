"""Which reasoning of a request the model reads: what is withheld of it, and why.

From GPT-6.2 on, reasoning is bound to its model and to the conversation in front of it; where that was edited, the API
leaves the reasoning out and says so in ``input_transformations``. Sources:
https://developers.openai.com/api/docs/guides/keep-prefix-unchanged,
https://developers.openai.com/api/docs/guides/latest-model/gpt-6.2-astra.md, and openai 3.52
``types/responses/response.py`` (``InputTransformation``). Compared are ``tools``, ``text.format``, ``reasoning.effort``
and the items in front without their ids; reasoning among them is not, as no page says so. The API's own compactions
change no prefix: reasoning that is older than a compaction item in front of it stays.
"""

from __future__ import annotations

from typing import Final

from ullage_simulators.body import Body
from ullage_simulators.seal import digest, unseal
from ullage_simulators.wire import CallInProgress, last_index

WIRE: Final = "responses"
_NAMES: Final = frozenset({"id", "status", "phase", "parsed_arguments"})
"""Fields of an item that are no content."""


def kind(item: Body) -> str:
    """An item's type; a message may leave it out."""
    return str(item.get("type") or "message")


def carried(item: Body, call: CallInProgress) -> Body | None:
    """What reasoning or a compaction stands for, by its own data or by what the server keeps under its id."""
    opened = unseal(WIRE, item.get("encrypted_content"))
    if opened is not None:
        return opened
    record = call.memory.items.get(item.get("id", ""))
    if not isinstance(record, dict):
        return None
    return unseal(WIRE, record["item"].get("encrypted_content"))


def reads_all_turns(call: CallInProgress) -> bool:
    """Whether reasoning of earlier turns is read, where the model can read any of it.

    openai 3.52, ``types/shared/reasoning.py``: by default from GPT-5.6 on, unless ``context`` says otherwise.
    """
    asked = call.body.get("reasoning") or {}
    return call.model.turns and asked.get("context") != "current_turn"


def prefix(body: Body, items: list[Body]) -> str:
    """A fingerprint of what is in front of reasoning."""
    declared = body.get("tools") or []
    answer_format = (body.get("text") or {}).get("format")
    effort = (body.get("reasoning") or {}).get("effort")
    contents = [_content(item) for item in items if kind(item) != "reasoning"]
    return digest(declared, answer_format, effort, contents)


def _content(item: Body) -> object:
    if kind(item) != "message":
        return {
            name: value
            for name, value in item.items()
            if name not in _NAMES and value is not None
        }
    content = item.get("content") or ""
    if isinstance(content, str):
        return item.get("role"), [content]
    return item.get("role"), [part.get("text") or part for part in content]


def withheld(call: CallInProgress) -> list[Body]:
    """The reasoning items that the model is not shown, in the order of the input."""
    items: list[Body] = call.body["input"]
    turn = last_index(items, lambda item: item.get("role") == "user")
    compacted_at = -1
    found: list[Body] = []
    for index, item in enumerate(items):
        known = carried(item, call)
        if known is None:
            continue
        if kind(item) == "compaction":
            compacted_at = known["number"]
            continue
        reason = ""
        if call.model.turns and index < turn and not reads_all_turns(call):
            reason = "turn_boundary"
        elif "bound" in call.model.traits:
            reason = _mismatch(known, call, index, compacted_at)
        if reason:
            dropped = {"type": "reasoning", "action": "removed", "reason": reason}
            found.append({"id": known["id"], **dropped})
    return found


def _mismatch(
    known: Body,
    call: CallInProgress,
    index: int,
    compacted_at: int,
) -> str:
    if known["model"] != call.model.name:
        return "model_mismatch"  # no page lists the models that read each other's
    is_older = known["number"] < compacted_at
    front = call.body["input"][:index]
    if not is_older and known["prefix"] != prefix(call.body, front):
        return "prefix_mismatch"
    return ""
