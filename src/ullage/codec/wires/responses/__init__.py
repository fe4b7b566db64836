"""OpenAI Responses."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires.responses import decode, encode, read, rules

WIRE: Final = Wire(
    name="responses",
    field="input",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.ResponsesWriter,
    decoder=decode.ResponsesDecoder,
    reader=read,
    count=encode.encode_count,
)
