"""What generateContent accepts: the parameters it may be given, and what a request has to keep."""

from __future__ import annotations

import re
from typing import Final

from ullage.codec.rules import LENIENT_IDS, Legal, Target, WireParams, fields
from ullage.reasoning import family_of

PARAMS: Final = WireParams(
    owned=frozenset({"model", "contents", "systemInstruction", "tools"}),
    open={
        "generationConfig": {
            **fields(
                "temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed"
            ),
            **fields(
                "presencePenalty",
                "frequencyPenalty",
                "responseMimeType",
                "responseSchema",
            ),
            **fields(
                "responseJsonSchema", "responseLogprobs", "logprobs", "mediaResolution"
            ),
            "thinkingConfig": fields(
                "thinkingBudget", "thinkingLevel", "includeThoughts"
            ),
        },
        "toolConfig": {"functionCallingConfig": fields("mode", "allowedFunctionNames")},
    },
    source="https://ai.google.dev/api/generate-content",
)

GEMINI_NAMES: Final = Legal(re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*"), 64)
"""https://ai.google.dev/api/caching#FunctionDeclaration."""

SIGNED: Final = re.compile(r"gemini-([3-9]|\d\d|(flash|pro)(-lite)?-latest)")
"""Gemini 3 and later: https://ai.google.dev/gemini-api/docs/thought-signatures."""


def target(wire: str, provider: str, model: str, thinking: str) -> Target:
    """The rules for a request to this model. ``thinking`` is the mode that the request's parameters ask for."""
    family = family_of(model)
    return Target(
        wire=wire,
        provider=provider,
        model=model,
        family=family,
        call_ids=LENIENT_IDS,
        tool_names=GEMINI_NAMES,
        empty_ids=True,
        user_first=True,
        user_last=True,
        alternates=True,
        reasoning_last=True,
        signed_calls=SIGNED.search(model) is not None,
        signed_text=True,
    )
