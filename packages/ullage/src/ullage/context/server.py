"""Compaction by the provider: the endpoint summarises the conversation, and its block or item takes its place.

Anthropic gives a signed block with a summary that can be read
(https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand), OpenAI the user's messages and an
encrypted item (https://developers.openai.com/api/docs/guides/compaction). Either goes back byte for byte with every
later request, to the model that made it; any other model gets the text that stands for it: the summary, or a digest.

Both also compact by themselves inside a call, from a number of tokens on. Ullage does not ask for that: what such a
call removed would be known only afterwards, and could be neither proved nor undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from ullage.codec.dialects import DIALECTS
from ullage.codec.usage import sampling_passes
from ullage.codec.wire import ServerCompaction
from ullage.codec.wires import WIRES
from ullage.context.budget import Aim
from ullage.context.digest import digest
from ullage.context.kept_thinking import copies_beside, plan_with_thinking, with_block
from ullage.context.plan import Plan, committed, place_behind, plan_for
from ullage.context.policy import MOST_APART, SERVER_PROMPT
from ullage.context.situation import Situation
from ullage.context.strategy import (
    Ask,
    Candidate,
    Declined,
    Proposal,
    Reason,
    SummaryAnswer,
)
from ullage.context.summary import on_request, summary_aim, unplannable
from ullage.context.summary_message import PREFIX, own_tokens, summary_id
from ullage.messages import COMPACTION, Message, ProviderItem, TextPart
from ullage.usage import Usage

NOT_TO_CALL: Final = "Do not call tools; answer with the text of the summary alone."
"""Ends instructions of a user: they replace the provider's whole prompt, which says so itself (the page above)."""

_STOPS: Final[dict[str, Reason]] = {
    "length": "truncated",
    "context_full": "truncated",
    "refused": "refused",
    "tool_calls": "tool_call",
}


@dataclass(frozen=True, slots=True)
class CompactOnServer:
    """Asks the endpoint to compact what leaves. Declines where its wire has no such call, or it has refused one.

    The provider sees what a summary would show: the current request up to the last leaving message. Where thinking is
    bound to what is in front of it, as much of it as can be stays valid (``kept_thinking``); ``for_thinking`` does
    nothing anywhere else.
    """

    for_thinking: bool = False
    name: str = "server"

    def calls_at_most(self, situation: Situation) -> int:
        return 1

    def propose(
        self,
        situation: Situation,
        answers: Sequence[SummaryAnswer],
    ) -> Proposal:
        wire = WIRES.get(situation.fold.wire)
        offered = None if wire is None else wire.compaction
        keeps = None if situation.has_refused else plan_with_thinking(situation)
        is_of_use = offered is not None and keeps is not None
        if self.for_thinking and not is_of_use and not answers:
            note = "No thinking would stay valid by the provider's compaction."
            return Declined("nothing_to_do", note)
        if offered is None:
            return Declined("not_offered", "This API has no compaction of its own.")
        if situation.has_refused:
            note = "This endpoint has refused to compact a conversation."
            return Declined("not_offered", note)
        aim = summary_aim(situation)
        plan = keeps or plan_for(situation)
        if (refused := unplannable(plan)) is not None:
            return refused
        if answers:
            return self._finish(situation, aim, plan, answers[-1])
        return _ask(situation, aim, plan, offered)

    def _finish(
        self, situation: Situation, aim: Aim, plan: Plan, answer: SummaryAnswer
    ) -> Proposal:
        if answer.error or answer.message is None:
            return Declined("failed", f"The call failed: {answer.error or 'no answer'}.")
        items = tuple(answer.message.of_type(ProviderItem))
        if not items or items[-1].kind != COMPACTION:
            reason = _STOPS.get(answer.stop, "empty")
            return Declined(reason, "The provider's answer holds no compaction.")
        if not _is_whole(items[-1]):
            return Declined("empty", "The provider could not summarise the conversation.")
        named = _named(situation, aim, plan, items)
        if plan is plan_with_thinking(situation):
            event = with_block(situation, plan, named, strategy=self.name)
        else:
            event = committed(situation, plan.kept, plan.leaving, text="", rung=self.name)
            event = replace(event, summary=_message(situation, plan, named))
        assert event.summary is not None, "the items stand in the place of what leaves"
        tokens = _reported(situation, event.summary, items, answer.usage)
        return Candidate(replace(event, summary_tokens=tokens))


