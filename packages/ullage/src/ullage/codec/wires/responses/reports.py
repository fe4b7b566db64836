"""How servers of Responses report usage, and how they say that a request is too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ullage.codec.rules import Dialect, Wording, wordings

# https://platform.openai.com/docs/api-reference/responses/object ; reasoning of o-series and gpt-5 is floored to a
# multiple of 64, which this table can't see: the hidden part is then output minus what is visible.
OPENAI_RESPONSES = Dialect(
    name="openai-responses",
    source="https://platform.openai.com/docs/api-reference/responses/object",
    input=("input_tokens",),
    output=("output_tokens",),
    total=("total_tokens",),
    cache_read=("input_tokens_details.cached_tokens",),
    cache_write=("input_tokens_details.cache_write_tokens",),
    reasoning=("output_tokens_details.reasoning_tokens",),
    thinking="detect",
    n=340,
)

# On the Responses wire xAI counts reasoning inside output_tokens (17 of 17 recorded totals).
XAI_RESPONSES = replace(
    OPENAI_RESPONSES,
    name="xai-responses",
    source="https://docs.x.ai/developers/advanced-api-usage/prompt-caching/usage-and-pricing",
    n=17,
)

DIALECTS: Final = (OPENAI_RESPONSES, XAI_RESPONSES)
"""The first is the one of a server of which nothing else is known."""

WORDINGS: Final[tuple[Wording, ...]] = (
    *wordings(
        {
            r"exceeds the context window of this model": "dyad-sh/dyad/issues/1672",
        },
    ),
)
