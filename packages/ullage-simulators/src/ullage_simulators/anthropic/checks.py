"""Holds a Messages request against the rules: shape, content, tools, the pairing of calls and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ullage_simulators.anthropic.betas import has_beta
from ullage_simulators.anthropic.compaction import BETA, KIND, THRESHOLD_BETA, is_asked
from ullage_simulators.anthropic.images import sides
from ullage_simulators.anthropic.rules import refuse
from ullage_simulators.anthropic.tools import (
    CHANGES,
    CHANGES_BETAS,
    definition_in,
    named_tools,
)
from ullage_simulators.body import Body
from ullage_simulators.wire import CallInProgress

FIELDS = frozenset(
    {
        "model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "temperature", "top_p",
        "top_k", "stop_sequences", "stream", "metadata", "service_tier", "container", "context_management",
        "mcp_servers", "cache_control", "output_config", "output_format", "inference_geo", "speed", "fallbacks",
        "user_profile_id", "diagnostics", "compaction", "billing_policy", "fallback_credit_token", "thread",
        "workspace_id", "safeguards",
    }
)  # fmt: skip
"""All of anthropic 2.11 ``types/beta/message_create_params.py``, and those of earlier versions.

``safeguards`` is what Claude Code 2.1.330 sends in its auto mode, with the beta ``dangerous-tool-use-2026-09-03``.
"""
BLOCKS = frozenset(
    {
        "tool_use", "tool_result", "search_result", "redacted_thinking", "document", "image", "text", "thinking",
        "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
        "bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
        "advisor_tool_result", "mcp_tool_use", "mcp_tool_result", "mcp_tool_listing", "container_upload", "fallback",
    }
)  # fmt: skip
"""All of anthropic 2.14 ``types/beta/beta_content_block_param.py`` but ``compaction`` and the changes of tools.

Those need a header.
"""
COMPACTION_BETAS = (BETA, THRESHOLD_BETA)
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def blocks(message: Body) -> list[Body]:
    """A message's content as blocks; a string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def is_turn(message: Body, *, beside: bool) -> bool:
    """Whether the message begins a turn: a user's, and not only the answer to tool calls."""
    if message.get("role") != "user":
        return False
    kinds = {block.get("type") for block in blocks(message)}
    if "tool_result" not in kinds:
        return True
    return beside and "text" in kinds


def check_shape(call: CallInProgress) -> None:
    body = call.body
    is_count = call.endpoint.kind == "count"
    if "anthropic-version" not in call.headers:
        raise refuse("version_missing")
    for name in body:
        is_known = name in FIELDS and not (name == "thread" and is_count)
        if not is_known:
            call.refuse_or_warn(refuse("field_unknown", path=name))
    if not is_count and not isinstance(body.get("max_tokens"), int):
        raise refuse("field_required", path="max_tokens")
    if "messages" not in body:
        raise refuse("field_required", path="messages")
    if not isinstance(body["messages"], list):
        raise refuse("not_a_list", path="messages")
    if not body["messages"]:
        rule = "compaction_nothing_to_summarize" if is_asked(body) else "no_messages"
        raise refuse(rule)
    _check_system(body.get("system"))
    for index, message in enumerate(body["messages"]):
        _check_message(index, message, call)
    _check_system_messages(body["messages"])
    _check_tools(call)
    _check_cache_marks(call)
    _check_output(call)


def _check_output(call: CallInProgress) -> None:
    asked = call.body.get("max_tokens")
    if not isinstance(asked, int):
        return
    if asked < 1:
        raise refuse("output_none")
    cap = call.model.max_output
    if asked > cap:
        raise refuse("output_cap", asked=asked, cap=cap, model=call.model.name)


def _check_system(system: Any) -> None:
    if isinstance(system, str):
        if system and not system.strip():
            raise refuse("text_blank", where="system")
        return
    for block in system or []:
        if not block.get("text"):
            raise refuse("text_empty", where="system")


