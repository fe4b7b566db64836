"""What the Messages API refuses, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from ullage_simulators.refusal import OWN, Rule
from ullage_simulators.refusal import refuse as refuse_by

_CLAUDE_CODE: Final = "https://github.com/anthropics/claude-code/issues/"
_DOCS: Final = "https://platform.claude.com/docs/en/"
_EMPTY: Final = "https://github.com/experientiallabs/experiential/pull/804"
"""A table of what the live API answered to each shape of empty content."""

_COMPACTION: Final = f"{_DOCS}build-with-claude/compaction-on-demand"
"""What is refused and the codes; the page gives few of the words."""

_THREADS: Final = f"{_DOCS}build-with-claude/message-threads"
"""What is refused and the codes; the words are those of the SDK's descriptions."""

_SYSTEM_MESSAGES: Final = f"{_DOCS}build-with-claude/mid-conversation-system-messages"
"""Which models take them, and where they may stand; the words only for messages of one turn."""

RULES: Final[Mapping[str, Rule]] = {
    "bad_json": Rule(
        "The request body is not valid JSON: {detail}", f"{_CLAUDE_CODE}60394"
    ),
    "body_too_large": Rule(
        "Request exceeds the maximum size",
        "https://github.com/anthropics/anthropic-sdk-python/issues/938",
        413,
        "request_too_large",
    ),
    "key_missing": Rule(
        "x-api-key header is required", f"{_DOCS}api/errors", 401, "authentication_error"
    ),
    "key_wrong": Rule(
        "invalid x-api-key", f"{_DOCS}api/errors", 401, "authentication_error"
    ),
    "version_missing": Rule(
        "anthropic-version: header is required", f"{_DOCS}api/versioning"
    ),
    "model_unknown": Rule("model: {model}", f"{_DOCS}api/errors", 404, "not_found_error"),
    "field_required": Rule("{path}: Field required", f"{_DOCS}api/messages"),
    "output_none": Rule(
        "max_tokens: Input should be greater than or equal to 1", f"{_DOCS}api/messages"
    ),
    "field_unknown": Rule(
        "{path}: Extra inputs are not permitted",
        f"{_CLAUDE_CODE}4378",
        is_assumed=True,  # newer clients know newer fields
    ),
    "malformed": Rule("messages: a field has a value of the wrong type", OWN),
    "not_a_list": Rule("{path}: Input should be a valid list", f"{_DOCS}api/messages"),
    "no_messages": Rule(
        "messages: at least one message is required", f"{_DOCS}api/messages"
    ),
    "role_unknown": Rule(
        "messages.{i}.role: Input should be 'user' or 'assistant'", f"{_DOCS}api/messages"
    ),
    "role_system": Rule(
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
        "as an input message role.",
        _SYSTEM_MESSAGES,
    ),
    "system_misplaced": Rule(
        "messages.{i}: a `system` message must follow a user message, and precede an assistant message or be the last",
        _SYSTEM_MESSAGES,
    ),
    "block_unknown": Rule(
        "messages.{i}.content.{j}: Input tag '{tag}' found using 'type' does not match any of the expected tags: "
        "'document', 'image', 'redacted_thinking', 'search_result', 'text', 'thinking', 'tool_result', 'tool_use'",
        f"{_DOCS}api/messages",
        is_assumed=True,  # newer clients know newer blocks
    ),
    "text_empty": Rule("{where}: text content blocks must be non-empty", _EMPTY),
    "text_blank": Rule(
        "{where}: text content blocks must contain non-whitespace text", _EMPTY
    ),
    "content_empty": Rule(
        "messages.{i}: user messages must have non-empty content", _EMPTY
    ),
    "call_without_result": Rule(
        "messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        f"{_CLAUDE_CODE}5989",
    ),
    "result_without_call": Rule(
        "messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
        f"{_CLAUDE_CODE}13460",
    ),
    "result_twice": Rule(
        "messages.{i}.content.{j}: each tool_use must have a single result. Found multiple `tool_result` blocks with "
        "id: {id}",
        "https://github.com/vectorize-io/hindsight/pull/4250",
    ),
    "call_id_twice": Rule(
        "messages.{i}.content.{j}: `tool_use` ids must be unique", f"{_CLAUDE_CODE}20901"
    ),
    "call_id_pattern": Rule(
        "messages.{i}.content.{j}.{field}: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "https://github.com/maximhq/bifrost/issues/5097",
    ),
    "arguments_no_object": Rule(
        "messages.{i}.content.{j}.tool_use.input: Input should be a valid dictionary",
        f"{_CLAUDE_CODE}6696",
    ),
    "tool_name_pattern": Rule(
        "tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        "https://github.com/BerriAI/litellm/pull/26788",
    ),
    "tool_name_twice": Rule(
        "tools: Tool names must be unique.",
        "https://github.com/microsoft/vscode/issues/278073",
    ),
    "tools_all_deferred": Rule(
        "All tools have defer_loading set. At least one tool must be non-deferred.",
        f"{_DOCS}agents-and-tools/tool-use/tool-search-tool",
    ),
    "tool_reference_unknown": Rule(
        "Tool reference '{name}' has no corresponding tool definition",
        f"{_DOCS}agents-and-tools/tool-use/tool-search-tool",
    ),
    "clear_at_without_beta": Rule(
        "messages.{i}.clear_at: Extra inputs are not permitted", _SYSTEM_MESSAGES
    ),
    "clear_at_role": Rule(
        "messages.{i}.clear_at: clear_at is only permitted on role 'system' messages",
        _SYSTEM_MESSAGES,
    ),
    "clear_at_text": Rule(
        "messages.{i}: a turn-scoped system message supports text blocks only (clear_at: 'next_user_message')",
        _SYSTEM_MESSAGES,
    ),
    "prefill": Rule(
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "https://github.com/smallmain/vscode-unify-chat-provider/issues/249",
    ),
    "prefill_blank": Rule(
        "messages: final assistant content cannot end with trailing whitespace",
        f"{_DOCS}build-with-claude/prompt-engineering/prefill-claudes-response",
    ),
    "signature_missing": Rule(
        "messages.{i}.content.{j}.thinking.signature: Field required",
        f"{_DOCS}build-with-claude/extended-thinking",
    ),
    "signature_invalid": Rule(
        "messages.{i}.content.{j}: Invalid `signature` in `thinking` block",
        f"{_CLAUDE_CODE}10627",
    ),
    "redacted_invalid": Rule(
        "messages.{i}.content.{j}: Invalid `data` in `redacted_thinking` block",
        f"{_CLAUDE_CODE}56708",
    ),
    "thinking_edited": Rule(
        "messages.{i}.content.{j}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
        "be modified. These blocks must remain as they were in the original response.",
        f"{_CLAUDE_CODE}63404",
    ),
    "thinking_last": Rule(
        "messages.{i}: The final block in an assistant message cannot be `thinking`.",
        "https://github.com/tailcallhq/forgecode/issues/2107",
    ),
    "thinking_not_first": Rule(
        "messages.{i}.content.0: If an assistant message contains any thinking blocks, the first block must be "
        "`thinking` or `redacted_thinking`. Found `{found}`.",
        "https://github.com/lbjlaq/Antigravity-Manager/issues/690",
    ),
    "thinking_left_out": Rule(
        "messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
        "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
        "previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        "https://github.com/lbjlaq/Antigravity-Manager/issues/139",
    ),
    "prefix_changed": Rule(
        "messages.{i}.content.{j}: Invalid `signature` in `{kind}` block. The block is bound to a different "
        'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        "{more}",
        f"{_DOCS}build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation",
    ),
    "binding_without_beta": Rule(
        "thinking.{type}.block_binding: Extra inputs are not permitted",
        "https://github.com/Wei-Shaw/sub2api/pull/6677",
    ),
    "tool_choice_forced": Rule(
        'tool_choice: type "tool" and "any" are not supported for this model',
        "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5176",
    ),
    "tool_choice_thinking": Rule(
        "Thinking may not be enabled when tool_choice forces tool use.",
        f"{_DOCS}build-with-claude/extended-thinking",
    ),
    "thinking_type": Rule(
        '"thinking.type.{type}" is not supported for this model. Use "thinking.type.{instead}" and '
        '"output_config.effort" to control thinking behavior.',
        "https://github.com/NousResearch/hermes-agent/issues/11137",
    ),
    "thinking_budget_small": Rule(
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        f"{_DOCS}build-with-claude/extended-thinking",
    ),
    "thinking_budget_large": Rule(
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        f"{_DOCS}build-with-claude/extended-thinking",
    ),
    "compaction_without_beta": Rule(
        "compaction: this parameter requires anthropic-beta: compact-2026-09-04",
        _COMPACTION,
    ),
    "compaction_unsupported": Rule(
        "compaction: {model} does not support this parameter", OWN
    ),
    "compaction_type": Rule(
        "compaction: Input tag '{tag}' found using 'type' does not match any of the expected tags: 'summarize'",
        _COMPACTION,
    ),
    "compaction_instructions": Rule(
        "compaction.summarize.instructions: String should have at most {most} characters",
        _COMPACTION,
    ),
    "compaction_with": Rule(
        "{field}: can't be combined with `compaction`. Remove it from the request.",
        _COMPACTION,
    ),
    "compaction_nothing_to_summarize": Rule(
        "messages: there is nothing to summarize",
        _COMPACTION,
        code="compaction_nothing_to_summarize",
    ),
    "compaction_twice": Rule(
        "messages: at most one `compaction` block may be sent. Send the newest.",
        _COMPACTION,
    ),
    "compaction_block_misplaced": Rule(
        "messages: the `compaction` block must come first. Remove the messages in front of it.",
        _COMPACTION,
        code="compaction_block_misplaced",
    ),
    "compaction_signature_invalid": Rule(
        "messages.0.content.0: Invalid `signature` in `compaction` block",
        _COMPACTION,
        code="compaction_signature_invalid",
    ),
    "compaction_content_mismatch": Rule(
        "messages.0.content.0: the `content` of the `compaction` block is not what was returned",
        _COMPACTION,
        code="compaction_content_mismatch",
    ),
    "thread_without_beta": Rule(
        "thread: this parameter requires anthropic-beta: message-threads-2026-08-12",
        _THREADS,
    ),
    "thread_type": Rule(
        "thread: Input tag '{tag}' found using 'type' does not match any of the expected tags: 'create', 'continue'",
        _THREADS,
    ),
    "thread_not_found": Rule(
        'thread: no usable thread state was found for `previous_message_id` "{id}". Send the full conversation with '
        '`thread: {{"type": "create"}}` to start a new thread.',
        _THREADS,
        404,
        "not_found_error",
        "thread_not_found",
    ),
    "thread_already_continued": Rule(
        'thread: the response "{id}" has already been continued, and each response can be continued only once. '
        "Continue from the thread's most recent response.",
        _THREADS,
        code="thread_already_continued",
    ),
    "thread_fingerprint_mismatch": Rule(
        "thread: differing field(s): {fields}. Send the values that the thread was created with, or the full "
        'conversation with `thread: {{"type": "create"}}`.',
        _THREADS,
        code="thread_fingerprint_mismatch",
    ),
    "thread_repeats": Rule(
        "thread: leave out {fields}. The thread keeps the values of the request that created it.",
        _THREADS,
        is_assumed=True,  # refused by a comment of the SDK; Claude Code was seen to send them
    ),
    "thread_cache_marks": Rule(
        "thread: a maximum of 4 blocks with cache_control may be provided when thread is set, the one for "
        "cache_control of the request included. Found {found}.",
        _THREADS,
        code="thread_unsupported_request",
        param="cache_control",
    ),
    "cache_marks": Rule(
        "A maximum of 4 blocks with cache_control may be provided. Found {found}.",
        f"{_DOCS}build-with-claude/prompt-caching",
    ),
    "output_cap": Rule(
        "max_tokens: {asked} > {cap}, which is the maximum allowed number of output tokens for {model}",
        "https://github.com/anthropics/claude-code/issues/11302",
    ),
    "too_many_images": Rule(
        "too many images and documents: {images} + {documents} > {most}",
        f"{_CLAUDE_CODE}23392",
    ),
    "image_too_large_among_many": Rule(
        "{path}.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image "
        "requests: {most} pixels",
        f"{_CLAUDE_CODE}52220",
    ),
    "prompt_too_long": Rule(
        "prompt is too long: {count} tokens > {window} maximum", f"{_CLAUDE_CODE}12186"
    ),
}

refuse: Final = partial(refuse_by, RULES)
"""The refusal by one of these rules."""
