"""What the Responses API refuses, in its own words.

``param_unsupported``: a model that can reason takes a temperature where the request turns reasoning off
(https://github.com/vercel/ai/issues/10932).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from ullage_simulators.openai_rules import SHARED
from ullage_simulators.refusal import OWN, QUOTED, Rule
from ullage_simulators.refusal import refuse as refuse_by

_DOCS: Final = "https://developers.openai.com/api/docs/"

RULES: Final[Mapping[str, Rule]] = {
    **SHARED,
    "model_unknown": Rule(
        "The requested model '{model}' does not exist.",
        f"{_DOCS}guides/error-codes",
        code="model_not_found",
        param="model",
    ),
    "call_without_result": Rule(
        "No tool output found for {call} {id}.",
        "https://github.com/diegosouzapw/OmniRoute/issues/8946",
        param="input",
    ),
    "result_without_call": Rule(
        "No tool call found for {output} with call_id {id}.",
        "https://github.com/microsoft/vscode/issues/320060",
        param="input",
    ),
    "reasoning_alone": Rule(
        "Item '{id}' of type 'reasoning' was provided without its required following item.",
        "https://github.com/continuedev/continue/issues/8933",
        param="input",
    ),
    "reasoning_left_out": Rule(
        "Item '{id}' of type '{type}' was provided without its required 'reasoning' item: '{reasoning}'.",
        "https://github.com/cline/cline/issues/12242",
        param="input",
    ),
    "reasoning_altered": Rule(
        "The encrypted content {start}...{end} could not be verified. Reason: Encrypted content could not be "
        "decrypted or parsed.",
        "https://github.com/Wei-Shaw/sub2api/issues/2863",
        code="invalid_encrypted_content",
    ),
    "compaction_altered": Rule(
        "The encrypted content of the compaction item could not be verified.",
        OWN,
        code="invalid_encrypted_content",
    ),
    "trigger_misplaced": Rule(
        "Invalid '{path}': an item of type 'compaction_trigger' must be the final input item.",
        OWN,
        code="invalid_value",
        param="{path}",
    ),
    "item_not_kept": Rule(
        "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input.",
        "https://github.com/continuedev/continue/issues/9101",
        404,
        param="input",
    ),
    "item_unknown": Rule(
        "Item with id '{id}' not found.",
        "https://github.com/openai/openai-agents-python/issues/2020",
        404,
        param="input",
    ),
    "item_twice": Rule(
        "Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
        "https://github.com/OpenRouterTeam/ai-sdk-provider/issues/254",
        param="input",
    ),
    "id_prefix": Rule(
        "Invalid '{path}': '{id}'. Expected an ID that begins with '{prefix}'.",
        "https://github.com/jlcodes99/cockpit-tools/issues/2090",
        code="invalid_value",
        param="{path}",
    ),
    "response_unknown": Rule(
        "Previous response with id '{id}' not found.",
        "https://github.com/maximhq/bifrost/issues/2441",
        code="previous_response_not_found",
        param="previous_response_id",
    ),
    "effort_none": Rule(
        "Unsupported value: 'none' is not supported with the '{model}' model. Supported values are: 'low', 'medium', "
        "'high', 'xhigh', and 'max'.",
        f"{_DOCS}models/gpt-6.2-sol",
        code="unsupported_value",
        param="reasoning.effort",
    ),
    "two_parents": Rule(
        "Mutually exclusive parameters. Ensure you are only providing one of: 'previous_response_id' or "
        "'conversation'.",
        QUOTED,
        code="mutually_exclusive_parameters",
    ),
    "background_stateless": Rule(
        "Background mode requires store=true.", f"{_DOCS}guides/background", param="store"
    ),
    "not_background": Rule(
        "This response cannot be streamed because it was not created with background=true.",
        "https://github.com/openai/openai-python/issues/2579",
        code="invalid_request_error",
        param="stream",
    ),
    "not_streamed": Rule(
        "This response cannot be streamed because it was not created with stream=true.",
        f"{_DOCS}guides/background",
        code="invalid_request_error",
        param="stream",
    ),
    "not_cancellable": Rule("Cannot cancel a synchronous response.", QUOTED),
    "response_gone": Rule("Response with id '{id}' not found.", QUOTED, 404),
    "conversation_unknown": Rule("Conversation with id '{id}' not found.", QUOTED, 404),
    "array_too_long": Rule(
        "Invalid '{path}': array too long. Expected an array with maximum length {limit}, but got an array with "
        "length {size} instead.",
        QUOTED,
        code="array_above_max_length",
        param="{path}",
    ),
    "too_many_tokens": Rule(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "https://github.com/anomalyco/opencode/issues/6071",
        code="context_length_exceeded",
        param="input",
    ),
}

refuse: Final = partial(refuse_by, RULES)
"""The refusal by one of these rules."""
