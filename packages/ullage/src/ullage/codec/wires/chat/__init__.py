"""OpenAI-compatible Chat Completions."""

from __future__ import annotations

from typing import Final

from ullage.codec.blocks import JSON_HEADERS
from ullage.codec.wire import CountEndpoint, Wire
from ullage.codec.wires.chat import count, decode, encode, read, reports, rules

WIRE: Final = Wire(
    name="chat",
    field="messages",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.ChatWriter,
    headers=JSON_HEADERS,
    decoder=decode.ChatDecoder,
    reader=read,
    has_system_items=True,
    dialects=reports.DIALECTS,
    overflows=reports.WORDINGS,
    counts=(
        CountEndpoint("input_tokens", count.encode_input_tokens),
        CountEndpoint(
            "tokenize", count.encode_tokenize, "count", at_root=True, text_only=True
        ),
        CountEndpoint(
            "apply-template",
            count.encode_template,
            "prompt",
            at_root=True,
            text_only=True,
            tokenize=count.encode_text,
        ),
    ),
)
