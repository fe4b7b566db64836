"""Calls by which servers of one's own count a Chat request. OpenAI's Chat Completions has none.

llama.cpp: ``/v1/chat/completions/input_tokens``, which takes the request itself
(https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md). vLLM: ``/tokenize`` beside the version,
which takes messages and tools (https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/tokenize/protocol.py).
"""

from __future__ import annotations

from typing import Final

from ullage.codec.blocks import Encoded
from ullage.messages import Request

_UNCOUNTED: Final = frozenset(
    {"stream", "stream_options", "max_tokens", "max_completion_tokens"}
)
"""Fields that shape the answer alone."""

_TOKENIZED: Final = ("model", "messages", "tools", "chat_template_kwargs")
"""Fields of a request that vLLM's chat template sees."""


def encode_input_tokens(request: Request, encoded: Encoded) -> Encoded:
    """llama.cpp's call for an encoded request."""
    body = {name: value for name, value in encoded.body.items() if name not in _UNCOUNTED}
    return encoded._replace(path="/chat/completions/input_tokens", body=body)


def encode_tokenize(request: Request, encoded: Encoded) -> Encoded:
    """vLLM's call for an encoded request, with the beginning of the answer as the template adds it."""
    body = {name: encoded.body[name] for name in _TOKENIZED if name in encoded.body}
    return encoded._replace(
        path="/tokenize", body={**body, "add_generation_prompt": True}
    )
