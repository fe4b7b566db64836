"""The validator before the flight: makes every request one that its wire accepts.

    repaired = repair(request)
    body = encode(repaired.request)

What is repaired is repaired in the request that goes out and nowhere else: the words given are frozen and stay as they
are, and so does the ledger they come from. The same history gives the same repairs every time, with the same ids and
texts, and a longer history the same for each message of the shorter one: the provider's cache of the prefix holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.codec.repair_content import clean_json, cleaned
from ullage.codec.repair_names import legal_messages, legal_tools
from ullage.codec.repair_notes import Notes, Repair
from ullage.codec.repair_order import is_in_order, is_plain
from ullage.codec.repair_pairs import paired
from ullage.codec.repair_reasoning import sound_parts
from ullage.codec.repair_targets import Target, target_of
from ullage.codec.repair_thinking import possible_thinking
from ullage.codec.repair_turns import in_turns
from ullage.messages import Message, Request, SystemBlock
from ullage.reasoning import ReasoningPolicy, select

__all__ = ["Repair", "Repaired", "repair"]


EVERYTHING: Final = ReasoningPolicy()
"""All reasoning that was given is sent back."""


class Repaired(NamedTuple):
    """A request that can be sent, and what had to be changed.

    ``names`` gives for each tool that is sent under another name the one it has with us: an answer's calls use the
    former.
    """

    request: Request
    repairs: tuple[Repair, ...]
    names: Mapping[str, str]


def repair(request: Request, *, policy: ReasoningPolicy = EVERYTHING) -> Repaired:
    """The request as its wire accepts it; the given one itself where it is in order. Never raises.

    ``policy`` takes out what the application does not want to send of earlier reasoning, before anything that the wire
    asks for is put in its place. That is no repair and not noted as one.
    """
    target = target_of(request)
    notes = Notes()
    system = tuple(sound_system(block, notes) for block in request.system if block.text)
    tools, names = legal_tools(request.tools, target, notes)
    sent = None if policy == EVERYTHING else _sent(request, policy)
    stored = bool(request.chained)
    sound = [
        kept
        for message in request.messages
        if (kept := sound_message(message, target, sent, stored, notes)) is not None
    ]
    if not is_in_order(sound, target):
        sound = legal_messages(paired(sound, notes), target, notes)
    messages = tuple(in_turns(sound, target, notes, chained=bool(request.chained)))
    params = clean_json(request.params)
    if params != request.params:
        notes.add("text", "", "", "parameters made valid Unicode")
    params = possible_thinking(params, messages, target, notes)
    same = len(messages) == len(request.messages) and all(
        a is b for a, b in zip(messages, request.messages, strict=True)
    )
    if not notes.repairs and same and len(system) == len(request.system):
        return Repaired(request, (), names)
    changed = replace(request, system=system, tools=tools, messages=messages, params=params)
    return Repaired(changed, tuple(notes.repairs), names)


def sound_system(block: SystemBlock, notes: Notes) -> SystemBlock:
    """A block of the system prompt as it can be sent; itself where it is in order."""
    text = cleaned(block.text)
    if text is block.text:
        return block
    notes.add("text", "", "system", "text made valid Unicode")
    return replace(block, text=text)


def _sent(request: Request, policy: ReasoningPolicy) -> frozenset[str]:
    return select(
        request.messages,
        policy,
        wire=request.wire,
        provider=request.provider,
        model=request.model,
        stream=request.stream,
    ).sent


def sound_message(
    message: Message, target: Target, sent: frozenset[str] | None, stored: bool, notes: Notes
) -> Message | None:
    """A message as it can be sent, judged by itself; itself where it is in order, ``None`` where nothing is left.

    ``sent`` and ``stored`` are those of ``codec.repair_reasoning.sound_parts``.
    """
    if is_plain(message, target):
        return message
    parts = sound_parts(message, target, sent=sent, stored=stored, notes=notes)
    if not parts:
        notes.add("empty", message.id, "", "a message with nothing to send left out")
        return None
    if len(parts) == len(message.parts) and all(a is b for a, b in zip(parts, message.parts, strict=True)):
        return message
    return replace(message, parts=parts)
