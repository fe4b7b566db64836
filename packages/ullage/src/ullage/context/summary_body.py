"""The request for a summary as the body of a wire, for a function of the caller that sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ullage.codec.blocks import Options
from ullage.codec.foreign import as_plain
from ullage.codec.held import PREFIXES
from ullage.codec.history import encode
from ullage.codec.repair import repair
from ullage.codec.wires import default_output, wire_named
from ullage.messages import Request
from ullage.reasoning import ReasoningPolicy

HEAD: Final = frozenset(
    {
        "system",
        "tools",
        "functions",
        "instructions",
        "systemInstruction",
        "system_instruction",
    }
)
"""Fields of a body in front of its items: the caller's own stay, so that the provider's cache holds."""

FOR_ANSWERS: Final[Mapping[str, frozenset[str]]] = {
    "chat": frozenset(
        {
            "tool_choice",
            "function_call",
            "parallel_tool_calls",
            "response_format",
            "stop",
            "n",
            "logprobs",
            "top_logprobs",
            "prediction",
            "modalities",
            "audio",
            "stream_options",
            "max_tokens",
            "max_completion_tokens",
            "frequency_penalty",
            "presence_penalty",
            "logit_bias",
            "verbosity",
        }
    ),
    "messages": frozenset(
        {"tool_choice", "stop_sequences", "output_format", "output_config", "max_tokens"}
    ),
    "responses": frozenset(
        {
            "tool_choice",
            "parallel_tool_calls",
            "text",
            "background",
            "context_management",
            "prompt",
            "truncation",
            "max_output_tokens",
            "max_tool_calls",
            "top_logprobs",
            "stream_options",
        }
    ),
    "generateContent": frozenset({"toolConfig", "tool_config"}),
}
"""Parameters that shape the caller's answers, and not a summary: a tool that has to be called, a format, an end."""

FOR_ANSWERS_OF_GEMINI: Final = frozenset(
    {
        "responseSchema",
        "responseJsonSchema",
        "responseFormat",
        "responseMimeType",
        "responseModalities",
        "responseLogprobs",
        "logprobs",
        "candidateCount",
        "stopSequences",
        "maxOutputTokens",
        "frequencyPenalty",
        "presencePenalty",
        "speechConfig",
    }
)
"""The same inside ``generationConfig``, whose names the API takes with underscores as well."""


CHAT_LIMITS: Final = ("max_completion_tokens", "max_tokens")
"""Each is refused by some servers: a caller who names one knows which."""

MARK: Final = "cache_control"
"""The field of a block from whose end on Messages keeps a cache."""

SHORT_LONGEST: Final = 4_096
"""The longest answer of Claude 3 Haiku, in tokens. Assumed to be the lowest of all models on this wire: Anthropic's
overview no longer lists Claude 3, and its later models have higher limits
(https://platform.claude.com/docs/en/about-claude/models/overview)."""


def summary_request(request: Request) -> Request:
    """The request without streaming and without parameters that shape the caller's answers alone."""
    left_out = FOR_ANSWERS.get(request.wire, frozenset())
    params = _without(request.params, left_out)
    for name in ("generationConfig", "generation_config"):
        config = params.pop(name, None)
        if isinstance(config, dict):
            params["generationConfig"] = _without(config, FOR_ANSWERS_OF_GEMINI)
    return replace(request, params=params, stream=False)


def output_beside_thinking(
    request: Request, held: Request, most: int | None, known: int | None
) -> int | None:
    """The limit on the output of a summary's request, with the tokens added that its parameters give to thinking.

    Messages counts both (https://platform.claude.com/docs/en/build-with-claude/extended-thinking: ``budget_tokens`` is
    less than ``max_tokens``), and so does Gemini. The setting of thinking itself stays: another one misses the cache.
    Where the model's longest answer is not ``known``, Messages gets no more than the caller asks for in ``held``, or
    ``SHORT_LONGEST``.
    """
    if most is None:
        return None
    wanted = most + _thinking_budget(request.params)
    if known is not None:
        return min(wanted, known)
    own = held.params.get("max_tokens")
    if default_output(held.wire) is None or not isinstance(own, int):
        return wanted
    return min(wanted, max(own, SHORT_LONGEST))


