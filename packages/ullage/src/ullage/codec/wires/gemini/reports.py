"""How servers of generateContent report usage, and how they say that a request is too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ullage.codec.rules import Dialect, Wording, wordings

# promptTokenCount "is still the total effective prompt size" with cached content; thoughts and tool-use prompt stand
# beside it, and the total is the sum of all four. Tool-use tokens (results of Google's own tools) are billed with the
# call and are not in the prompt of the next one (n=5 recorded pairs).
GEMINI = Dialect(
    name="gemini",
    source="https://ai.google.dev/api/generate-content#UsageMetadata",
    input=("promptTokenCount", "prompt_token_count"),
    output=("candidatesTokenCount", "candidates_token_count", "responseTokenCount"),
    total=("totalTokenCount", "total_token_count"),
    cache_read=("cachedContentTokenCount", "cached_content_token_count"),
    reasoning=("thoughtsTokenCount", "thoughts_token_count"),
    passing_input=("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
    thinking="outside",
    omits_zero=True,
    n=368,
)

VERTEX = replace(
    GEMINI,
    name="vertex",
    source="https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse",
    n=156,
)

DIALECTS: Final = (GEMINI, VERTEX)
"""The first is the one of a server of which nothing else is known."""

WORDINGS: Final[tuple[Wording, ...]] = (
    *wordings(
        {
            r"input token count \({count}\) exceeds the maximum number of tokens"
            r" allowed \({limit}\)": "google-gemini/gemini-cli/issues/4231",
            r"input token count exceeds the maximum number of tokens allowed(?:"
            r" {limit})?": "warpdotdev/warp/issues/15662",
            r"input token count is {count} but (?:the )?model only supports up to"
            r" {limit}": "google-gemini/gemini-cli/issues/19727",
        },
        input_alone=True,
    ),
    *wordings(
        {
            r"payload size exceeds the limit: {most} bytes": "google-gemini/deprecated-generative-ai-android/issues/26",
        },
        in_bytes=True,
    ),
)
