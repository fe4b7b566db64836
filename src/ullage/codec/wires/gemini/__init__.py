"""Gemini generateContent."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires.gemini import decode, encode, read, rules

WIRE: Final = Wire(
    name="generateContent",
    field="contents",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.GeminiWriter,
    decoder=decode.GeminiDecoder,
    reader=read,
    count=encode.encode_count,
    model_prefix="models/",
)
