"""Holds a generateContent request against the rules."""

from __future__ import annotations

import json
import re
from typing import Any

from ullage_simulators.body import Body
from ullage_simulators.gemini.cached_content import FIELDS
from ullage_simulators.gemini.rules import refuse
from ullage_simulators.seal import digest, unseal
from ullage_simulators.wire import CallInProgress, last_index

WIRE = "gemini"
SENTINELS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""Signatures that pass for history from elsewhere: https://ai.google.dev/gemini-api/docs/thought-signatures"""
_TOP = frozenset(
    {
        "contents", "model", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
        "cachedContent", "labels", "serviceTier", "store",
    }
)  # fmt: skip
_CONTENT = frozenset({"role", "parts"})
_PART = frozenset(
    {
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
        "codeExecutionResult", "audioTranscription", "toolCall", "toolResponse", "thought", "thoughtSignature",
        "audioMetadata", "documentMetadata", "mediaProcessing", "mediaResolution", "partMetadata",
        "speechMetadata", "spreadsheetMetadata", "videoMetadata",
    }
)  # fmt: skip
"""google-genai 3.4 ``types.py``, as are the calls and results below."""
_DATA = frozenset(
    {
        "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
        "codeExecutionResult", "audioTranscription", "toolCall", "toolResponse",
    }
)  # fmt: skip
_CALL = frozenset({"id", "name", "args", "partialArgs", "willContinue"})
_RESPONSE = frozenset({"id", "name", "response", "parts", "willContinue", "scheduling"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_SNAKE = re.compile(r"_([a-z])")


def normalised(body: Body) -> Body:
    """The request with the names of its fields in camel case, which is one of the two ways they may come."""
    top: Body = _camel(body)
    if isinstance(top.get("contents"), dict):
        top["contents"] = [top["contents"]]
    contents = top.setdefault("contents", None)
    if isinstance(contents, list):
        top["contents"] = [_content(each) for each in contents]
    if "systemInstruction" in top:
        top["systemInstruction"] = _content(top["systemInstruction"])
    if isinstance(top.get("tools"), list):
        top["tools"] = [_camel(tool) for tool in top["tools"]]
    config = _camel(top.get("generationConfig"))
    if isinstance(config, dict):
        top["generationConfig"] = config
        if "thinkingConfig" in config:
            config["thinkingConfig"] = _camel(config["thinkingConfig"])
    return top


def _content(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    content = _camel(given)
    parts = content.setdefault("parts", None)
    if isinstance(parts, list):
        content["parts"] = [_camel(part) for part in parts]
    return content


def _camel(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    camel = {}
    for name, value in given.items():
        camel[_SNAKE.sub(lambda found: found[1].upper(), name)] = value
    return camel


def calls(content: Body) -> list[Body]:
    return [part for part in content["parts"] if "functionCall" in part]


def results(content: Body) -> list[Body]:
    return [part for part in content["parts"] if "functionResponse" in part]


def is_turn(content: Body) -> bool:
    """Whether the content begins a turn: a user's, with something other than results."""
    if content.get("role", "user") != "user":
        return False
    return len(results(content)) < len(content["parts"])


def check_shape(call: CallInProgress) -> None:
    body = call.body
    is_cache = call.endpoint.kind == "keep"
    _known(call, body, _TOP | FIELDS if is_cache else _TOP, "")
    contents = body.get("contents")
    if is_cache and contents is None:
        contents = body["contents"] = []  # it may hold a system instruction alone
    elif not isinstance(contents, list) or not contents:
        raise refuse("no_contents")
    for index, content in enumerate(contents):
        where = f"contents[{index}]"
        _known(call, content, _CONTENT, where)
        if content.get("role", "user") not in ("user", "model", "function"):
            raise refuse("role_unknown")
        if not isinstance(content.get("parts"), list) or not content["parts"]:
            raise refuse("parts_empty", i=index)
        for at, part in enumerate(content["parts"]):
            if not set(part) & _DATA:
                raise refuse("part_empty", i=index, j=at)
            _check_part(call, f"{where}.parts[{at}]", part)
    for index, tool in enumerate(body.get("tools") or []):
        for at, declared in enumerate(tool.get("functionDeclarations") or []):
            if not _NAME.fullmatch(str(declared.get("name", ""))):
                raise refuse("tool_name_pattern", i=index, j=at)


def _known(call: CallInProgress, given: Any, names: frozenset[str], where: str) -> None:
    if not isinstance(given, dict):
        raise TypeError(f"no object at {where}: {given!r}")
    for name in given:
        if name not in names:
            call.refuse_or_warn(refuse("field_unknown", name=name, where=where))


def _check_part(call: CallInProgress, where: str, part: Body) -> None:
    _known(call, part, _PART, where)
    if "functionCall" in part:
        called = part["functionCall"]
        place = f"{where}.function_call"
        _known(call, called, _CALL, place)
        _check_struct(f"{place}.args", called.get("args", {}))
    if "functionResponse" in part:
        result = part["functionResponse"]
        place = f"{where}.function_response"
        _known(call, result, _RESPONSE, place)
        _check_struct(f"{place}.response", result.get("response", {}))


def _check_struct(where: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise refuse("no_struct", where=where, value=json.dumps(value))


def check_turns(contents: list[Body]) -> None:
    """Calls come after a user or results; results come right after their calls, as many."""
    open_calls = 0
    may_call = False
    for content in contents:
        given = len(results(content))
        if given and not open_calls:
            raise refuse("result_without_call")
        if given != open_calls:
            raise refuse("result_count")
        open_calls = len(calls(content))
        if open_calls and not may_call:
            raise refuse("call_misplaced")
        may_call = content.get("role") != "model"
    if open_calls:
        raise refuse("result_count")


def check_signatures(call: CallInProgress) -> None:
    """Signatures of the current turn's function calls, on Gemini 3 and later.

    No other signature is needed or read (https://ai.google.dev/gemini-api/docs/thought-signatures;
    https://github.com/spring-projects/spring-ai/pull/4977): a client may join streamed texts under one signature.
    """
    if "needs-signature" not in call.model.traits:
        return
    contents = call.body["contents"]
    begins = 1 + last_index(contents, is_turn)
    for position, content in enumerate(contents[begins:], begins + 1):
        called = calls(content)
        if called and not called[0].get("thoughtSignature"):
            name = called[0]["functionCall"].get("name")
            raise refuse("signature_missing", name=name, position=position)
        for part in called:
            _check_signature(call, part)


def _check_signature(call: CallInProgress, part: Body) -> None:
    signature = part.get("thoughtSignature")
    if signature is None or signature in SENTINELS:
        return
    carried = _open(signature)
    if carried is None:
        raise refuse("signature_corrupt")
    if carried["part"] != fingerprint(part):
        call.refuse_or_warn(refuse("signature_moved"))


def _open(signature: Any) -> Body | None:
    """What a signature carries. Bytes may come in either alphabet of base64; google-genai sends the other one."""
    if not isinstance(signature, str):
        return None
    standard = signature.replace("-", "+").replace("_", "/").rstrip("=")
    return unseal(WIRE, standard + "=" * (-len(standard) % 4))


def fingerprint(part: Body) -> str:
    """What a signature is made over: the call that it stands on, or any text."""
    function = part.get("functionCall") or {}
    return digest(function.get("name"), function.get("args") or {})


def size_of(part: Body) -> int:
    """The tokens of reasoning a part's signature stands for."""
    carried = _open(part.get("thoughtSignature"))
    return int(carried["n"]) if carried else 0
