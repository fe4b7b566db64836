"""What Chat Completions refuses: OpenAI in its own words, and where others have other words or other rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ullage_simulators.openai_rules import SHARED
from ullage_simulators.refusal import QUOTED, Rule

_ERRORS: Final = "https://developers.openai.com/api/docs/guides/error-codes"
_PI: Final = (
    "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts"
)
_MISTRAL: Final = "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py"

RULES: Final[Mapping[str, Rule]] = {
    **SHARED,
    "bad_json": Rule(
        "Invalid body: failed to parse JSON value. Please check the value to ensure it is valid JSON. (Common "
        "errors include trailing commas, missing closing brackets, missing quotation marks, etc.)",
        QUOTED,
    ),
    "model_unknown": Rule(
        "The model `{model}` does not exist or you do not have access to it.",
        _ERRORS,
        404,
        code="model_not_found",
    ),
    "call_without_result": Rule(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        "https://github.com/sdcb/chats/pull/132",
        param="messages.[{i}].role",
    ),
    "result_without_call": Rule(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "https://github.com/sdcb/chats/pull/132",
        param="messages.[{i}].role",
    ),
    "content_null": Rule(
        "Invalid value for 'content': expected a string, got null.",
        "https://docs.n8n.io/integrations/builtin/cluster-nodes/root-nodes/n8n-nodes-langchain.agent/common-issues/",
        param="messages.[{i}].content",
    ),
    "use_completion_tokens": Rule(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "https://github.com/griptape-ai/ComfyUI-Griptape/issues/312",
        code="unsupported_parameter",
        param="max_tokens",
    ),
    "output_cap": Rule(
        "max_tokens is too large: {asked}. This model supports at most {cap} completion tokens, whereas you provided "
        "{asked}.",
        "https://github.com/ChatGPTNextWeb/NextChat/issues/3195",
        param="max_tokens",
    ),
    "options_without_stream": Rule(
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "https://github.com/BerriAI/litellm/issues/5803",
        param="stream_options",
    ),
    "too_many_tokens": Rule(
        "This model's maximum context length is {window} tokens. However, your messages resulted in {count} tokens. "
        "Please reduce the length of the messages.",
        "https://github.com/webtimemachine/wtm2/issues/579",
        code="context_length_exceeded",
        param="messages",
    ),
}
"""OpenAI's own."""

DEEPSEEK: Final[Mapping[str, Rule]] = {
    "schema_refused": Rule(
        "This response_format type is unavailable now",
        "https://github.com/UKGovernmentBEIS/inspect_ai/issues/4916",
    ),
    "bad_json": Rule(
        "Failed to parse the request body as JSON: {detail}",
        "https://api-docs.deepseek.com/quick_start/error_codes",
    ),
    "key_wrong": Rule(
        "Authentication Fails, Your api key: {key} is invalid",
        "https://api-docs.deepseek.com/quick_start/error_codes",
        401,
        "authentication_error",
        "invalid_request_error",
    ),
    "model_unknown": Rule(
        "Model Not Exist",
        "https://api-docs.deepseek.com/quick_start/error_codes",
        code="invalid_request_error",
    ),
    "reasoning_left_out": Rule(
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "https://github.com/mnfst/modelparams.dev/issues/29",
        code="invalid_request_error",
    ),
    "call_without_result": Rule(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "(insufficient tool messages following tool_calls message)",
        "https://github.com/langgenius/dify/issues/32222",
        code="invalid_request_error",
    ),
    "result_without_call": Rule(
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "https://github.com/qwersyk/Newelle/issues/425",
        code="invalid_request_error",
    ),
    "too_many_tokens": Rule(
        "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({count} in the "
        "messages, {asked} in the completion). Please reduce the length of the messages or completion.",
        "https://github.com/evalstate/fast-agent/issues/621",
        code="invalid_request_error",
    ),
}

MOONSHOT: Final[Mapping[str, Rule]] = {
    "reasoning_left_out": Rule(
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index {i}",
        "https://github.com/iOfficeAI/AionUi/issues/2746",
    ),
    "content_blank": Rule(
        "text content is empty", "https://github.com/dirge-code/dirge/pull/757"
    ),
}

MISTRAL: Final[Mapping[str, Rule]] = {
    "call_id_pattern": Rule(
        "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
        _MISTRAL,
        kind="invalid_function_call",
        code="3280",
    ),
    "call_without_result": Rule(
        "Not the same number of function calls and responses",
        "https://github.com/mistralai/client-ts/issues/106",
        kind="invalid_request_message_order",
        code="3230",
    ),
    "result_without_call": Rule(
        "Unexpected role 'tool' after role '{before}'",
        "https://github.com/charmbracelet/crush/issues/279",
        kind="invalid_request_message_order",
        code="3230",
    ),
    "user_after_tool": Rule(
        "Unexpected role 'user' after role 'tool'",
        "https://github.com/datapizza-labs/datapizza-ai/issues/98",
        kind="invalid_request_message_order",
        code="3230",
    ),
    "too_many_tokens": Rule(
        "Prompt contains {count} tokens and 0 draft tokens, too large for model with {window} maximum context length",
        _PI,
        code="3051",
    ),
}

XAI: Final[Mapping[str, Rule]] = {
    "too_many_tokens": Rule(
        "This model's maximum prompt length is {window} but the request contains {count} tokens.",
        _PI,
    ),
}

OPENROUTER: Final[Mapping[str, Rule]] = {
    "reasoning_altered": Rule(
        "messages.{i}.content.0: Invalid `signature` in `thinking` block",
        "https://github.com/ding113/claude-code-hub/issues/518",
    ),
    "too_many_tokens": Rule(
        "This endpoint's maximum context length is {window} tokens. However, you requested about {total} tokens "
        "({count} of text input, {asked} in the output). Please reduce the length of either one, or use the "
        '"middle-out" transform to compress your prompt automatically.',
        "https://github.com/refly-ai/refly/issues/1177",
    ),
}

LLAMACPP: Final[Mapping[str, Rule]] = {
    "arguments_invalid": Rule(
        "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column "
        "{column}: syntax error while parsing value",
        "https://github.com/ggml-org/llama.cpp/issues/25510",
        500,
        "server_error",
    ),
    "too_many_tokens": Rule(
        "the request exceeds the available context size, try increasing it",
        _PI,
        400,
        "exceed_context_size_error",
    ),
}

VLLM: Final[Mapping[str, Rule]] = {
    "too_many_images": Rule(
        "At most {most} image(s) may be provided in one request.",
        "https://github.com/vllm-project/vllm/issues/17092",
        400,
        "BadRequestError",
        "400",
    ),
    "arguments_invalid": Rule(
        "{detail}",
        "https://github.com/vllm-project/vllm/issues/43995",
        400,
        "BadRequestError",
        "400",
    ),
    "too_many_tokens": Rule(
        "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({count} in the "
        "messages, {asked} in the completion). Please reduce the length of the messages or completion.",
        _PI,
        400,
        "BadRequestError",
        "400",
    ),
}

AZURE: Final[Mapping[str, Rule]] = {
    "options_refused": Rule(
        "Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to be 'error'. "
        "Set extra-parameters to 'pass-through' to pass to the model.",
        "https://github.com/CherryHQ/cherry-studio/issues/9214",
    ),
}
