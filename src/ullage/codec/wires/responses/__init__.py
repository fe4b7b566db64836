"""OpenAI Responses."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires.responses import decode, encode, read

WIRE: Final = Wire(
    name="responses",
    field="input",
    head=encode.encode_head,
    writer=encode.Writer,
    decoder=decode.ResponsesDecoder,
    reader=read,
    count=encode.encode_count,
)
