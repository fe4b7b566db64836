"""Makes every request one that its wire accepts, before it is sent.

    repaired = repair(request)

Only the request that is sent is repaired: the given messages are frozen, and the ledger they come from is unchanged.
The same history gives the same repairs every time, with the same ids and texts, and a longer history the same for each
message of the shorter one: the provider's cache of the prefix holds.

There is one implementation, for a history that grows. A single request is a history fed at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from msgspec.structs import replace

from ullage.codec.repair_calls import LegalMessages, Pairing, legal_tools
from ullage.codec.repair_parts import (
    MessageRepair,
    Notes,
    Repair,
    are_same,
    clean_json,
    sound_message,
)
from ullage.codec.rules import Target
from ullage.codec.wires import target_of
from ullage.messages import (
    Message,
    ProviderItem,
    ReasoningPart,
    Request,
    Role,
    SystemBlock,
    TextPart,
    Tool,
)
from ullage.reasoning import ReasoningPolicy, SentReasoning

__all__ = ["EVERYTHING", "Repair", "Repaired", "Repairing", "repair"]


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
    repairing = Repairing(target_of(request), policy, is_chained=bool(request.chained))
    repairing.add(request.messages)
    return repairing.repaired(request)


class _Head(NamedTuple):
    """System prompt and tools as they can be sent, and those that they were made of."""

    given: tuple[tuple[SystemBlock, ...], tuple[Tool, ...]]
    system: tuple[SystemBlock, ...]
    tools: tuple[Tool, ...]
    names: dict[str, str]
    repairs: tuple[Repair, ...]


class Repairing:
    """Repairs the messages of one session as they come, for one target and one policy.

    What a message becomes depends on the messages before it, and on later ones in few ways: a result that comes late,
    and what the application lets through of earlier reasoning. Where a later message would alter an earlier one,
    ``add`` says so. ``is_chained`` says that the provider keeps what came before, and its own answers.
    """

    def __init__(
        self,
        target: Target,
        policy: ReasoningPolicy = EVERYTHING,
        *,
        is_chained: bool = False,
    ) -> None:
        self.is_closed = False
        """Whether the end was altered as only the end of a request is: then nothing may be added."""
        self._target = target
        self._is_chained = is_chained
        self._sent = SentReasoning(policy, target)
        self._pairing = Pairing()
        self._legal = LegalMessages(target)
        self._loop = ToolLoop()
        self._made: list[Message] = []
        self._is_altered = False
        self._head: _Head | None = None
        # One list for each pass over the history: their order is that of the passes, however the history came.
        self._notes = (Notes(), Notes(), Notes(), Notes(), Notes())

    def add(self, messages: Sequence[Message]) -> list[Message] | None:
        """What the next messages become, the last of them ready to be the last of a request.

        ``None`` where they alter what an earlier one became: then nothing may be added. The first call takes anything.
        """
        target = self._target
        sounds, extra, moved, names, turns = self._notes
        if not self._sent.add(messages):
            return None
        sound: list[Message] = []
        for message in messages:
            kept = sound_message(
                message,
                target,
                sent=self._sent.ids,
                stored=self._is_chained,
                notes=sounds,
            )
            if kept is not None:
                sound.append(kept)
        paired = self._pairing.add(sound, extra, moved)
        if paired is None:
            return None
        legal = self._legal.add(paired, names)
        made: list[Message] = []
        if not legal and not self._made and not self._is_chained:
            add_stand_in(made, "begin", "user", BEGIN, turns)
            self.is_closed = True
        previous = self._made[-1] if self._made else None
        made += continued(previous, legal, target, turns, chained=self._is_chained)
        self.is_closed = close(made, target, turns) or self.is_closed
        self._is_altered = self._is_altered or not are_same(made, messages)
        self._loop.add(made)
        self._made += made
        return made

    def repaired(self, request: Request) -> Repaired:
        """The request whose messages were added, as it can be sent."""
        head = self._repaired_head(request)
        last = Notes()
        params = clean_json(request.params)
        if params != request.params:
            last.add("text", "", "", "parameters made valid Unicode")
        params = thinking_in(params, self._loop.begun_by, self._target, last)
        noted = chain.from_iterable(notes.repairs for notes in (*self._notes, last))
        repairs = (*head.repairs, *noted)
        is_whole = len(head.system) == len(request.system)
        if not repairs and not self._is_altered and is_whole:
            return Repaired(request, (), head.names)
        changed = replace(
            request,
            system=head.system,
            tools=head.tools,
            messages=tuple(self._made) if self._is_altered else request.messages,
            params=params,
        )
        return Repaired(changed, repairs, head.names)

    def _repaired_head(self, request: Request) -> _Head:
        given = (request.system, request.tools)
        if self._head is None or self._head.given != given:
            notes = Notes()
            repair = MessageRepair("", self._target, notes)
            system = tuple(repair.system(block) for block in request.system if block.text)
            tools, names = legal_tools(request.tools, self._target, notes)
            self._head = _Head(given, system, tools, names, tuple(notes.repairs))
        return self._head


GO_ON: Final = "Go on."
BEGIN: Final = "Begin."
NOTED: Final = "Noted."


def continued(
    previous: Message | None,
    messages: Sequence[Message],
    target: Target,
    notes: Notes,
    *,
    chained: bool,
) -> list[Message]:
    """The messages as they follow ``previous``, with stand-ins between them and none at their end."""
    made: list[Message] = []
    for message in messages:
        if previous is None:
            if message.role == "assistant" and target.user_first and not chained:
                add_stand_in(made, message.id, "user", BEGIN, notes)
        elif message.role == "assistant" and previous.role == "assistant":
            if target.alternates and not is_paused(previous):
                add_stand_in(made, previous.id, "user", GO_ON, notes)
        elif message.role in ("user", "system") and (
            (target.answer_after_tools and previous.role == "tool")
            or (target.answer_after_user and message.role == previous.role == "user")
        ):
            add_stand_in(made, previous.id, "assistant", NOTED, notes)
        made.append(message)
        previous = message
    return made


def close(made: list[Message], target: Target, notes: Notes) -> bool:
    """Alter the end of the messages in place, where the target would not go on from it; whether that was so."""
    if not made or made[-1].role != "assistant":
        return False
    if target.user_last:
        if is_paused(made[-1]):
            return False
        add_stand_in(made, made[-1].id, "user", GO_ON, notes)
        return True
    if target.space_at_end:
        return False
    last = made[-1]
    made[-1] = _trimmed(last, notes)
    return made[-1] is not last


def _trimmed(message: Message, notes: Notes) -> Message:
    """An answer to be continued, without white space at its end: ``final assistant content cannot end with trailing
    whitespace`` (https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response)."""
    last = message.parts[-1]
    if not isinstance(last, TextPart) or not last.text[-1:].isspace():
        return message
    notes.add(
        "text", message.id, last.id, "white space at the end of the last answer left out"
    )
    return replace(
        message, parts=(*message.parts[:-1], replace(last, text=last.text.rstrip()))
    )


def is_paused(message: Message) -> bool:
    """Whether the provider stopped in the middle of a loop of its own and wants the answer back as it is."""
    return bool(message.parts) and isinstance(message.parts[-1], ProviderItem)


def add_stand_in(
    made: list[Message], beside: str, role: Role, text: str, notes: Notes
) -> None:
    """Put a message that the history does not have behind those that were made."""
    name = f"{beside}.{role}"
    notes.add(
        "stand_in_message", name, "", f"the wire asks for a message of the {role} here"
    )
    made.append(
        Message(
            id=name,
            role=role,
            origin="injected",
            parts=(TextPart(id=f"{name}.text", text=text),),
        )
    )


def thinking_in(
    params: Mapping[str, object], begun: Message | None, target: Target, notes: Notes
) -> dict[str, object]:
    """The parameters, thinking switched off where this wire refuses it: for a loop that began without thinking.

    ``begun`` is the answer that began the tool loop which the request continues; ``None`` where it begins a turn.
    With thinking ``enabled`` that answer has to start with its thinking block, or thinking has to be disabled, as the
    refusal itself says (https://docs.claude.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks).
    Where the answer is another model's, or its thinking was lost, the rest of the turn goes without; the next turn
    thinks again. Adaptive thinking asks for nothing.
    """
    if (
        begun is None
        or not target.thinking_from_begin
        or isinstance(begun.parts[0], ReasoningPart)
    ):
        return dict(params)
    given = params.get("thinking")
    if not isinstance(given, Mapping) or given.get("type") != "enabled":
        return dict(params)
    notes.add(
        "thinking_off",
        begun.id,
        "",
        "thinking switched off: this tool loop began without it",
    )
    return {**params, "thinking": {"type": "disabled"}}


class ToolLoop:
    """Which answer began the tool loop that a history ends in. The history may come in pieces.

    Adjacent results and user messages are one message of the user, and continue the loop.
    """

    def __init__(self) -> None:
        self._first: Message | None = None
        self._continues = False  # whether a result came since the last answer

    def add(self, messages: Sequence[Message]) -> None:
        """The next messages, as they are sent."""
        for message in messages:
            if message.role != "assistant":
                self._continues = self._continues or message.role == "tool"
                continue
            if self._first is None or not self._continues:
                self._first = message
            self._continues = False

    @property
    def begun_by(self) -> Message | None:
        """The answer; ``None`` where the history ends in no loop, so that a request begins a turn."""
        return self._first if self._continues else None
