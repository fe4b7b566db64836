"""A generateContent answer as one object and as a stream of partial ones.

Source: https://ai.google.dev/api/generate-content and /gemini-api/docs/thought-signatures: in a group of parallel calls
the first is signed; an answer without calls is signed on its last part, which in a stream may have an empty text.
"""

from __future__ import annotations

import json

from ullage_simulators.answer import ScriptedAnswer, Spoken
from ullage_simulators.body import Body
from ullage_simulators.faults import Frame
from ullage_simulators.gemini.checks import WIRE, fingerprint
from ullage_simulators.seal import seal
from ullage_simulators.wire import CallInProgress, chunks, event

UNKNOWN = event({"simulatedField": {"n": 1}, "modelVersion": "simulated"})
_STOPS = {"length": "MAX_TOKENS", "filter": "SAFETY", "refusal": "PROHIBITED_CONTENT"}


def response(call: CallInProgress, spoken: Spoken, usage: Body | None) -> Body:
    """The whole answer."""
    parts = _thoughts(call, spoken.answer) + _parts(call, spoken, stream=False)
    return _object(call, parts, spoken, usage, call.memory.new_id("", 22))


def _object(
    call: CallInProgress,
    parts: list[Body],
    spoken: Spoken | None,
    usage: Body | None,
    identity: str,
) -> Body:
    candidate: Body = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if spoken is not None:
        candidate["finishReason"] = _STOPS.get(spoken.stop, "STOP")
    body: Body = {
        "candidates": [candidate],
        "modelVersion": call.model_name,
        "responseId": identity,
    }
    return body if usage is None else {**body, "usageMetadata": usage}


def _thoughts(call: CallInProgress, answer: ScriptedAnswer) -> list[Body]:
    config = (call.body.get("generationConfig") or {}).get("thinkingConfig") or {}
    if not (answer.reasoning and config.get("includeThoughts")):
        return []
    texts = (
        chunks(answer.reasoning, call.memory.scenario.chunk)
        if call.stream
        else [answer.reasoning]
    )
    return [{"text": text, "thought": True} for text in texts]


def _parts(call: CallInProgress, spoken: Spoken, *, stream: bool) -> list[Body]:
    answer = spoken.answer
    texts = chunks(answer.text, call.memory.scenario.chunk) if stream else [answer.text]
    parts: list[Body] = [{"text": text} for text in texts if text]
    is_signed = bool(answer.reasoning) or (
        bool(answer.calls) and "needs-signature" in call.model.traits
    )
    for index, each in enumerate(answer.calls):
        function: Body = {"name": each.name, "args": _arguments(each.arguments)}
        if "needs-signature" in call.model.traits:
            function["id"] = call.memory.new_id("", 8)
        part: Body = {"functionCall": function}
        if is_signed and index == 0:
            part["thoughtSignature"] = _sign(call, part, spoken.reasoning)
        parts.append(part)
    if is_signed and not answer.calls:
        if stream or not parts:
            parts.append({"text": ""})
        parts[-1]["thoughtSignature"] = _sign(call, parts[-1], spoken.reasoning)
    return parts


def _sign(call: CallInProgress, part: Body, size: int) -> str:
    return seal(
        WIRE,
        {
            "n": size,
            "part": fingerprint(part),
            "id": call.memory.new_id("", 12),
            "model": call.model.name,
        },
    )


def _arguments(text: str) -> Body:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def events(call: CallInProgress, spoken: Spoken, usage: Body | None) -> list[Frame]:
    """The answer as it streams; each event has the counts so far, the last all of them."""
    identity = call.memory.new_id("", 22)
    said = [*_thoughts(call, spoken.answer), *_parts(call, spoken, stream=True)] or [
        {"text": ""}
    ]
    objects = []
    for index, part in enumerate(said):
        is_last = index == len(said) - 1
        so_far = None
        if is_last:
            so_far = usage
        elif usage is not None and not call.bills_late:
            so_far = _so_far(usage, index, len(said))
        objects.append(
            _object(call, [part], spoken if is_last else None, so_far, identity)
        )
    billed = ["usageMetadata" in each for each in objects]
    if call.endpoint.sse:
        return [
            event(each, usage=shows) for each, shows in zip(objects, billed, strict=True)
        ]
    texts = [json.dumps(each).encode() for each in objects]
    frames = [
        Frame((b"[" if index == 0 else b",\r\n") + text, billed[index])
        for index, text in enumerate(texts)
    ]
    return [*frames, Frame(b"]")]


def _so_far(usage: Body, index: int, count: int) -> Body:
    prompt = usage["promptTokenCount"]
    visible = usage.get("candidatesTokenCount", 0) * index // count
    partial = {
        **usage,
        "totalTokenCount": prompt + visible + usage.get("thoughtsTokenCount", 0),
    }
    if visible:
        return {**partial, "candidatesTokenCount": visible}
    partial.pop("candidatesTokenCount", None)
    return partial
