"""A Chat answer as one object and as chunks.

Sources: openai 3.52 ``types/chat/chat_completion_chunk.py`` (the usage chunk has no choices and comes after the
``finish_reason``); https://openrouter.ai/docs/use-cases/reasoning-tokens (``reasoning_details``).
"""

from __future__ import annotations

from ullage_simulators.answer import Spoken
from ullage_simulators.body import Body
from ullage_simulators.chat.billing import said
from ullage_simulators.chat.checks import WIRE, tool_kind
from ullage_simulators.chat.variants import Variant
from ullage_simulators.faults import Frame
from ullage_simulators.openai_rules import error as openai_error
from ullage_simulators.refusal import Refused
from ullage_simulators.seal import seal
from ullage_simulators.wire import CallInProgress, chunks, event

CREATED = 1_767_225_600
UNKNOWN = event(
    {
        "id": "simulated",
        "object": "chat.completion.simulated",
        "created": CREATED,
        "choices": [],
        "detail": 1,
    }
)
_STOPS = {"length": "length", "filter": "content_filter", "refusal": "stop"}


def completion(
    call: CallInProgress, spoken: Spoken, variant: Variant, usage: Body | None
) -> Body:
    """The whole answer."""
    body = {
        **_head(call, "chat.completion"),
        "choices": [
            {
                "index": 0,
                "message": _message(call, spoken, variant),
                "logprobs": None,
                "finish_reason": _stop(spoken),
            }
        ],
    }
    return body if usage is None else {**body, "usage": usage}


def _head(call: CallInProgress, kind: str) -> Body:
    identity = call.memory.new_id("chatcmpl-", 29)
    return {
        "id": identity,
        "object": kind,
        "created": CREATED + call.number,
        "model": call.model_name,
    }


def _stop(spoken: Spoken) -> str:
    return _STOPS.get(spoken.stop) or ("tool_calls" if spoken.answer.calls else "stop")


def _message(call: CallInProgress, spoken: Spoken, variant: Variant) -> Body:
    answer = spoken.answer
    message: Body = {
        "role": "assistant",
        "content": answer.text or (None if answer.calls else ""),
    }
    if answer.stop == "refusal":
        message |= {"content": None, "refusal": answer.text}
    calls = []
    for each in answer.calls:
        identity = call.memory.new_id(variant.call_id, variant.call_id_length)
        kind, content = "function", "arguments"
        if each.is_custom:
            kind, content = "custom", "input"
        called = {"name": each.name, content: each.arguments}
        calls.append({"id": identity, "type": kind, kind: called})
    if calls:
        message["tool_calls"] = calls
    if answer.reasoning and variant.reasoning == "content":
        message["reasoning_content"] = answer.reasoning
    elif answer.reasoning and variant.reasoning == "details":
        signature = seal(WIRE, {"n": spoken.reasoning, "id": call.memory.new_id("", 12)})
        detail = {
            "type": "reasoning.text",
            "text": answer.reasoning,
            "signature": signature,
        }
        message["reasoning"] = answer.reasoning
        message["reasoning_details"] = [
            {**detail, "format": "anthropic-claude-v1", "index": 0}
        ]
    call.memory.items[said(message)] = spoken.reasoning
    return message


def events(
    call: CallInProgress, spoken: Spoken, variant: Variant, usage: Body | None
) -> list[Frame]:
    """The answer as it streams. Without ``include_usage``, a variant that waits to be asked shows no bill."""
    head = _head(call, "chat.completion.chunk")
    asked = bool((call.body.get("stream_options") or {}).get("include_usage"))
    shows = usage is not None and (asked or not variant.usage_chunk)
    nothing: Body = {"usage": None} if asked and variant.usage_chunk else {}
    frames = []
    message = _message(call, spoken, variant)
    deltas = _deltas(message, call.memory.scenario.chunk)
    deltas += _calls(message, 0 if variant.whole_calls else call.memory.scenario.chunk)
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        frames.append(event({**head, "choices": [choice], **nothing}))
    last = {
        **head,
        "choices": [
            {"index": 0, "delta": {}, "logprobs": None, "finish_reason": _stop(spoken)}
        ],
        **nothing,
    }
    if shows and not variant.usage_chunk:
        frames.append(event({**last, "usage": usage}, usage=True))
    else:
        frames.append(event(last))
    if shows and variant.usage_chunk:
        frames.append(event({**head, "choices": [], "usage": usage}, usage=True))
    frames.append(Frame(b"data: [DONE]\n\n"))
    return frames


def _deltas(message: Body, chunk: int) -> list[Body]:
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [
        {"reasoning_content": text}
        for text in chunks(message.get("reasoning_content", ""), chunk)
    ]
    for detail in message.get("reasoning_details", ()):
        fixed = {
            name: value
            for name, value in detail.items()
            if name not in ("text", "signature")
        }
        for text in chunks(detail["text"], chunk):
            deltas.append(
                {"reasoning": text, "reasoning_details": [{**fixed, "text": text}]}
            )
        deltas.append(
            {"reasoning_details": [{**fixed, "signature": detail["signature"]}]}
        )
    deltas += [{"content": text} for text in chunks(message["content"] or "", chunk)]
    deltas += [{"refusal": text} for text in chunks(message.get("refusal", ""), chunk)]
    return deltas


def _calls(message: Body, chunk: int) -> list[Body]:
    """The calls in pieces; ``chunk`` 0: each of them whole."""
    deltas: list[Body] = []
    for index, each in enumerate(message.get("tool_calls", ())):
        if not chunk:
            deltas.append({"tool_calls": [{**each, "index": index}]})
            continue
        kind = tool_kind(each)
        content = "input" if kind == "custom" else "arguments"
        opening = {**each, "index": index, kind: {**each[kind], content: ""}}
        deltas.append({"tool_calls": [opening]})
        for text in chunks(each[kind][content], chunk):
            deltas.append({"tool_calls": [{"index": index, kind: {content: text}}]})
    return deltas


def error(refused: Refused, variant: Variant) -> Body:
    """The variant's error object."""
    match variant.shape:
        case "mistral":
            fields = {
                "message": refused.text,
                "type": refused.kind,
                "param": None,
                "code": refused.code,
            }
            return {"object": "error", **fields}
        case "xai":
            return {"code": "Client specified an invalid argument", "error": refused.text}
        case "openrouter":
            fault: Body = {"message": refused.text, "code": refused.status}
            if refused.name == "reasoning_altered":
                raw = f'{{"type":"error","error":{{"type":"invalid_request_error","message":"{refused.text}"}}}}'
                fault = {
                    "message": "Provider returned error",
                    "code": 400,
                    "metadata": {"raw": raw},
                }
            return {"error": fault, "user_id": "user_simulated"}
        case "llamacpp":
            return {
                "error": {
                    "code": refused.status,
                    "message": refused.text,
                    "type": refused.kind,
                }
            }
        case "azure" if refused.name == "options_refused":
            return {"detail": refused.text}
    return openai_error(refused)
