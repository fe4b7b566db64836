"""Compaction on demand: a request with the parameter ``compaction``, and the signed block that later requests carry.

Source: https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand, and anthropic 2.11
(``types/beta/beta_compaction_block.py``, ``beta_compaction_config_param.py``).
"""

from __future__ import annotations

from ullage_simulators.answer import Spoken
from ullage_simulators.anthropic.betas import has_beta
from ullage_simulators.anthropic.rules import refuse
from ullage_simulators.body import Body
from ullage_simulators.prompt import ScriptContext
from ullage_simulators.seal import digest, seal, unseal
from ullage_simulators.wire import CallInProgress

WIRE = "anthropic"
BETA = "compact-2026-09-04"
KIND = "compaction"
THRESHOLD_BETA = "compact-2026-01-12"
"""The server's own compaction, whose blocks have no signature."""
LONGEST_INSTRUCTIONS = 16_384
FIELDS = frozenset({"type", "content", "signature", "cache_control", "tool_changes"})
"""Fields of a block that is sent back; the API returns the first three, and takes a marker."""
PROMPT = "Summarize this conversation."
"""Stands for the server's own prompt, whose words are not known: what a script is asked for a summary with."""


def is_asked(body: Body) -> bool:
    """Whether the request asks for a compaction instead of an answer."""
    return body.get(KIND) is not None


def check_compaction(call: CallInProgress) -> None:
    """The parameter, and the blocks among the messages."""
    if is_asked(call.body):
        _check_parameter(call)
    _check_blocks(call)


def _check_parameter(call: CallInProgress) -> None:
    body, asked = call.body, call.body[KIND]
    if not has_beta(call, BETA):
        raise refuse("compaction_without_beta")
    if "manual-thinking" in call.model.traits:
        call.refuse_or_warn(refuse("compaction_unsupported", model=call.model.name))
    if asked.get("type") != "summarize":
        raise refuse("compaction_type", tag=asked.get("type"))
    if len(asked.get("instructions") or "") > LONGEST_INSTRUCTIONS:
        raise refuse("compaction_instructions", most=LONGEST_INSTRUCTIONS)
    choice = (body.get("tool_choice") or {}).get("type")
    output = body.get("output_config") or {}
    for name, is_there in (
        ("context_management", body.get("context_management") is not None),
        ("stop_sequences", bool(body.get("stop_sequences"))),
        ("output_config.format", output.get("format") is not None),
        ("tool_choice", choice in ("any", "tool")),
    ):
        if is_there:
            raise refuse("compaction_with", field=name)


def _check_blocks(call: CallInProgress) -> None:
    places: list[tuple[int, int, Body]] = []
    for index, message in enumerate(call.body["messages"]):
        content = message.get("content")
        for at, block in enumerate(content if isinstance(content, list) else []):
            if block.get("type") == KIND and "signature" in block:
                places.append((index, at, block))
    if not places or not has_beta(call, BETA):
        return  # without the header the block is of an unknown kind
    if len(places) > 1:
        raise refuse("compaction_twice")
    index, at, block = places[0]
    for name in block:
        if name not in FIELDS:
            path = f"messages.{index}.content.{at}.compaction.{name}"
            raise refuse("field_unknown", path=path)
    if (index, at) != (0, 0):
        raise refuse("compaction_block_misplaced")
    carried = unseal(WIRE, block.get("signature"))
    if carried is None or KIND not in carried:
        raise refuse("compaction_signature_invalid")
    if carried[KIND] != digest(block.get("content")):
        raise refuse("compaction_content_mismatch")


def newest(messages: list[Body]) -> int:
    """Where the newest block of the server's own compaction is: no message in front of that is read.

    https://platform.claude.com/docs/en/build-with-claude/compaction-threshold. A block without a text is a failure.
    """
    for index in reversed(range(len(messages))):
        content = messages[index].get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == KIND and block.get("content"):
                return index
    return 0


def context(call_body: Body, asked: ScriptContext) -> ScriptContext:
    """What a script is asked: the instructions of the request, or the server's prompt."""
    instructions = call_body[KIND].get("instructions") or ""
    text = instructions if instructions.strip() else PROMPT
    return ScriptContext(asked.step, text)


def blocks_of(spoken: Spoken, carried: Body) -> list[Body]:
    """The one block of the answer; none where the call gave no text, called a tool, or was cut.

    ``carried`` is what it stands for.
    """
    answer = spoken.answer
    if spoken.stop or answer.calls or not answer.text:
        return []
    signature = seal(WIRE, {KIND: digest(answer.text), **carried})
    block = {
        "type": KIND,
        "content": answer.text,
        "signature": signature,
    }
    return [block]


def usage_of(once: Body) -> Body:
    """The bill: the call is a pass of its own, and nothing at the top level."""
    nothing = {name: 0 for name, value in once.items() if isinstance(value, int)}
    return {**nothing, "iterations": [{"type": KIND, **once}]}