def _check_message(index: int, message: Any, call: CallInProgress) -> None:
    role = message.get("role")
    if role == "system" and "system-messages" not in call.model.traits:
        raise refuse("role_system")
    if role not in ("user", "assistant", "system"):
        raise refuse("role_unknown", i=index)
    if "content" not in message:
        raise refuse("field_required", path=f"messages.{index}.content")
    if "clear_at" in message:
        _check_clear_at(index, message, call)
    found = blocks(message)
    if not found:
        if role == "user":
            raise refuse("content_empty", i=index)
        return
    for at, block in enumerate(found):
        tag = block.get("type")
        if tag not in BLOCKS and not _is_issued(block, call):
            call.refuse_or_warn(refuse("block_unknown", i=index, j=at, tag=tag))
    has_content = False
    for block in found:
        if block.get("type") != "text":
            has_content = True
            continue
        text = block.get("text")
        if not text:
            raise refuse("text_empty", where="messages")
        if str(text).strip():
            has_content = True
    if not has_content:
        raise refuse("text_blank", where="messages")


def _check_clear_at(index: int, message: Body, call: CallInProgress) -> None:
    if not has_beta(call, CLEAR_AT_BETA):
        raise refuse("clear_at_without_beta", i=index)
    if message["role"] != "system":
        raise refuse("clear_at_role", i=index)
    kinds = {block.get("type") for block in blocks(message)}
    if message["clear_at"] == "next_user_message" and kinds != {"text"}:
        raise refuse("clear_at_text", i=index)


def _check_system_messages(messages: list[Body]) -> None:
    """Where they may stand. One without content only sets the effort, and may stand anywhere.

    https://platform.claude.com/docs/en/build-with-claude/effort-per-message. Messages in a row are one.
    """
    before = ""
    for index, message in enumerate(messages):
        role = message["role"]
        if role == "system" and not blocks(message):
            continue
        if role == "system" and before not in ("user", "system"):
            raise refuse("system_misplaced", i=index)
        if role == "user" and before == "system":
            raise refuse("system_misplaced", i=index - 1)
        before = role


def _is_issued(block: Body, call: CallInProgress) -> bool:
    """Kinds of blocks that this run itself has answered with are known, whatever they are.

    A compaction and a change of tools are known where the request carries the beta header.
    """
    is_compaction = block.get("type") == KIND
    if is_compaction and has_beta(call, *COMPACTION_BETAS):
        return True
    if block.get("type") in CHANGES:
        return has_beta(call, *CHANGES_BETAS)
    return f"kind {block.get('type')}" in call.memory.items


def _check_tools(call: CallInProgress) -> None:
    tools = call.body.get("tools") or []
    names = [str(tool.get("name", "")) for tool in tools]
    for index, name in enumerate(names):
        if not _NAME.fullmatch(name):
            raise refuse("tool_name_pattern", i=index)
    if len(set(names)) < len(names):
        raise refuse("tool_name_twice")
    _check_deferred(call, tools)
    choice = call.body.get("tool_choice") or {}
    if choice.get("type") not in ("any", "tool"):
        return
    if "unforced" in call.model.traits:
        raise refuse("tool_choice_forced")
    thinking = call.body.get("thinking") or {}
    if thinking.get("type") in ("enabled", "adaptive"):
        raise refuse("tool_choice_thinking")


def _check_deferred(call: CallInProgress, tools: list[Body]) -> None:
    """At least one tool is loaded, and each that a block names is declared."""
    is_all = all(tool.get("defer_loading") for tool in tools)
    if tools and is_all and not has_beta(call, *CHANGES_BETAS):
        raise refuse("tools_all_deferred")
    if call.body.get("mcp_servers"):
        return  # whose tools only the servers know
    declared = {tool.get("name") for tool in tools}
    for message in call.body["messages"]:
        for block in blocks(message):
            declared.add(definition_in(block).get("name"))
            for name in named_tools(block):
                if name not in declared:
                    raise refuse("tool_reference_unknown", name=name)


def _check_cache_marks(call: CallInProgress) -> None:
    places: list[Any] = list(call.body.get("tools") or [])
    system = call.body.get("system")
    if isinstance(system, list):
        places += system
    for message in call.body["messages"]:
        places += blocks(message)
    found = 0
    for place in places:
        if isinstance(place, dict) and "cache_control" in place:
            found += 1
    if found > 4:
        raise refuse("cache_marks", found=found)
    found += "cache_control" in call.body
    if found > 4 and call.body.get("thread") is not None:
        raise refuse("thread_cache_marks", found=found)


