"""What generateContent refuses, in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from ullage_simulators.refusal import OWN, QUOTED, Rule
from ullage_simulators.refusal import refuse as refuse_by

_CLI: Final = "https://github.com/google-gemini/gemini-cli/issues/"
_invalid: Final = partial(Rule, kind="INVALID_ARGUMENT")

RULES: Final[Mapping[str, Rule]] = {
    "bad_json": _invalid(
        "Invalid JSON payload received. {detail}",
        "https://ai.google.dev/gemini-api/docs/troubleshooting",
    ),
    "body_too_large": _invalid(
        "Request payload size exceeds the limit: {limit} bytes.",
        "https://github.com/google-gemini/deprecated-generative-ai-android/issues/26",
    ),
    "key_missing": Rule(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
        "other form of API consumer identity to call this API.",
        "https://ai.google.dev/gemini-api/docs/troubleshooting",
        403,
        "PERMISSION_DENIED",
    ),
    "key_wrong": _invalid(
        "API key not valid. Please pass a valid API key.",
        "https://github.com/continuedev/continue/issues/8516",
        code="API_KEY_INVALID",
    ),
    "model_unknown": Rule(
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        "https://github.com/google/adk-python/issues/200",
        404,
        "NOT_FOUND",
    ),
    "field_unknown": _invalid(
        "Invalid JSON payload received. Unknown name \"{name}\" at '{where}': Cannot find field.",
        "https://github.com/anthonyhaussman/opencode-agy-auth/pull/56",
        is_assumed=True,  # newer clients know newer fields
    ),
    "no_contents": _invalid(
        "* GenerateContentRequest.contents: contents is not specified\n",
        "https://github.com/vercel/ai/issues/3775",
    ),
    "role_unknown": _invalid(
        "Please use a valid role: user, model.",
        "https://github.com/router-for-me/CLIProxyAPI/issues/17",
    ),
    "parts_empty": _invalid(
        "* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.\n",
        "https://github.com/egoist/chatwise-releases/issues/250",
    ),
    "part_empty": _invalid(
        "* GenerateContentRequest.contents[{i}].parts[{j}].data: required oneof field 'data' must have one initialized "
        "field\n",
        "https://github.com/54xzh/FLIT/pull/70",
    ),
    "tool_name_pattern": _invalid(
        "* GenerateContentRequest.tools[{i}].function_declarations[{j}].name: Invalid function name. Must start "
        "with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), "
        "or dashes (-), with a maximum length of 64.\n",
        "https://github.com/cline/cline/issues/7339",
    ),
    "no_struct": _invalid(
        "Invalid value at '{where}' (type.googleapis.com/google.protobuf.Struct), {value}",
        QUOTED,
    ),
    "result_count": _invalid(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn.",
        f"{_CLI}16415",
    ),
    "result_without_call": _invalid(
        "Please ensure that function response turn comes immediately after a function call turn.",
        "https://github.com/langchain-ai/langchain/issues/27799",
    ),
    "call_misplaced": _invalid(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        f"{_CLI}11814",
    ),
    "signature_missing": _invalid(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        "call `default_api:{name}` , position {position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        "https://github.com/manthanabc/paws/issues/103",
    ),
    "signature_corrupt": _invalid(
        "Corrupted thought signature.",
        f"{_CLI}13467",
    ),
    "signature_moved": _invalid(
        "Invalid thought signature.",
        "https://github.com/lbjlaq/Antigravity-Manager/pull/3337",
        is_assumed=True,  # seen where thoughts were altered, not arguments
    ),
    "malformed": _invalid("Request contains an invalid argument.", OWN),
    "cache_unknown": Rule(
        "CachedContent not found (or permission denied)",
        QUOTED,
        403,
        "PERMISSION_DENIED",
    ),
    "cache_holds": _invalid(
        "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config."
        "\n\nProposed fix: move those values to CachedContent from GenerateContent request.",
        QUOTED,
    ),
    "cache_model": _invalid(
        "Model used by GenerateContent request ({asked}) and CachedContent ({kept}) has to be the same.",
        QUOTED,
    ),
    "cache_too_small": _invalid(
        "Cached content is too small. total_token_count={count}, min_total_token_count={least}",
        QUOTED,
    ),
    "too_many_tokens": _invalid(
        "The input token count ({count}) exceeds the maximum number of tokens allowed ({window}).",
        f"{_CLI}6678",
    ),
}

refuse: Final = partial(refuse_by, RULES)
"""The refusal by one of these rules."""
