"""Which fields of a request body ``params`` may set, wire by wire.

Two lists per wire. *Owned* fields are written by the encoder from the session itself, and nobody can replace them:
the conversation, the tools, the model, what the provider stores. *Open* fields shape the answer and nothing else, so
that a project, a caller or a session may set them. Everything between is the operator's: it may attach servers, keep
data on the provider's side, or cost extra.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

FieldTree = Mapping[str, "FieldTree | None"]
"""Names of fields; behind each the fields that an object there may have, ``None`` for a value of any shape."""


class WireParams(NamedTuple):
    """The two lists of one wire. ``source`` documents its fields."""

    owned: frozenset[str]
    open: FieldTree
    source: str


def _of(*names: str) -> dict[str, FieldTree | None]:
    return dict.fromkeys(names)


_TOOL_CHOICE: Final = _of("type", "name", "disable_parallel_tool_use")

WIRES: Final[Mapping[str, WireParams]] = {
    "messages": WireParams(
        owned=frozenset({"model", "messages", "system", "tools", "stream"}),
        open={
            **_of("max_tokens", "temperature", "top_p", "top_k", "stop_sequences"),
            "thinking": _of("type", "budget_tokens", "display"),
            "output_config": _of("effort", "format"),
            "tool_choice": _TOOL_CHOICE,
        },
        source="https://platform.claude.com/docs/en/api/messages",
    ),
    "responses": WireParams(
        owned=frozenset(
            {"model", "input", "instructions", "tools", "stream", "store", "previous_response_id", "conversation"}
        ),
        open={
            **_of("max_output_tokens", "max_tool_calls", "parallel_tool_calls", "temperature", "top_p"),
            **_of("top_logprobs", "truncation"),
            "reasoning": _of("effort", "summary", "generate_summary"),
            "text": _of("format", "verbosity"),
            "tool_choice": _of("type", "name"),
        },
        source="https://platform.openai.com/docs/api-reference/responses/create",
    ),
    "chat": WireParams(
        owned=frozenset({"model", "messages", "tools", "functions", "stream", "store"}),
        open={
            **_of("max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "stop"),
            **_of("frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "logprobs"),
            **_of("top_logprobs", "response_format", "reasoning_effort", "verbosity", "parallel_tool_calls"),
            "reasoning": _of("effort", "max_tokens", "exclude", "enabled"),
            "thinking": _of("type", "budget_tokens"),
            "chat_template_kwargs": _of("enable_thinking", "thinking"),
            "tool_choice": {**_of("type"), "function": _of("name")},
        },
        source="https://platform.openai.com/docs/api-reference/chat/create",
    ),
    "generateContent": WireParams(
        owned=frozenset({"model", "contents", "systemInstruction", "tools"}),
        open={
            "generationConfig": {
                **_of("temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed"),
                **_of("presencePenalty", "frequencyPenalty", "responseMimeType", "responseSchema"),
                **_of("responseJsonSchema", "responseLogprobs", "logprobs", "mediaResolution"),
                "thinkingConfig": _of("thinkingBudget", "thinkingLevel", "includeThoughts"),
            },
            "toolConfig": {"functionCallingConfig": _of("mode", "allowedFunctionNames")},
        },
        source="https://ai.google.dev/api/generate-content",
    ),
}

UNKNOWN: Final = ""
"""The wire of a model that is not known yet: fields are open that are open on any wire."""


class Split(NamedTuple):
    """Params in two: the open ones, and the names of the others (``thinking.x`` for a field inside another)."""

    open: dict[str, object]
    beyond: tuple[str, ...]


def split(params: Mapping[str, object], wire: str) -> Split:
    """The open fields of ``params`` on a wire, and the names of those that are the operator's or the encoder's."""
    beyond: list[str] = []
    kept = _open(params, _open_fields(wire), "", beyond)
    return Split(kept, tuple(beyond))


def _open_fields(wire: str) -> FieldTree:
    if wire in WIRES:
        return WIRES[wire].open
    return {name: None for one in WIRES.values() for name in one.open}


def _open(params: Mapping[str, object], fields: FieldTree, place: str, beyond: list[str]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in params.items():
        if name not in fields:
            beyond.append(place + name)
            continue
        inner = fields[name]
        if inner is not None and isinstance(value, Mapping):
            kept[name] = _open(value, inner, f"{place}{name}.", beyond)
        else:
            kept[name] = value
    return kept


def owned_in(params: Mapping[str, object], wire: str) -> tuple[str, ...]:
    """The names in ``params`` of fields that the encoder of this wire writes itself.

    Some servers read names without regard to case or underscores, so neither makes another field of one.
    """
    owned = _OWNED.get(wire, frozenset())
    return tuple(name for name in params if _folded(name) in owned)


def unowned(params: Mapping[str, object], wire: str) -> Mapping[str, object]:
    """``params`` without the encoder's own fields; the same mapping where there are none."""
    owned = owned_in(params, wire)
    return {name: value for name, value in params.items() if name not in owned} if owned else params


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


_OWNED: Final = {wire: frozenset(map(_folded, one.owned)) for wire, one in WIRES.items()}
