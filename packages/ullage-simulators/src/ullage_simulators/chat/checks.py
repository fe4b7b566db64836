"""Holds a Chat request against a variant's rules."""

from __future__ import annotations

import json
import re
from typing import Any

from ullage_simulators.body import Body
from ullage_simulators.chat.variants import Variant
from ullage_simulators.seal import unseal
from ullage_simulators.wire import CallInProgress, WireSimulator, last_index

WIRE = "chat"
FIELDS = frozenset(
    {
        "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
        "max_completion_tokens", "temperature", "top_p", "n", "stop", "stream", "stream_options",
        "response_format", "seed", "logprobs", "top_logprobs", "logit_bias", "user", "reasoning_effort",
        "reasoning", "thinking", "store", "metadata", "service_tier", "verbosity", "prompt_cache_key",
        "prompt_cache_retention", "safety_identifier", "modalities", "audio", "prediction", "moderation",
        "prompt_cache_options", "web_search_options", "frequency_penalty", "presence_penalty", "functions",
        "function_call", "extra_body", "transforms", "provider", "usage", "include_reasoning",
        "chat_template_kwargs", "cache_prompt",
    }
)  # fmt: skip
"""openai 3.52, ``types/chat/completion_create_params.py``; and what other servers of the wire take."""
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")


