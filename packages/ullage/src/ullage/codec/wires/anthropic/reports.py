"""How servers of Messages report usage, and how they say that a request is too long."""

from __future__ import annotations

from typing import Final

from ullage.codec.rules import Dialect, Wording, wordings

MANY_IMAGES: Final = 20
"""The most images of which one may be large, for Claude: https://platform.claude.com/docs/en/build-with-claude/vision."""

# "Total input tokens in a request is the summation of input_tokens, cache_creation_input_tokens, and
# cache_read_input_tokens"; output_tokens "remains the inclusive, authoritative total", thinking_tokens breaks it down.
ANTHROPIC = Dialect(
    name="anthropic",
    source="https://platform.claude.com/docs/en/api/messages",
    input=("input_tokens",),
    output=("output_tokens",),
    cache_read=("cache_read_input_tokens",),
    cache_write=("cache_creation_input_tokens",),
    reasoning=("output_tokens_details.thinking_tokens",),
    cache="outside",
    cache_write_parts="cache_creation",
    passes="iterations",
    begins_with_placeholder=True,
    n=767,
)

DIALECTS: Final = (ANTHROPIC,)
"""The first is the one of a server of which nothing else is known."""

WORDINGS: Final[tuple[Wording, ...]] = (
    *wordings(
        {
            r"request_too_large|request exceeds the maximum size": "anthropics/anthropic-sdk-python/issues/938",
        },
        in_bytes=True,
    ),
    *wordings(
        {
            r"too many images and documents: \d+ \+ \d+ > {most}": "anthropics/claude-code/issues/23392",
            r"too much media: \d+ document pages \+ \d+ images > {most}": "anthropics/claude-code/issues/3397",
        },
        in_images=True,
    ),
    *wordings(
        {
            r"image dimensions exceeds? max allowed size for many-images?"
            r" requests": "anthropics/claude-code/issues/52220",
        },
        in_images=True,
        most=MANY_IMAGES,
    ),
    *wordings(
        {
            r"prompt is too long: {count} tokens? > {limit}": "boldsoftware/exe.dev/issues/62",
            r"input length and `?max_tokens`? exceed context"
            r" limit:\s+{count}\s*\+\s*{output}\s*>\s*{limit}": "docker/docker-agent/issues/569",
            r"request size exceeds model context window": "anthropics/claude-code/issues/6380",
        },
    ),
)
