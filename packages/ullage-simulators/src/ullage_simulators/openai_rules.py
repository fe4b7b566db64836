"""What OpenAI's two wires refuse in the same words, and the shape of their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ullage_simulators.body import Body
from ullage_simulators.models import Model
from ullage_simulators.refusal import OWN, QUOTED, Refused, Rule
from ullage_simulators.wire import Trouble

_ERRORS: Final = "https://developers.openai.com/api/docs/guides/error-codes"
_NEXTCHAT: Final = "https://github.com/ChatGPTNextWeb/NextChat/issues/4064"

MAX_BODY_BYTES: Final = 512_000_000
"""https://developers.openai.com/api/docs/guides/images-vision: up to 512 MB total payload size per request."""

SHARED: Final[Mapping[str, Rule]] = {
    "bad_json": Rule(
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
        "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you "
        "have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
        _NEXTCHAT,
    ),
    "body_too_large": Rule(
        "Request body is too large: the maximum is {limit} bytes.",
        OWN,
        413,
        code="request_too_large",
    ),
    "key_missing": Rule(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
        "auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're "
        "accessing the API from your browser and are prompted for a username and password. You can obtain an API "
        "key from https://platform.openai.com/account/api-keys.",
        _ERRORS,
        401,
    ),
    "key_wrong": Rule(
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys.",
        "https://github.com/continuedev/continue/issues/10398",
        401,
        code="invalid_api_key",
    ),
    "param_missing": Rule(
        "Missing required parameter: '{path}'.",
        _ERRORS,
        code="missing_required_parameter",
        param="{path}",
    ),
    "param_unknown": Rule(
        "Unknown parameter: '{path}'.",
        _ERRORS,
        code="unknown_parameter",
        param="{path}",
        is_assumed=True,  # newer clients know newer parameters
    ),
    "param_unsupported": Rule(
        "Unsupported parameter: '{path}' is not supported with this model.",
        "https://github.com/appatalks/eva-agent/issues/83",
        code="unsupported_parameter",
        param="{path}",
    ),
    "name_pattern": Rule(
        "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        "https://github.com/refly-ai/refly/issues/1794",
        code="invalid_value",
        param="{path}",
    ),
    "too_long": Rule(
        "Invalid '{path}': string too long. Expected a string with maximum length {limit}, but got a string with "
        "length {size} instead.",
        "https://github.com/AnswerDotAI/fastllm/issues/45",
        code="string_above_max_length",
        param="{path}",
    ),
    "malformed": Rule(
        "Invalid type: a parameter has a value of the wrong type.",
        OWN,
        code="invalid_type",
    ),
    "too_small": Rule(
        "Invalid '{path}': integer below minimum value. Expected a value >= {least}, but got {asked} instead.",
        "https://github.com/vectorize-io/hindsight/issues/58",
        code="integer_below_min_value",
        param="{path}",
    ),
    "array_empty": Rule(
        "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        QUOTED,
        code="empty_array",
        param="{path}",
    ),
    "value_unknown": Rule(
        "Invalid value: '{value}'. Supported values are: {known}.",
        _ERRORS,
        code="invalid_value",
        param="{path}",
        is_assumed=True,  # newer clients know newer values
    ),
}


def error(refused: Refused) -> Body:
    """OpenAI's error object."""
    return {
        "error": {
            "message": refused.text,
            "type": refused.kind,
            "param": refused.param,
            "code": refused.code,
        },
    }


TROUBLES: Final[Mapping[int, Trouble]] = {
    429: Trouble(
        "Rate limit reached for requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.",
        "requests",
        "rate_limit_exceeded",
    ),
    500: Trouble(
        "The server had an error while processing your request. Sorry about that!",
        "server_error",
    ),
    503: Trouble(
        "That model is currently overloaded with other requests. You can retry your request.",
        "server_error",
    ),
}
"""https://developers.openai.com/api/docs/guides/error-codes"""


def models(listed: Sequence[Model], name: str, owner: str) -> Body:
    """The list of models, or one of them."""
    found = [
        {"id": model.name, "object": "model", "created": 1_735_689_600, "owned_by": owner}
        for model in listed
    ]
    return found[0] if name else {"object": "list", "data": found}
