"""Anthropic Messages."""

from __future__ import annotations

from typing import Final

from ullage.codec.wire import CountEndpoint, ServerCompaction, Wire
from ullage.codec.wires.anthropic import decode, encode, read, reports, rules

WIRE: Final = Wire(
    name="messages",
    maker="anthropic",
    field="messages",
    params=rules.PARAMS,
    target=rules.target,
    head=encode.encode_head,
    writer=encode.AnthropicWriter,
    headers=encode.HEADERS,
    decoder=decode.AnthropicDecoder,
    reader=read,
    dialects=reports.DIALECTS,
    overflows=reports.WORDINGS,
    default_output=encode.MAX_OUTPUT,
    adds_version=True,
    models_path="/models?limit=1000",
    counts=(CountEndpoint("count_tokens", encode.encode_count),),
    compaction=ServerCompaction(
        request=encode.encode_compaction, takes_instructions=True, leads=True
    ),
    settle=encode.settle,
)
