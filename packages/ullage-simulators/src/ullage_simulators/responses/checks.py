"""Holds a Responses request against the rules, and completes it with what the server keeps."""

from __future__ import annotations

import re
from typing import Any

from ullage_simulators.body import Body
from ullage_simulators.responses.binding import WIRE, kind
from ullage_simulators.responses.kept import earlier_items
from ullage_simulators.responses.rules import refuse
from ullage_simulators.seal import unseal
from ullage_simulators.wire import CallInProgress

FIELDS = frozenset(
    {
        "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens",
        "max_tool_calls", "temperature", "top_p", "top_logprobs", "stream", "stream_options", "store",
        "include", "reasoning", "text", "truncation", "metadata", "user", "safety_identifier", "service_tier",
        "previous_response_id", "conversation", "prompt", "prompt_cache_key", "prompt_cache_retention",
        "background", "background_options",
        "context_management", "moderation", "image", "access_programs", "prompt_cache_options",
        "client_metadata",
    }
)  # fmt: skip
"""openai 3.52, ``types/responses/response_create_params.py``; and ``client_metadata``, which OpenAI's own Codex sends
with every request (https://github.com/openai/codex/pull/16912)."""
COMPACT_FIELDS = frozenset(
    {
        "model", "input", "instructions", "previous_response_id", "image", "prompt_cache_key",
        "prompt_cache_options", "prompt_cache_retention", "service_tier",
        "tools", "parallel_tool_calls", "reasoning", "text",
    }
)  # fmt: skip
"""openai 3.52, ``types/responses/response_compact_params.py``; and the last four, which Codex sends
(https://github.com/Wei-Shaw/sub2api/pull/2050)."""
CREATE = "response.create"
"""The message of a WebSocket that asks for a response."""
SOCKET_FIELDS = frozenset({"type", "generate", "stream_id"})
"""Fields that only such a message has: openai 3.52, ``types/responses/responses_client_event_param.py``."""
_ROLES = ("assistant", "system", "developer", "user")
_GIVEN = ("input_text", "input_image", "input_file", "input_audio")
_SAID = ("output_text", "refusal")
_PREFIXES = {
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "message": "msg",
    "compaction": "cmp",
}
OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}
"""The kinds of calls that a client answers, each with the kind of its output."""
TYPES = (
    "additional_tools", "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction",
    "compaction_trigger", "computer_call", "computer_call_output", "configuration_update", "custom_tool_call",
    "custom_tool_call_output", "file_search_call", "function_call", "function_call_output",
    "image_generation_call", "item_reference", "local_shell_call", "local_shell_call_output",
    "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "message", "program",
    "program_output", "reasoning", "shell_call", "shell_call_output", "tool_search_call", "tool_search_output",
    "web_search_call",
)  # fmt: skip
"""openai 3.52, ``types/responses/response_input_item_param.py``."""
_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def is_compaction(call: CallInProgress) -> bool:
    """Whether the request asks for a compaction and no answer, by its path or by its last item."""
    if call.endpoint.compact:
        return True
    return any(kind(item) == "compaction_trigger" for item in call.body["input"][-1:])


def check_shape(call: CallInProgress) -> None:
    body = call.body
    known = COMPACT_FIELDS if call.endpoint.compact else FIELDS
    if call.endpoint.local is not None:
        known |= SOCKET_FIELDS
    for name in body:
        if name not in known:
            call.refuse_or_warn(refuse("param_unknown", path=name))
    if not {"input", "previous_response_id", "prompt", "conversation"} & set(body):
        raise refuse("param_missing", path="input")
    if body.get("background") and body.get("store") is False:
        raise refuse("background_stateless")
    asked = body.get("max_output_tokens")
    if isinstance(asked, int) and asked < 16:
        raise refuse("too_small", path="max_output_tokens", least=16, asked=asked)
    effort = (body.get("reasoning") or {}).get("effort")
    if call.model.reasons and effort != "none" and "temperature" in body:
        raise refuse("param_unsupported", path="temperature")
    if not call.model.reasons and effort:
        raise refuse("param_unsupported", path="reasoning.effort")
    if effort == "none" and "bound" in call.model.traits:
        raise refuse("effort_none", model=call.model_name)
    _check_tools("tools", body.get("tools") or [])


def _check_tools(path: str, tools: list[Body]) -> None:
    for index, tool in enumerate(tools):
        if tool.get("type") in ("function", "custom"):
            _check_name(f"{path}[{index}].name", str(tool.get("name", "")))


def complete(call: CallInProgress) -> None:
    """Put the items in place that the request only points at. Refuses what can't be found."""
    items = call.body.get("input") or []
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    items = [*earlier_items(call), *items]
    call.body = {**call.body, "input": [_found(item, call) for item in items]}


def _found(item: Body, call: CallInProgress) -> Body:
    if kind(item) != "item_reference":
        return item
    record = call.memory.items.get(item.get("id", ""))
    if record is None:
        raise refuse("item_unknown", id=item.get("id"))
    if not record["kept"]:
        raise refuse("item_not_kept", id=item.get("id"))
    found: Body = record["item"]
    return found


def check_items(call: CallInProgress) -> None:
    items: list[Body] = call.body["input"]
    seen: set[str] = set()
    for index, item in enumerate(items):
        identity = item.get("id")
        if isinstance(identity, str) and identity:
            if identity in seen:
                raise refuse("item_twice", id=identity)
            seen.add(identity)
            _check_prefix(f"input[{index}].id", identity, item)
        _check_item(index, item, call)
    _check_pairs(items)
    _check_reasoning(items, call)


