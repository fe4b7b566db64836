"""What generateContent refuses, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from ullage_simulators.refusal import OWN, QUOTED, Rule
from ullage_simulators.refusal import refuse as refuse_by

_CLI: Final = "https://github.com/google-gemini/gemini-cli/issues/"
_INVALID: Final = "INVALID_ARGUMENT"

RULES: Final[Mapping[str, Rule]] = {
    "bad_json": Rule(
        "Invalid JSON payload received. {detail}",
        "https://ai.google.dev/gemini-api/docs/troubleshooting",
        kind=_INVALID,
    ),
    "body_too_large": Rule(
        "Request payload size exceeds the limit: {limit} bytes.",
        "https://github.com/google-gemini/deprecated-generative-ai-android/issues/26",
        kind=_INVALID,
    ),
    "key_missing": Rule(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
        "other form of API consumer identity to call this API.",
        "https://ai.google.dev/gemini-api/docs/troubleshooting",
        403,
        "PERMISSION_DENIED",
    ),
    "key_wrong": Rule(
        "API key not valid. Please pass a valid API key.",
        "https://github.com/continuedev/continue/issues/8516",
        kind=_INVALID,
        code="API_KEY_INVALID",
    ),
    "model_unknown": Rule(
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        "https://github.com/google/adk-python/issues/200",
        404,
        "NOT_FOUND",
    ),
    "field_unknown": Rule(
        "Invalid JSON payload received. Unknown name \"{name}\" at '{where}': Cannot find field.",
        "https://github.com/anthonyhaussman/opencode-agy-auth/pull/56",
        kind=_INVALID,
        is_assumed=True,  # newer clients know newer fields
    ),
    "no_contents": Rule(
        "* GenerateContentRequest.contents: contents is not specified\n",
        "https://github.com/vercel/ai/issues/3775",
        kind=_INVALID,
    ),
    "role_unknown": Rule(
        "Please use a valid role: user, model.",
        "https://github.com/router-for-me/CLIProxyAPI/issues/17",
        kind=_INVALID,
    ),
    "parts_empty": Rule(
        "* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.\n",
        "https://github.com/egoist/chatwise-releases/issues/250",
        kind=_INVALID,
    ),
    "part_empty": Rule(
        "* GenerateContentRequest.contents[{i}].parts[{j}].data: required oneof field 'data' must have one initialized "
        "field\n",
        "https://github.com/54xzh/FLIT/pull/70",
        kind=_INVALID,
    ),
    "tool_name_pattern": Rule(
        "* GenerateContentRequest.tools[{i}].function_declarations[{j}].name: Invalid function name. Must start "
        "with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), "
        "or dashes (-), with a maximum length of 64.\n",
        "https://github.com/cline/cline/issues/7339",
        kind=_INVALID,
    ),
    "no_struct": Rule(
        "Invalid value at '{where}' (type.googleapis.com/google.protobuf.Struct), {value}",
        QUOTED,
        kind=_INVALID,
    ),
    "result_count": Rule(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn.",
        f"{_CLI}16415",
        kind=_INVALID,
    ),
    "result_without_call": Rule(
        "Please ensure that function response turn comes immediately after a function call turn.",
        "https://github.com/langchain-ai/langchain/issues/27799",
        kind=_INVALID,
    ),
    "call_misplaced": Rule(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        f"{_CLI}11814",
        kind=_INVALID,
    ),
    "signature_missing": Rule(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        "call `default_api:{name}` , position {position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        "https://github.com/manthanabc/paws/issues/103",
        kind=_INVALID,
    ),
    "signature_corrupt": Rule(
        "Corrupted thought signature.", f"{_CLI}13467", kind=_INVALID
    ),
    "signature_moved": Rule(
        "Invalid thought signature.",
        "https://github.com/lbjlaq/Antigravity-Manager/pull/3337",
        kind=_INVALID,
        is_assumed=True,  # seen where thoughts were altered, not arguments
    ),
    "malformed": Rule("Request contains an invalid argument.", OWN, kind=_INVALID),
    "cache_unknown": Rule(
        "CachedContent not found (or permission denied)",
        QUOTED,
        403,
        "PERMISSION_DENIED",
    ),
    "cache_holds": Rule(
        "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config."
        "\n\nProposed fix: move those values to CachedContent from GenerateContent request.",
        QUOTED,
        kind=_INVALID,
    ),
    "cache_model": Rule(
        "Model used by GenerateContent request ({asked}) and CachedContent ({kept}) has to be the same.",
        QUOTED,
        kind=_INVALID,
    ),
    "cache_too_small": Rule(
        "Cached content is too small. total_token_count={count}, min_total_token_count={least}",
        QUOTED,
        kind=_INVALID,
    ),
    "too_many_tokens": Rule(
        "The input token count ({count}) exceeds the maximum number of tokens allowed ({window}).",
        f"{_CLI}6678",
        kind=_INVALID,
    ),
}

refuse: Final = partial(refuse_by, RULES)
"""The refusal by one of these rules."""
