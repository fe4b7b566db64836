"""The fields that the simulators know are those of the providers' own SDKs: a newer SDK names what they lack."""

import typing
from typing import Any

import pytest
from google.genai import types
from openai.types.chat import completion_create_params as chat
from openai.types.responses import (
    response_compact_params,
    response_create_params,
    response_input_item_param,
)

from ullage_simulators.chat.checks import FIELDS as CHAT_FIELDS
from ullage_simulators.gemini.checks import _CALL, _CONTENT, _PART, _RESPONSE
from ullage_simulators.responses.checks import COMPACT_FIELDS, FIELDS, TYPES


def fields(*kinds: Any) -> set[str]:
    names: set[str] = set()
    for kind in kinds:
        names |= set(typing.get_type_hints(kind))
    return names


def test_the_parameters_of_responses_are_the_sdks_and_what_codex_sends() -> None:
    sdk = fields(
        response_create_params.ResponseCreateParamsNonStreaming,
        response_create_params.ResponseCreateParamsStreaming,
    )
    assert sdk | {"client_metadata"} == FIELDS


def test_the_parameters_of_a_compaction_are_the_sdks_and_what_codex_sends() -> None:
    sdk = fields(response_compact_params.ResponseCompactParams)
    codex = {"tools", "parallel_tool_calls", "reasoning", "text"}
    assert sdk | codex == COMPACT_FIELDS


def test_the_items_of_responses_are_the_sdks() -> None:
    names: set[str] = set()
    for item in typing.get_args(response_input_item_param.ResponseInputItemParam):
        kind = typing.get_type_hints(item)["type"]
        literals = [each for each in typing.get_args(kind) if each is not type(None)]
        for literal in literals:
            names |= set(typing.get_args(literal)) or {literal}
    assert names == set(TYPES)


def test_the_parameters_of_chat_hold_all_of_the_sdks() -> None:
    sdk = fields(
        chat.CompletionCreateParamsNonStreaming, chat.CompletionCreateParamsStreaming
    )
    assert sdk - CHAT_FIELDS == set()


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        (types.Content, _CONTENT),
        (types.Part, _PART),
        (types.FunctionCall, _CALL),
        (types.FunctionResponse, _RESPONSE),
    ],
)
def test_the_fields_of_contents_are_the_sdks(kind: Any, known: frozenset[str]) -> None:
    sdk = {field.alias or name for name, field in kind.model_fields.items()}
    assert sdk == known
