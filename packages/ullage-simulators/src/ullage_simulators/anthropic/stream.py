"""A Messages answer as one object and as events.

Source of the event shapes: https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

import json

from ullage_simulators.answer import Spoken
from ullage_simulators.anthropic.clearing import FIELD, report_of
from ullage_simulators.anthropic.compaction import blocks_of, is_asked
from ullage_simulators.anthropic.thinking import has_controls, sign, summary
from ullage_simulators.anthropic.threads import hold
from ullage_simulators.body import Body
from ullage_simulators.cache_diagnostics import of_message
from ullage_simulators.faults import Frame
from ullage_simulators.wire import CallInProgress, chunks, event

STOPS = {"length": "max_tokens", "filter": "refusal", "refusal": "refusal"}
UNKNOWN = event({"type": "simulated_event", "detail": {"n": 1}}, "simulated_event")


def message(call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
    """The whole answer."""
    content = _content(call, spoken)
    stop = STOPS.get(spoken.stop) or ("tool_use" if spoken.answer.calls else "end_turn")
    if stop == "max_tokens" and call.room is not None and spoken.output >= call.room:
        stop = "model_context_window_exceeded"
    if is_asked(call.body):
        content = blocks_of(spoken, summary(call))
        stop = "compaction" if content else stop
    whole = [_parsed(block) for block in content]
    body: Body = {
        "id": call.memory.new_id("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": call.model_name,
        "content": content if call.stream else whole,
        "stop_reason": stop,
        "stop_sequence": None,
    }
    hold(call, body["id"], whole)
    if usage is not None:
        body["usage"] = usage
    if has_controls(call):
        body["input_transformations"] = call.dropped
    return {**body, **of_message(call, body["id"]), **report_of(call)}


def _content(call: CallInProgress, spoken: Spoken) -> list[Body]:
    answer = spoken.answer
    content: list[Body] = []
    if answer.reasoning and answer.redacted:
        content.append(
            {"type": "redacted_thinking", "data": sign(call, "", spoken.reasoning)}
        )
    elif answer.reasoning:
        omitted = (call.body.get("thinking") or {}).get("display") == "omitted"
        text = "" if omitted else answer.reasoning
        content.append(
            {
                "type": "thinking",
                "thinking": text,
                "signature": sign(call, text, spoken.reasoning),
            }
        )
    for extra in answer.extra:
        call.memory.items[f"kind {extra.get('type')}"] = True
        content.append(extra)
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for each in answer.calls:
        identity = call.memory.new_id("toolu_01")
        content.append(
            {
                "type": "tool_use",
                "id": identity,
                "name": each.name,
                "input": each.arguments,
            }
        )
    return content


def _parsed(block: Body) -> Body:
    """A call with its arguments as an object; what the model didn't finish is an empty one."""
    if block["type"] != "tool_use":
        return block
    try:
        given = json.loads(block["input"])
    except ValueError:
        given = {}
    return {**block, "input": given if isinstance(given, dict) else {}}


def events(call: CallInProgress, spoken: Spoken, usage: Body | None) -> list[Frame]:
    """The answer as it streams: the input's bill comes first, with an output placeholder; the rest at the end."""
    whole = message(call, spoken, usage)
    opening = {**whole, "content": [], "stop_reason": None}
    opening.pop(FIELD, None)
    if usage is not None:
        at_first = {
            **usage,
            "output_tokens": min(usage["output_tokens"], 1 + call.number % 8),
        }
        at_first.pop("output_tokens_details", None)
        opening["usage"] = (
            {**at_first, "input_tokens": 0, "output_tokens": 0}
            if call.bills_late
            else at_first
        )
    frames = [
        event(
            {"type": "message_start", "message": opening},
            "message_start",
            usage=usage is not None and not call.bills_late,
        )
    ]
    for index, block in enumerate(whole["content"]):
        frames += _block(index, block, call.memory.scenario.chunk)
        if index == 0:
            frames.append(event({"type": "ping"}, "ping"))
    closing: Body = {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
        **report_of(call),
    }
    if usage is not None:
        closing["usage"] = {
            name: value for name, value in usage.items() if name != "service_tier"
        }
    frames.append(event(closing, "message_delta", usage=usage is not None))
    frames.append(event({"type": "message_stop"}, "message_stop"))
    return frames


def _block(index: int, block: Body, chunk: int) -> list[Frame]:
    deltas: list[Body] = []
    opening: Body
    match block["type"]:
        case "thinking":
            opening = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": part}
                for part in chunks(block["thinking"], chunk)
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "text":
            opening = {"type": "text", "text": ""}
            deltas = [
                {"type": "text_delta", "text": part}
                for part in chunks(block["text"], chunk)
            ]
        case "tool_use":
            opening = {**block, "input": {}}
            parts = ["", *chunks(block["input"], chunk)]
            deltas = [
                {"type": "input_json_delta", "partial_json": part} for part in parts
            ]
        case _:
            opening = block
    head = {"type": "content_block_start", "index": index, "content_block": opening}
    return [
        event(head, "content_block_start"),
        *(
            event(
                {"type": "content_block_delta", "index": index, "delta": delta},
                "content_block_delta",
            )
            for delta in deltas
        ),
        event({"type": "content_block_stop", "index": index}, "content_block_stop"),
    ]