CLEAR_AT_BETA = "mid-conversation-system-clear-at-2026-08-21"
MOST_IMAGES = 100
MOST_IMAGES_WIDE = 600
"""Images and documents of one request: 100 where the window has 200,000 tokens, 600 where it has more
(https://platform.claude.com/docs/en/build-with-claude/vision)."""

_WIDE = 200_000


MANY_IMAGES = 20
MANY_IMAGES_PX = 2_000
"""Above so many images none may have a longer side; the same page."""


def check_media(call: CallInProgress) -> None:
    """As many images and documents as the model takes, those in results among them; none large where they are many."""
    images: dict[str, Body] = {}
    documents = 0
    for path, block in _media(call.body["messages"]):
        if block["type"] == "image":
            images[path] = block
        else:
            documents += 1
    most = MOST_IMAGES_WIDE if call.model.window > _WIDE else MOST_IMAGES
    most = call.memory.scenario.max_images or most
    if len(images) + documents > most:
        raise refuse(
            "too_many_images", images=len(images), documents=documents, most=most
        )
    if len(images) <= MANY_IMAGES:
        return
    for path, image in images.items():
        if max(sides(image)) > MANY_IMAGES_PX:
            raise refuse("image_too_large_among_many", path=path, most=MANY_IMAGES_PX)


def _media(messages: list[Body]) -> Iterator[tuple[str, Body]]:
    """Images and documents with their paths."""
    for index, message in enumerate(messages):
        for at, block in enumerate(blocks(message)):
            path = f"messages.{index}.content.{at}"
            yield from _medium(path, block)
            if block.get("type") == "tool_result":
                for inner_at, inner in enumerate(blocks(block)):
                    yield from _medium(f"{path}.tool_result.content.{inner_at}", inner)


def _medium(path: str, block: Body) -> Iterator[tuple[str, Body]]:
    if block.get("type") in ("image", "document"):
        yield path, block


def check_pairs(messages: list[Body]) -> None:
    """Every call has one result, at the beginning of the next message, and every result its call.

    That text comes after results: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    seen: set[str] = set()
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        _check_results(index, message, open_ids)
        open_ids = []
        for at, block in enumerate(blocks(message)):
            if block.get("type") != "tool_use":
                continue
            identity = str(block.get("id", ""))
            if not _ID.fullmatch(identity):
                raise refuse("call_id_pattern", i=index, j=at, field="tool_use.id")
            if identity in seen:
                raise refuse("call_id_twice", i=index, j=at)
            if not isinstance(block.get("input"), dict):
                raise refuse("arguments_no_object", i=index, j=at)
            seen.add(identity)
            open_ids.append(identity)
    if open_ids:
        raise refuse("call_without_result", i=len(messages) - 1, ids=", ".join(open_ids))


def _check_results(index: int, message: Body, open_ids: list[str]) -> None:
    answered: list[str] = []
    late: list[str] = []
    before_results = True
    for at, block in enumerate(blocks(message)):
        if block.get("type") != "tool_result":
            before_results = False
            continue
        identity = str(block.get("tool_use_id", ""))
        if not _ID.fullmatch(identity):
            raise refuse(
                "call_id_pattern", i=index, j=at, field="tool_result.tool_use_id"
            )
        if identity not in open_ids:
            raise refuse("result_without_call", i=index, j=at, id=identity)
        if identity in answered:
            raise refuse("result_twice", i=index, j=at, id=identity)
        answered.append(identity)
        if not before_results:
            late.append(identity)
    missing: list[str] = []
    for identity in open_ids:
        if identity not in answered or identity in late:
            missing.append(identity)
    if missing:
        raise refuse("call_without_result", i=index - 1, ids=", ".join(missing))


def check_end(call: CallInProgress) -> None:
    """What may stand last: the user, or on older models the beginning of the answer.

    A compaction may, too: the SDK's tool runner sends it so (anthropic 2.14, ``lib/tools/_beta_runner.py``).
    """
    last = call.body["messages"][-1]
    if last.get("role") != "assistant" or is_asked(call.body):
        return
    if [block.get("type") for block in blocks(last)] == [KIND]:
        return
    if "prefill" not in call.model.traits:
        raise refuse("prefill")
    for block in blocks(last)[-1:]:
        text = block.get("text", "")
        if block.get("type") == "text" and text != text.rstrip():
            raise refuse("prefill_blank")
