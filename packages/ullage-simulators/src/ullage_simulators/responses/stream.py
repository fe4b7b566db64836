"""A Responses answer as one object and as events.

Source of the event shapes: openai 3.52, ``types/responses/*_event.py``. ``encrypted_content`` in an item's ``added``
event may be incomplete (``response_reasoning_item.py``); here it always is.
"""

from __future__ import annotations

from typing import Any

from ullage_simulators.answer import Call, Spoken
from ullage_simulators.body import Body
from ullage_simulators.cache_diagnostics import of_response
from ullage_simulators.faults import Frame
from ullage_simulators.refusal import Refused
from ullage_simulators.responses.binding import WIRE, prefix, reads_all_turns
from ullage_simulators.responses.checks import is_compaction
from ullage_simulators.responses.kept import CREATED, conversation_id, keep
from ullage_simulators.seal import seal
from ullage_simulators.wire import CallInProgress, chunks, event

UNKNOWN = event(
    {"type": "response.simulated.event", "sequence_number": 0, "detail": 1},
    "response.simulated.event",
)


def response(call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
    """The whole answer; its items are remembered."""
    identity = call.memory.new_id("resp_0", 48)
    kept = call.body["input"]
    if is_compaction(call):
        kept, output = [], [_compaction(call, spoken)]
    else:
        output = _output(call, spoken)
    incomplete = {"length": "max_output_tokens", "filter": "content_filter"}.get(
        spoken.stop
    )
    shown = {
        **_frame(call, identity),
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "output": output,
        "usage": usage,
        **of_response(call, identity),
    }
    keep(call, shown, [*kept, *output])
    return shown


def compacted(call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
    """The answer of ``/responses/compact``: the user's messages, and one item that stands for all else.

    openai 3.52, ``types/responses/compacted_response.py`` and ``response_compaction_item.py``.
    """
    said = [item for item in call.body["input"] if item.get("role") == "user"]
    kept = [_retained(call, item) for item in said]
    return {
        "id": call.memory.new_id("resp_0", 48),
        "object": "response.compaction",
        "created_at": CREATED + call.number,
        "output": [*kept, _compaction(call, spoken)],
        "usage": usage,
    }


def _compaction(call: CallInProgress, spoken: Spoken) -> Body:
    """The item that stands for the conversation.

    It is all that a request with a ``compaction_trigger`` is answered (https://github.com/openai/codex/pull/22809).
    """
    identity = call.memory.new_id("cmp_0", 48)
    sealed = {"n": spoken.output, "id": identity, "number": call.number}
    item = {
        "id": identity,
        "type": "compaction",
        "encrypted_content": seal(WIRE, sealed),
    }
    _remember(call, [item])
    return item


def _retained(call: CallInProgress, item: Body) -> Body:
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    return {
        "id": item.get("id") or call.memory.new_id("msg_0", 48),
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": content,
    }


def _frame(call: CallInProgress, identity: str) -> Body:
    body = call.body
    conversation = conversation_id(body)
    frame = {
        "id": identity,
        "object": "response",
        "created_at": CREATED + call.number,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": call.model_name,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "conversation": {"id": conversation} if conversation else None,
        "reasoning": _effective(call),
        "store": body.get("store", True),
        "background": body.get("background") is True,
        "temperature": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "metadata": {},
    }
    if "bound" in call.model.traits:
        frame["input_transformations"] = call.dropped
    return frame


def _effective(call: CallInProgress) -> Body:
    asked = call.body.get("reasoning") or {"effort": None, "summary": None}
    context = "all_turns" if reads_all_turns(call) else "current_turn"
    return {**asked, "context": context} if call.model.turns else asked


def _output(call: CallInProgress, spoken: Spoken) -> list[Body]:
    answer, new_id = spoken.answer, call.memory.new_id
    items: list[Body] = []
    if answer.reasoning:
        items.append(_reasoning(call, spoken))
    for extra in answer.extra:
        call.memory.items[f"kind {extra.get('type')}"] = True
        items.append(extra)
    if answer.text:
        said: Body = {
            "type": "output_text",
            "text": answer.text,
            "annotations": [],
            "logprobs": [],
        }
        if answer.stop == "refusal":
            said = {"type": "refusal", "refusal": answer.text}
        message = {
            "id": new_id("msg_0", 48),
            "type": "message",
            "role": "assistant",
            "status": "completed",
        }
        phase = "commentary" if answer.calls else "final_answer"
        items.append({**message, "content": [said], "phase": phase})
    for each in answer.calls:
        items.append(_call_item(call, each))
    _remember(call, items)
    return items


def _reasoning(call: CallInProgress, spoken: Spoken) -> Body:
    identity = call.memory.new_id("rs_0", 48)
    summary: list[Body] = []
    if (call.body.get("reasoning") or {}).get("summary"):
        summary = [{"type": "summary_text", "text": spoken.answer.reasoning}]
    sealed = {
        "n": spoken.reasoning,
        "id": identity,
        "model": call.model.name,
        "number": call.number,
        "prefix": prefix(call.body, call.body["input"]),
    }
    return {
        "id": identity,
        "type": "reasoning",
        "summary": summary,
        "encrypted_content": seal(WIRE, sealed),
    }


def _call_item(call: CallInProgress, made: Call) -> Body:
    prefix, kind, content = "fc_0", "function_call", "arguments"
    if made.is_custom:
        prefix, kind, content = "ctc_0", "custom_tool_call", "input"
    return {
        "id": call.memory.new_id(prefix, 48),
        "call_id": call.memory.new_id("call_"),
        "type": kind,
        "status": "completed",
        "name": made.name,
        content: made.arguments,
    }


def _remember(call: CallInProgress, items: list[Body]) -> None:
    is_kept = call.body.get("store", True)
    for index, item in enumerate(items):
        follower = items[index + 1].get("id", "") if index + 1 < len(items) else ""
        owner = (
            items[index - 1]["id"]
            if index and items[index - 1]["type"] == "reasoning"
            else ""
        )
        if "id" in item:
            record = {
                "item": item,
                "kept": is_kept,
                "next": follower,
                "reasoning": owner,
            }
            call.memory.items[item["id"]] = record


class _Events:
    """Numbers the events as they are made."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def add(self, name: str, /, *, usage: bool = False, **data: Any) -> None:
        numbered = {"type": name, "sequence_number": len(self.frames), **data}
        self.frames.append(event(numbered, name, usage=usage))


def events(call: CallInProgress, spoken: Spoken, usage: Body | None) -> list[Frame]:
    """The answer as it streams."""
    whole = response(call, spoken, usage)
    opening = _frame(call, whole["id"])
    made = _Events()
    made.add("response.created", response=opening)
    made.add("response.in_progress", response=opening)
    for index, item in enumerate(whole["output"]):
        _item(made, index, item, call.memory.scenario.chunk)
    made.add(f"response.{whole['status']}", response=whole, usage=usage is not None)
    if call.body.get("background"):
        kept = call.memory.items[whole["id"]]
        kept.opening, kept.frames, kept.is_streamed = opening, made.frames, call.stream
        kept.delay_s = call.memory.scenario.delay_s
    return made.frames


def queued(call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
    """What a response in the background is at first, where its events are not read."""
    events(call, spoken, usage)
    *_, kept = call.memory.items.values()
    return {**kept.opening, "status": "queued"}


def _item(made: _Events, index: int, item: Body, chunk: int) -> None:
    where = {"output_index": index, "item_id": item.get("id", "")}
    match item["type"]:
        case "reasoning":
            started = {
                **item,
                "summary": [],
                "encrypted_content": item["encrypted_content"][:24],
            }
            made.add("response.output_item.added", output_index=index, item=started)
            for at, part in enumerate(item["summary"]):
                place = {**where, "summary_index": at}
                made.add(
                    "response.reasoning_summary_part.added",
                    **place,
                    part={**part, "text": ""},
                )
                for text in chunks(part["text"], chunk):
                    made.add("response.reasoning_summary_text.delta", **place, delta=text)
                made.add(
                    "response.reasoning_summary_text.done", **place, text=part["text"]
                )
                made.add("response.reasoning_summary_part.done", **place, part=part)
        case "message":
            made.add(
                "response.output_item.added",
                output_index=index,
                item={**item, "status": "in_progress", "content": []},
            )
            _content(made, {**where, "content_index": 0}, item["content"][0], chunk)
        case "function_call":
            started = {**item, "status": "in_progress", "arguments": ""}
            made.add("response.output_item.added", output_index=index, item=started)
            for text in chunks(item["arguments"], chunk):
                made.add("response.function_call_arguments.delta", **where, delta=text)
            made.add(
                "response.function_call_arguments.done",
                **where,
                name=item["name"],
                arguments=item["arguments"],
            )
        case "custom_tool_call":
            started = {**item, "status": "in_progress", "input": ""}
            made.add("response.output_item.added", output_index=index, item=started)
            for text in chunks(item["input"], chunk):
                made.add("response.custom_tool_call_input.delta", **where, delta=text)
            made.add("response.custom_tool_call_input.done", **where, input=item["input"])
        case _:
            made.add("response.output_item.added", output_index=index, item=item)
    made.add("response.output_item.done", output_index=index, item=item)


def _content(made: _Events, where: Body, part: Body, chunk: int) -> None:
    name, field = (
        ("output_text", "text")
        if part["type"] == "output_text"
        else ("refusal", "refusal")
    )
    more: Body = {"logprobs": []} if field == "text" else {}
    made.add("response.content_part.added", **where, part={**part, field: ""})
    for text in chunks(part[field], chunk):
        made.add(f"response.{name}.delta", **where, delta=text, **more)
    made.add(f"response.{name}.done", **where, **{field: part[field]}, **more)
    made.add("response.content_part.done", **where, part=part)


def failed(refused: Refused) -> list[Frame]:
    """A stream that begins well and then says why there is no answer."""
    made = _Events()
    opening: Body = {
        "id": "resp_simulated",
        "object": "response",
        "status": "in_progress",
        "output": [],
        "usage": None,
    }
    error = {
        "type": refused.kind,
        "code": refused.code,
        "message": refused.text,
        "param": refused.param,
    }
    made.add("response.created", response=opening)
    made.add("response.in_progress", response=opening)
    made.add(
        "error", error=error, code=refused.code, message=refused.text, param=refused.param
    )
    problem = {"code": refused.code, "message": refused.text}
    made.add(
        "response.failed", response={**opening, "status": "failed", "error": problem}
    )
    return made.frames
