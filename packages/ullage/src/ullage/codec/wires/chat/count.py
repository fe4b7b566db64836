"""Calls by which servers of one's own count a Chat request. OpenAI's Chat Completions has none.

llama.cpp: ``/v1/chat/completions/input_tokens``, which takes the request itself
(https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md). vLLM: ``/tokenize`` beside the version,
which takes messages and tools (https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/tokenize/protocol.py).
A llama.cpp that is too old for the first writes a request as a text (``/apply-template``), whose tokens its own
``/tokenize`` lists. That one answers messages with an empty list, which is no count.
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


def encode_template(request: Request, encoded: Encoded) -> Encoded:
    """llama.cpp's call that writes an encoded request as the text that the model reads."""
    body = encode_input_tokens(request, encoded).body
    return encoded._replace(path="/apply-template", body=body)


def encode_text(text: str, encoded: Encoded) -> Encoded:
    """llama.cpp's call that lists the tokens of such a text, with those that begin every request.

    The server's own counts of whole requests were equal (Qwen2 and Llama 3 vocabularies, with and without tools:
    n=216).
    """
    body = {"content": text, "add_special": True, "parse_special": True}
    return encoded._replace(path="/tokenize", body=body)


def encode_tokenize(request: Request, encoded: Encoded) -> Encoded:
    """vLLM's call for an encoded request, with the beginning of the answer as the template adds it.

    Up to 0.16 an image is counted as the text that stands for it (https://github.com/vllm-project/vllm/pull/35834).
    """
    body = {name: encoded.body[name] for name in _TOKENIZED if name in encoded.body}
    return encoded._replace(
        path="/tokenize", body={**body, "add_generation_prompt": True}
    )
