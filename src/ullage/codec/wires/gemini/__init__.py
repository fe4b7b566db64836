"""Gemini generateContent."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import Wire
from ullage.codec.wires.gemini import decode, encode, read

WIRE: Final = Wire(
    name="generateContent",
    field="contents",
    head=encode.encode_head,
    writer=encode.Writer,
    decoder=decode.GeminiDecoder,
    reader=read,
    count=encode.encode_count,
    model_prefix="models/",
)