def _ask(
    situation: Situation, aim: Aim, plan: Plan, offered: ServerCompaction
) -> Ask | Declined:
    wishes: list[str] = []
    for wish in (situation.rules.instructions, situation.instructions):
        if wish:
            wishes.append(wish)
    if wishes and not offered.takes_instructions:
        note = "This API's compaction takes no instructions."
        return Declined("not_offered", note)
    kept = [message for message in situation.messages if message.id in plan.kept.why]
    if offered.leads and any(map(_stands_in_front, kept)):
        note = "A message has to stay in front of the place where this API wants its compaction."
        return Declined("not_offered", note)
    if place_behind(situation, plan.leaving):
        note = "A provider's compaction stands in front of all messages, and not behind some that stay."
        return Declined("not_offered", note)
    # What the server clears of a call is sent all the same, and a compaction can't be asked to clear it.
    uncleared = situation.fold.forecast().cleared.total
    found = on_request(situation, aim, plan, SERVER_PROMPT + uncleared)
    if isinstance(found, Declined):
        return found
    # OpenAI gives the user's messages back word for word: one that stays would be there twice.
    shown = found.messages if offered.leads else plan.leaving
    instructions = "\n".join([*wishes, NOT_TO_CALL]) if wishes else ""
    return found._replace(messages=shown, compaction=instructions)


def _stands_in_front(message: Message) -> bool:
    """A system prompt among the messages, or an earlier compaction that is pinned."""
    items = message.of_type(ProviderItem)
    is_prompt = message.role == "system" and message.origin != "injected"
    return is_prompt or any(item.kind == COMPACTION for item in items)


def _is_whole(item: ProviderItem) -> bool:
    """Whether a compaction holds anything. Anthropic sends null where it could not be made."""
    data = b"" if item.provider is None else bytes(item.provider.data)
    return bool(item.text) or b"encrypted_content" in data


def _named(
    situation: Situation, aim: Aim, plan: Plan, items: Sequence[ProviderItem]
) -> tuple[ProviderItem, ...]:
    """The provider's items as parts of the summary message, with the text that stands for them elsewhere."""
    name = summary_id(situation.compaction)
    *retained, compaction = items
    text = compaction.text or _digest(situation, aim, plan)
    stood_for = replace(compaction, text=f"{PREFIX}\n\n{text}")
    named: list[ProviderItem] = []
    for place, item in enumerate((*retained, stood_for)):
        named.append(replace(item, id=f"{name}.{place}"))
    return tuple(named)


def _message(
    situation: Situation,
    plan: Plan,
    named: Sequence[ProviderItem],
) -> Message:
    """The provider's items, and what code keeps that they don't hold word for word."""
    name = summary_id(situation.compaction)
    copied = copies_beside(situation, plan.leaving, named, name)
    return Message(id=name, role="user", origin="summary", parts=(*named, *copied))


def _digest(
    situation: Situation,
    aim: Aim,
    plan: Plan,
) -> str:
    """What another model reads in the place of an encrypted item."""
    return digest(situation, plan.leaving, most=aim.summary).text


def _reported(
    situation: Situation,
    message: Message,
    items: Sequence[ProviderItem],
    usage: Usage | None,
) -> int | None:
    """Tokens of the message in the provider's measure; ``None`` where it reported no usable length."""
    length = _length(usage)
    compaction = items[-1]
    if length is None:
        return None
    if compaction.text:  # it can be read, so the report is held against an estimate
        estimate = situation.fold.learnt.ratio * situation.count(compaction.text)
        if not estimate / MOST_APART <= length <= estimate * MOST_APART:
            return None
    retained = _texts(items[:-1])
    around = own_tokens(situation, [*retained, *message.of_type(TextPart)])
    return round(length + around)


def _texts(items: Iterable[ProviderItem]) -> list[TextPart]:
    return [TextPart(id=item.id, text=item.text) for item in items]


def _length(usage: Usage | None) -> int | None:
    """What the compaction's own pass put out, without reasoning. Anthropic reports it as a pass beside the call."""
    if usage is None or not usage.verified or usage.placeholder:
        return None
    dialect = DIALECTS.get(usage.dialect or "")
    passes = () if dialect is None else sampling_passes(dialect, usage.raw)
    reported = usage
    for one in passes:
        if one.kind == COMPACTION:
            reported = one.usage
    if reported.output is None:
        return None
    return max(0, reported.output - (reported.reasoning or 0))
