"""The validator for a history that grows: each message is judged once, and what was made of it stays.

What a message becomes depends on the messages before it, and on later ones in few ways: a result that comes late, and
what the application lets through of earlier reasoning. Where a later message would alter an earlier one, this says so
and the history has to be gone through again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from ullage.codec.repair import Repaired, sound_message, sound_system
from ullage.codec.repair_content import clean_json
from ullage.codec.repair_names import LegalMessages, legal_tools
from ullage.codec.repair_notes import Notes, Repair
from ullage.codec.repair_pairs import Pairing
from ullage.codec.repair_targets import Target
from ullage.codec.repair_thinking import ToolLoop, thinking_in
from ullage.codec.repair_turns import continued, may_end
from ullage.messages import Message, Request, SystemBlock, Tool


class Head(NamedTuple):
    """What stands before the messages, as it can be sent."""

    system: tuple[SystemBlock, ...]
    tools: tuple[Tool, ...]
    names: dict[str, str]
    repairs: tuple[Repair, ...]


def repaired_head(request: Request, target: Target) -> Head:
    """System prompt and tools of a request as its wire accepts them."""
    notes = Notes()
    system = tuple(sound_system(block, notes) for block in request.system if block.text)
    tools, names = legal_tools(request.tools, target, notes)
    return Head(system, tools, names, tuple(notes.repairs))


class GrowingRepair:
    """Repairs the messages of one session as they come, for one target. The provider keeps nothing of them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._pairing = Pairing()
        self._legal = LegalMessages(target)
        self._loop = ToolLoop()
        self._made: list[Message] = []
        self._is_altered = False
        # One list for each pass over the history: a request in one piece has their notes in this order.
        self._notes = (Notes(), Notes(), Notes(), Notes(), Notes())

    def add(self, messages: Sequence[Message], sent: frozenset[str] | None) -> list[Message] | None:
        """What the next messages become; ``None`` where they alter what an earlier one became.

        ``sent`` names the reasoning that is let through, ``None`` is all. After ``None`` nothing may be added.
        """
        target = self._target
        sounds, extra, moved, names, turns = self._notes
        judged = (sound_message(one, target, sent, False, sounds) for one in messages)
        paired = self._pairing.add([one for one in judged if one is not None], extra, moved)
        if paired is None:
            return None
        previous = self._made[-1] if self._made else None
        made = continued(previous, self._legal.add(paired, names), target, turns, chained=False)
        self._is_altered = (
            self._is_altered
            or len(made) != len(messages)
            or any(one is not other for one, other in zip(made, messages, strict=True))
        )
        self._loop.add(made)
        self._made += made
        return made

    @property
    def may_end(self) -> bool:
        """Whether a request can end here as it is, without a word or a cut that only the end asks for."""
        return bool(self._made) and may_end(self._made[-1], self._target)

    def repaired(self, request: Request, head: Head) -> Repaired:
        """What ``repair`` makes of the request whose messages were added."""
        last = Notes()
        params = clean_json(request.params)
        if params != request.params:
            last.add("text", "", "", "parameters made valid Unicode")
        params = thinking_in(params, self._loop.begun_by, self._target, last)
        repairs = tuple(chain(head.repairs, *(notes.repairs for notes in self._notes), last.repairs))
        if not repairs and not self._is_altered and len(head.system) == len(request.system):
            return Repaired(request, (), head.names)
        messages = tuple(self._made) if self._is_altered else request.messages
        changed = replace(request, system=head.system, tools=head.tools, messages=messages, params=params)
        return Repaired(changed, repairs, head.names)
