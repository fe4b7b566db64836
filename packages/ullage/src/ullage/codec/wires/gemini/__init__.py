"""Gemini generateContent."""

from __future__ import annotations

from typing import Final

from ullage.codec.blocks import JSON_HEADERS
from ullage.codec.wire import CountEndpoint, Wire
from ullage.codec.wires.gemini import decode, encode, read, reports, rules

WIRE: Final = Wire(
    name="generateContent",
    maker="google",
    field="contents",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.GeminiWriter,
    headers=JSON_HEADERS,
    decoder=decode.GeminiDecoder,
    reader=read,
    dialects=reports.DIALECTS,
    overflows=reports.WORDINGS,
    version="v1beta",
    adds_version=True,
    models_path="/models?pageSize=1000",
    counts=(CountEndpoint("countTokens", encode.encode_count, "totalTokens"),),
    model_prefix="models/",
)
