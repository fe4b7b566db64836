"""Anthropic Messages."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires.anthropic import decode, encode, read, rules

WIRE: Final = Wire(
    name="messages",
    field="messages",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.AnthropicWriter,
    decoder=decode.AnthropicDecoder,
    reader=read,
    count=encode.encode_count,
    settle=encode.settle,
)
