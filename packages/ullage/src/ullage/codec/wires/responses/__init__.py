"""OpenAI Responses."""

from __future__ import annotations

from typing import Final

from ullage.codec.blocks import JSON_HEADERS
from ullage.codec.wire import CountEndpoint, ServerCompaction, Wire
from ullage.codec.wires.responses import decode, encode, read, reports, rules

WIRE: Final = Wire(
    name="responses",
    maker="openai",
    field="input",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.ResponsesWriter,
    headers=JSON_HEADERS,
    decoder=decode.ResponsesDecoder,
    reader=read,
    has_system_items=True,
    role_of=read.role_of,
    dialects=reports.DIALECTS,
    overflows=reports.WORDINGS,
    counts=(CountEndpoint("input_tokens", encode.encode_count),),
    compaction=ServerCompaction(request=encode.encode_compaction),
    held_path="/responses/",
)