def _check_prefix(path: str, identity: str, item: Body) -> None:
    """What the model wrote has an id that begins with its kind."""
    prefix = _PREFIXES.get(kind(item), "")
    is_answer = item.get("role", "assistant") == "assistant"
    if is_answer and not identity.startswith(prefix):
        raise refuse("id_prefix", path=path, id=identity, prefix=prefix)


def _check_item(index: int, item: Body, call: CallInProgress) -> None:
    path = f"input[{index}]"
    match kind(item):
        case "message":
            _check_message(path, item, call)
        case "function_call":
            _check_call(path, item, "arguments")
        case "custom_tool_call":
            _check_call(path, item, "input")
        case "function_call_output" | "custom_tool_call_output":
            if "output" not in item:
                raise refuse("param_missing", path=f"{path}.output")
            _check_length(f"{path}.call_id", str(item.get("call_id", "")), 64)
        case "reasoning":
            _check_sealed(item, call)
        case "compaction":
            if unseal(WIRE, item.get("encrypted_content")) is None:
                call.refuse_or_warn(refuse("compaction_altered"))
        case "compaction_trigger":
            if index < len(call.body["input"]) - 1:
                call.refuse_or_warn(refuse("trigger_misplaced", path=path))
        case "additional_tools":
            if not isinstance(item.get("tools"), list):
                raise refuse("param_missing", path=f"{path}.tools")
            _check_tools(f"{path}.tools", item["tools"])
        case other if other not in TYPES and f"kind {other}" not in call.memory.items:
            _unknown_value(call, other, _quoted(TYPES), path)


def _check_message(path: str, item: Body, call: CallInProgress) -> None:
    role = item.get("role")
    if role not in _ROLES:
        known = "'assistant', 'system', 'developer', and 'user'"
        _unknown_value(call, role, known, f"{path}.role")
    content = item.get("content")
    if not isinstance(content, list):
        return
    allowed = _SAID if role == "assistant" else _GIVEN
    for at, part in enumerate(content):
        if part.get("type") not in allowed:
            where = f"{path}.content[{at}]"
            _unknown_value(call, part.get("type"), _quoted(allowed), where)


def _check_call(path: str, item: Body, content: str) -> None:
    _check_name(f"{path}.name", str(item.get("name", "")))
    for name in ("call_id", content):
        if not isinstance(item.get(name), str):
            raise refuse("param_missing", path=f"{path}.{name}")
    _check_length(f"{path}.call_id", item["call_id"], 64)


def _unknown_value(call: CallInProgress, value: Any, known: str, path: str) -> None:
    call.refuse_or_warn(refuse("value_unknown", value=value, known=known, path=path))


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _check_name(path: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise refuse("name_pattern", path=path)
    _check_length(path, name, 64)


def _check_length(path: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise refuse("too_long", path=path, limit=limit, size=len(text))


def _check_sealed(item: Body, call: CallInProgress) -> None:
    sealed = item.get("encrypted_content")
    if isinstance(sealed, str):
        if unseal(WIRE, sealed) is None:
            raise refuse("reasoning_altered", start=sealed[:4], end=sealed[-4:])
        return
    record = call.memory.items.get(item.get("id", ""))
    if record is None and call.body.get("store", True):
        raise refuse("item_unknown", id=item.get("id"))
    if record is None or not record["kept"]:
        raise refuse("item_not_kept", id=item.get("id"))


def _check_pairs(items: list[Body]) -> None:
    awaited: dict[str, str] = {}
    for item in items:
        identity = item.get("call_id")
        if kind(item) in OUTPUTS:
            awaited[item["call_id"]] = kind(item)
        elif kind(item) in OUTPUTS.values():
            called = awaited.pop(str(identity), "")
            if OUTPUTS.get(called) != kind(item):
                output = _spoken(kind(item))
                raise refuse("result_without_call", output=output, id=identity)
    for identity, called in awaited.items():
        raise refuse("call_without_result", call=_spoken(called), id=identity)


def _spoken(item_kind: str) -> str:
    return item_kind.replace("_", " ")


def _check_reasoning(items: list[Body], call: CallInProgress) -> None:
    """A reasoning item goes with the item that followed it in the answer, and that item with its reasoning.

    Of an answer that was not stored the server knows no follower by its id: Copilot gives its calls ids of its own
    (so does https://github.com/alphaXiv/agents/pull/54).
    """
    before: set[str] = set()
    for index, item in enumerate(items):
        identity = str(item.get("id") or "")
        record = call.memory.items.get(identity)
        if kind(item) == "reasoning":
            before.add(identity)
            wanted = record["next"] if record and record["kept"] else ""
            followers = items[index + 1 : index + 2]
            if not any(_may_follow(follower, wanted) for follower in followers):
                raise refuse("reasoning_alone", id=identity)
        elif record and record.get("reasoning") and record["reasoning"] not in before:
            raise refuse(
                "reasoning_left_out",
                id=identity,
                type=kind(item),
                reasoning=record["reasoning"],
            )


def _may_follow(item: Body, wanted: str) -> bool:
    """Whether an item may stand behind reasoning; ``wanted`` is the id of the one that the server knows there."""
    if not item or kind(item) in OUTPUTS.values():
        return False
    if item.get("role", "assistant") != "assistant":
        return False
    return not wanted or item.get("id") in (None, wanted)