def _thinking_budget(params: Mapping[str, Any]) -> int:
    config = params.get("generationConfig") or params.get("generation_config")
    for held in (params, config):
        if not isinstance(held, Mapping):
            continue
        for name in ("thinking", "thinkingConfig", "thinking_config"):
            thinking = held.get(name)
            if isinstance(thinking, Mapping):
                return _budget_in(thinking)
    return 0


def _budget_in(thinking: Mapping[str, Any]) -> int:
    for name in ("budget_tokens", "thinkingBudget", "thinking_budget"):
        budget = thinking.get(name)
        if isinstance(budget, int) and budget > 0:
            return budget
    return 0


def summary_body(
    request: Request,
    *,
    max_output: int | None,
    policy: ReasoningPolicy,
    held: Request | None = None,
    body: Mapping[str, Any] | None = None,
    items: Sequence[Any] = (),
) -> dict[str, Any]:
    """The body of a request for a summary; with ``body`` and ``items`` in the caller's own fields and items.

    ``held`` is the conversation's own request: the limit on the output has its name there, if both go to one provider.
    """
    bare = summary_request(request)
    if held is not None and max_output is not None:
        bare = replace(bare, params={**bare.params, **_limits(bare, held)})
    repaired = repair(bare, policy=policy).request
    # What takes a beta would be refused: the function that sends the body sends the caller's headers.
    options = Options(max_output=max_output, cache=None, drops_unbound=False)
    encoded = encode(repaired, options=options)
    made: dict[str, Any] = msgspec.json.decode(encoded.content)
    if encoded.body.get("model") is None:
        made["model"] = request.model
    if body is None:
        # Behind a prefix that the provider holds, a prompt of its own is refused (https://ai.google.dev/api/caching).
        return _without(made, PREFIXES)
    own = {name: value for name, value in body.items() if name in HEAD}
    for name in HEAD:
        made.pop(name, None)
    field = wire_named(request.wire).field
    mark = _newest_mark(body.get(field))
    sent = list(items) if mark is None else _marked(items, mark)
    return {**made, **own, field: sent}


def _limits(request: Request, held: Request) -> dict[str, Any]:
    """The fields in which the caller limits answers on Chat, which has two names for it."""
    if (request.wire, request.provider) != (held.wire, held.provider):
        return {}
    return {name: held.params[name] for name in CHAT_LIMITS if name in held.params}


def _newest_mark(items: object) -> Any:
    """The last cache mark in the caller's items; ``None`` without one."""
    if not isinstance(items, list | tuple):
        return None
    for item in reversed(items):
        plain = as_plain(item)
        content = plain.get("content") if isinstance(plain, dict) else None
        for block in reversed(content if isinstance(content, list) else []):
            mark = block.get(MARK) if isinstance(block, dict) else None
            if mark is not None:
                return mark
    return None


def _marked(items: Sequence[Any], mark: Any) -> list[Any]:
    """The items with this mark on the last one, which is the request for a summary.

    The caller's own mark is on the newest item, which a summary may leave out. Without any the provider reads nothing
    from its cache; with one it looks for the caller's earlier ones, 20 blocks back
    (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
    """
    *others, last = items
    content = last.get("content") if isinstance(last, dict) else None
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content or _newest_mark(others) is not None:
        return list(items)
    blocks = [*content[:-1], {**content[-1], MARK: mark}]
    return [*others, {**last, "content": blocks}]


def _without(params: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    left: dict[str, Any] = {}
    for name, value in params.items():
        if name not in names and _camel(name) not in names:
            left[name] = value
    return left


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