class Checks(WireSimulator):
    """The checks of one variant."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.rules = variant.table()

    def check_shape(self, call: CallInProgress) -> None:
        body, model = call.body, call.model
        for name in body:
            if name not in FIELDS:
                call.refuse_or_warn(self.refuse("param_unknown", path=name))
        if not isinstance(body.get("messages"), list):
            raise self.refuse("param_missing", path="messages")
        if not body["messages"]:
            raise self.refuse("array_empty", path="messages")
        if body.get("stream_options") is not None:
            if not isinstance(body["stream_options"], dict):
                raise TypeError("stream_options is no object")
            if "options_refused" in self.rules:
                raise self.refuse("options_refused")
            if not call.stream and self.variant.name == "openai":
                raise self.refuse("options_without_stream")
        form = body.get("response_format") or {}
        if form.get("type") == "json_schema" and "schema_refused" in self.rules:
            raise self.refuse("schema_refused")
        is_openai_reasoning = self.variant.name in ("openai", "azure") and model.reasons
        if is_openai_reasoning and "max_tokens" in body:
            raise self.refuse("use_completion_tokens")
        self._check_images(call)
        self._check_output(call)
        for index, tool in enumerate(body.get("tools") or []):
            kind = tool_kind(tool)
            declared = tool.get(kind) or {}
            self._check_name(f"tools[{index}].{kind}.name", declared.get("name"))

    def _check_output(self, call: CallInProgress) -> None:
        path = "max_tokens"
        if "max_completion_tokens" in call.body:
            path = "max_completion_tokens"
        asked = call.body.get(path)
        if not isinstance(asked, int):
            return
        if asked < 1:
            raise self.refuse("too_small", path=path, least=1, asked=asked)
        cap = call.model.max_output
        if asked > cap and self.variant.name in ("openai", "azure"):
            raise self.refuse("output_cap", asked=asked, cap=cap)

    def _check_images(self, call: CallInProgress) -> None:
        """Where the server was started with a limit on them (vLLM's ``--limit-mm-per-prompt``)."""
        most = call.memory.scenario.max_images
        if not most or "too_many_images" not in self.rules:
            return
        images = 0
        for message in call.body["messages"]:
            content = message.get("content")
            if isinstance(content, list):
                images += sum(part.get("type") == "image_url" for part in content)
        if images > most:
            raise self.refuse("too_many_images", most=most)

    def _check_name(self, path: str, name: Any) -> None:
        if not isinstance(name, str):
            raise self.refuse("param_missing", path=path)
        if not _NAME.fullmatch(name):
            raise self.refuse("name_pattern", path=path)
        self._check_length(path, name, 64)

    def _check_length(self, path: str, text: str, limit: int) -> None:
        if len(text) > limit:
            raise self.refuse("too_long", path=path, limit=limit, size=len(text))

    def check_messages(self, call: CallInProgress) -> None:
        messages = call.body["messages"]
        for index, message in enumerate(messages):
            role = message.get("role")
            if role not in _ROLES:
                known = (
                    "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
                )
                path = f"messages[{index}].role"
                call.refuse_or_warn(
                    self.refuse("value_unknown", value=role, known=known, path=path)
                )
            self._check_content(index, message)
            for at, each in enumerate(message.get("tool_calls") or []):
                self._check_call(f"messages[{index}].tool_calls[{at}]", each)
            if "tool_call_id" in message:
                self._check_call_id(
                    f"messages[{index}].tool_call_id", str(message["tool_call_id"])
                )
        self._check_pairs(messages)
        self._check_reasoning(messages, call)

    def _check_content(self, index: int, message: Body) -> None:
        content, calls = message.get("content"), message.get("tool_calls")
        if calls == []:
            raise self.refuse("array_empty", path=f"messages[{index}].tool_calls")
        if content is None and not calls and not message.get("function_call"):
            raise self.refuse("content_null", i=index)
        if (
            content == ""
            and not calls
            and "content_blank" in self.rules
            and message["role"] != "tool"
        ):
            raise self.refuse("content_blank")

    def _check_call(self, path: str, given: Body) -> None:
        kind = tool_kind(given)
        called = given.get(kind) or {}
        content = "input" if kind == "custom" else "arguments"
        self._check_call_id(f"{path}.id", str(given.get("id", "")))
        self._check_name(f"{path}.{kind}.name", called.get("name"))
        arguments = called.get(content)
        if not isinstance(arguments, str):
            raise self.refuse("param_missing", path=f"{path}.{kind}.{content}")
        if "arguments_invalid" in self.rules and kind == "function":
            try:
                json.loads(arguments)
            except json.JSONDecodeError as problem:
                raise self.refuse(
                    "arguments_invalid", detail=problem, column=problem.colno
                ) from None

    def _check_call_id(self, path: str, identity: str) -> None:
        if "call_id_pattern" in self.rules:
            if not _NINE.fullmatch(identity):
                raise self.refuse("call_id_pattern", id=identity)
        elif self.variant.name in ("openai", "azure"):
            self._check_length(path, identity, 40)

    def _check_pairs(self, messages: list[Body]) -> None:
        open_ids: list[str] = []
        for index, message in enumerate(messages):
            before = messages[index - 1]["role"] if index else "none"
            if message["role"] == "tool":
                if message.get("tool_call_id") not in open_ids:
                    raise self.refuse("result_without_call", i=index, before=before)
                open_ids.remove(message["tool_call_id"])
                continue
            if open_ids:
                raise self.refuse("call_without_result", i=index, ids=", ".join(open_ids))
            if (
                message["role"] == "user"
                and before == "tool"
                and "user_after_tool" in self.rules
            ):
                raise self.refuse("user_after_tool")
            open_ids = [str(each.get("id")) for each in message.get("tool_calls") or []]
        if open_ids:
            raise self.refuse(
                "call_without_result", i=len(messages), ids=", ".join(open_ids)
            )

    def _check_reasoning(self, messages: list[Body], call: CallInProgress) -> None:
        turn = last_index(messages, lambda message: bool(message["role"] == "user"))
        for index, message in enumerate(messages):
            for detail in message.get("reasoning_details") or []:
                is_signed = "reasoning_altered" in self.rules and "signature" in detail
                if is_signed and unseal(WIRE, detail["signature"]) is None:
                    raise self.refuse("reasoning_altered", i=index)
            is_loop = index > turn or "reasoning-for-ever" in call.model.traits
            needs = (
                self.variant.needs_reasoning
                and thinks(call)
                and is_loop
                and message.get("tool_calls")
            )
            if needs and not isinstance(message.get("reasoning_content"), str):
                raise self.refuse("reasoning_left_out", i=index)


def tool_kind(given: Body) -> str:
    """Whether a declared tool or a call is one of a ``custom`` tool or of a ``function``."""
    return "custom" if given.get("type") == "custom" else "function"


def thinks(call: CallInProgress) -> bool:
    """Whether the model reasons for this request."""
    thinking = call.body.get("thinking") or {}
    if thinking.get("type") == "disabled":
        return False
    return call.model.reasons and call.body.get("reasoning_effort") != "none"
