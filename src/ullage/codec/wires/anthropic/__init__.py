"""Anthropic Messages."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires.anthropic import decode, encode, read

WIRE: Final = Wire(
    name="messages",
    field="messages",
    head=encode.encode_head,
    writer=encode.Writer,
    decoder=decode.AnthropicDecoder,
    reader=read,
    count=encode.encode_count,
    settle=encode.settle,
)
