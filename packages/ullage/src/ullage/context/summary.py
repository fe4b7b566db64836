"""Summaries by a model: as one more message on the current request, or in bounded pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ullage.context.accept import RejectedSummary, accept
from ullage.context.budget import Aim, aim_of
from ullage.context.digest import digest
from ullage.context.plan import Plan, committed, plan_for
from ullage.context.policy import (
    ANSWER_SHARE,
    BYTES_A_TOKEN,
    CHARACTERS_PER_TOKEN,
    LEAST_ANSWER,
    MESSAGE_FRAME,
    SUMMARY_ATTEMPTS,
    SUMMARY_LEAST,
    SUMMARY_SAFETY,
)
from ullage.context.prompt import ALONE, asking, task
from ullage.context.rendering import line_of, rendered, text_length
from ullage.context.shorten import common_cap
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, Candidate, Declined, Proposal, SummaryAnswer
from ullage.context.summary_message import earlier_text
from ullage.messages import Message, SystemBlock


class HistoryPiece(NamedTuple):
    """Text of part of a history, and the ids of the messages it shows."""

    text: str
    ids: tuple[str, ...]


def longest_answer(situation: Situation) -> int | None:
    """The longest answer of the model that summarises, in tokens; ``None`` if it is unknown."""
    if situation.rules.own_model:
        return situation.rules.summary_output
    known = situation.fold.limits.max_output
    return None if known is None else known.tokens


def summary_aim(situation: Situation) -> Aim:
    """The aim, with a summary that fits into one answer of the model with room to spare."""
    aim, most = aim_of(situation), longest_answer(situation)
    if most is None:
        return aim
    return aim._replace(summary=min(aim.summary, most / LEAST_ANSWER))


def answer_room(situation: Situation, aim: Aim) -> int:
    """The output limit of a summary call: twice the summary's length, or the reserve if it is larger, for reasoning.

    Never more than the model's own limit, which the provider would refuse.
    """
    wanted = max(2 * aim.summary, situation.fold.limits.denominators.reserve)
    window = aim.window or 2 * situation.sizes.used
    if situation.rules.summary_window is not None:
        window = situation.rules.summary_window
    room = min(wanted, max(aim.summary, ANSWER_SHARE * window))
    most = longest_answer(situation)
    return max(1, round(room if most is None else min(room, most)))


def _too_short_answers(situation: Situation) -> Declined | None:
    """The refusal where the model's answers are too short for any summary."""
    most = longest_answer(situation)
    if most is None or most >= LEAST_ANSWER * SUMMARY_LEAST:
        return None
    return Declined(
        "does_not_fit",
        f"The model's longest answer is {most:,} tokens, and a summary needs "
        f"{LEAST_ANSWER * SUMMARY_LEAST:,.0f}.",
    )


@dataclass(frozen=True, slots=True)
class Summarize:
    """Asks for a summary after the last leaving message, so that the provider's cache stays valid.

    The kept messages are not shown: they are paid for once, in the next request. Declines if the call does not fit into
    the window, if calls in it are open, or if another model writes the summaries.
    """

    name: str = "summary"

    def calls_at_most(self, situation: Situation) -> int:
        return 1

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        aim = summary_aim(situation)
        plan = plan_for(situation)
        if (refused := unplannable(plan) or _too_short_answers(situation)) is not None:
            return refused
        if answers:
            return self._finish(situation, aim, plan, answers[-1])
        newest = plan.leaving if situation.from_ else ()
        text = task(situation, aim, kept=bool(plan.kept.why), newest=newest)
        asked = asking(situation, text, 1)
        found = on_request(situation, aim, plan, SUMMARY_SAFETY * situation.cost(asked))
        if isinstance(found, Declined):
            return found
        return found._replace(messages=(*found.messages, asked))

    def _finish(
        self, situation: Situation, aim: Aim, plan: Plan, answer: SummaryAnswer
    ) -> Proposal:
        taken = accept(
            answer,
            lambda: source_of(plan.leaving),
            source_tokens=situation.sizes.of(message.id for message in plan.leaving),
            most=aim.summary,
            count=situation.count,
        )
        if isinstance(taken, RejectedSummary):
            return Declined(taken.reason, taken.note)
        usage = answer.usage if taken.is_whole else None
        event = committed(
            situation,
            plan.kept,
            plan.leaving,
            text=taken.text,
            rung=self.name,
            usage=usage,
        )
        return Candidate(event)


def on_request(
    situation: Situation, aim: Aim, plan: Plan, prompt: float
) -> Ask | Declined:
    """The call that shows the current request up to the last leaving message, if there is room for a summary of it.

    ``prompt`` are the tokens of what asks for the summary.
    """
    if situation.rules.own_model or situation.is_over_bytes or situation.is_over_images:
        return Declined(
            "does_not_fit",
            "The current request is not sent to the model that summarises.",
        )
    shown = _up_to(plan.leaving[-1], situation.messages)
    ids = tuple(message.id for message in shown)
    last = situation.exchanges[-1]
    if last.open and last.ids[0] in ids:  # a call further back was lost, and is mended
        return Declined(
            "does_not_fit", "The messages to summarise end in a call without a result."
        )
    behind = situation.sizes.messages - situation.sizes.of(ids)
    tokens = round(situation.sizes.high - behind / SUMMARY_SAFETY + prompt)
    if excess := _excess(situation, aim, tokens):
        return Declined("does_not_fit", excess)
    assert aim.window is not None
    room = min(answer_room(situation, aim), aim.window - tokens)
    return Ask(shown, ids, tokens, room, extends=True)


@dataclass(frozen=True, slots=True)
class SummarizePieces:
    """Asks for a summary in calls of their own, each bounded: a piece of the history and the summary so far.

    A history too long for ``CompactionRules.most_pieces`` calls is shown in excerpts. If a later piece fails, the
    summary so far is kept, with a digest of the rest.
    """

    name: str = "pieces"

    def calls_at_most(self, situation: Situation) -> int:
        return situation.rules.most_pieces

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        aim = summary_aim(situation)
        plan = plan_for(situation)
        if (refused := unplannable(plan) or _too_short_answers(situation)) is not None:
            return refused
        room = piece_room(situation, aim)
        if room < 1:
            return Declined(
                "does_not_fit",
                "The window of the model that summarises leaves no room for a piece.",
            )
        most = situation.rules.most_pieces
        pieces = situation.once(
            "pieces", lambda: pieces_of(situation, plan.leaving, room=room, most=most)
        )
        so_far = earlier_text(plan.leaving)
        for number, answer in enumerate(answers):
            taken = accept(
                answer,
                lambda number=number: pieces[number].text,  # type: ignore[misc]
                source_tokens=situation.count(pieces[number].text)
                + situation.count(so_far),
                most=aim.summary,
                count=situation.count,
            )
            if isinstance(taken, RejectedSummary):
                if number == 0:
                    return Declined(taken.reason, taken.note)
                return self._finish(situation, aim, plan, so_far, pieces[number:])
            so_far = taken.text
        if len(answers) < len(pieces):
            return self._ask(situation, aim, pieces, len(answers), so_far)
        whole = len(pieces) == 1 and bool(answers) and answers[-1].message is not None
        return self._finish(
            situation, aim, plan, so_far, (), answers[-1] if whole else None
        )

    def _ask(
        self,
        situation: Situation,
        aim: Aim,
        pieces: Sequence[HistoryPiece],
        number: int,
        so_far: str,
    ) -> Ask:
        earlier = ""
        if so_far:
            escaped = so_far.replace("</earlier", "<\\/earlier")
            place = f"Part {number + 1} of {len(pieces)} of the conversation"
            earlier = f"<earlier>\n{escaped}\n</earlier>\n\n{place}, after the earlier summary:\n"
        text = f"{earlier}{pieces[number].text}\n\n{task(situation, aim, kept=True)}"
        asked = asking(situation, text, number + 1)
        system = SystemBlock(text=ALONE)
        tokens = round(SUMMARY_SAFETY * (situation.cost(asked) + situation.count(ALONE)))
        return Ask(
            (asked,),
            pieces[number].ids,
            tokens,
            answer_room(situation, aim),
            system=(system,),
        )

    def _finish(
        self,
        situation: Situation,
        aim: Aim,
        plan: Plan,
        text: str,
        left: Sequence[HistoryPiece],
        answer: SummaryAnswer | None = None,
    ) -> Proposal:
        if left:
            ids = {name for piece in left for name in piece.ids}
            rest = [message for message in plan.leaving if message.id in ids]
            room = max(100.0, aim.summary - situation.count(text))
            text = f"{text}\n\n{digest(situation, rest, most=room).text}"
        usage = answer.usage if answer is not None else None
        return Candidate(
            committed(
                situation, plan.kept, plan.leaving, text=text, rung=self.name, usage=usage
            )
        )


def piece_room(situation: Situation, aim: Aim) -> int:
    """Tokens of history in one call, by estimate, so that the call can't exceed the window even if that is off."""
    window = (
        situation.rules.summary_window or aim.window or round(0.8 * situation.sizes.used)
    )
    limit = window - answer_room(situation, aim)
    if situation.rules.summary_window is None and aim.limit is not None:
        limit = min(limit, aim.limit)
    if situation.bytes_limit is not None:
        limit = min(limit, round(situation.bytes_limit / BYTES_A_TOKEN))
    around = (
        situation.count(task(situation, aim, kept=True)) + situation.count(ALONE) + 200
    )
    return int(limit / SUMMARY_SAFETY - around - 2.5 * aim.summary)


def _up_to(last: Message, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages from the first to this one."""
    ids = [message.id for message in messages]
    return tuple(messages[: ids.index(last.id) + 1])


def unplannable(plan: Plan) -> Declined | None:
    if not plan.leaving:
        return Declined("nothing_to_do", "Every message has to stay.")
    if not plan.verdict.is_proved:
        assert plan.verdict.reason is not None
        return Declined(
            plan.verdict.reason, f"A summary would not help. {plan.verdict.note}"
        )
    return None


def _excess(situation: Situation, aim: Aim, tokens: int) -> str:
    """Why a request of so many tokens for a summary can't be sent; empty if it can."""
    if aim.window is None:
        return "The window is unknown, so nothing is sent behind the current request."
    if situation.trigger == "overflow":
        return "The provider has just refused a request of this size."
    cap = situation.fold.limits.input_cap
    if cap is not None:
        most = round(cap.tokens / max(1.0, situation.correction))
        if tokens > most:
            return f"The request for a summary would be up to {tokens:,} tokens, and {most:,} are accepted."
    answer = round(LEAST_ANSWER * aim.summary)
    if aim.window - tokens < answer:
        return (
            f"The request for a summary would be up to {tokens:,} tokens and its answer {answer:,}, and the window "
            f"has {aim.window:,}."
        )
    return ""


def source_of(messages: Sequence[Message]) -> str:
    """The source for the echo check: the messages without earlier summaries, which may be repeated."""
    return "\n".join(
        rendered(each, text_length(each) + 1)
        for each in messages
        if each.origin != "summary"
    )


def pieces_of(
    situation: Situation, messages: Sequence[Message], *, room: int, most: int
) -> tuple[HistoryPiece, ...]:
    """The messages, earlier summaries aside, in at most ``most`` pieces of at most ``room`` tokens by estimate.

    In a longer history, long messages become excerpts under one cap; if that is still too much, each message is one
    line. Every message is in one of the pieces.
    """
    shown = [message for message in messages if message.origin != "summary"]
    if not shown:
        return ()
    if 2 * MESSAGE_FRAME * len(shown) > CHARACTERS_PER_TOKEN * room * most:
        return _lines(situation, shown, room=room, most=most)
    density = CHARACTERS_PER_TOKEN
    for _ in range(SUMMARY_ATTEMPTS):
        pieces = _packed(shown, characters=max(200, int(room * density)), most=most)
        worst = max(situation.count(piece.text) for piece in pieces)
        if worst <= room and len(pieces) <= most:
            return pieces
        density *= min(0.9, 0.95 * room / worst) if worst > room else 0.9
    return _lines(situation, shown, room=room, most=most)


def _packed(
    messages: Sequence[Message], *, characters: int, most: int
) -> tuple[HistoryPiece, ...]:
    lengths = [text_length(message) for message in messages]
    # A message may leave the rest of a piece empty, so the pieces together hold less than their sum.
    total = characters * most if most == 1 else int(0.8 * characters * most)
    cap = int(common_cap(lengths, total - MESSAGE_FRAME * len(lengths)))
    cap = min(cap, max(200, characters - MESSAGE_FRAME))
    pieces: list[HistoryPiece] = []
    texts: list[str] = []
    ids: list[str] = []
    size = 0
    for message in messages:
        text = rendered(message, cap)
        if texts and size + len(text) > characters:
            pieces.append(HistoryPiece("\n".join(texts), tuple(ids)))
            texts, ids, size = [], [], 0
        texts.append(text)
        ids.append(message.id)
        size += len(text) + 1
    return (*pieces, HistoryPiece("\n".join(texts), tuple(ids)))


def _lines(
    situation: Situation, messages: Sequence[Message], *, room: int, most: int
) -> tuple[HistoryPiece, ...]:
    """One line per message, as short as necessary."""
    per_piece = -(-len(messages) // most)
    pieces: list[HistoryPiece] = []
    for start in range(0, len(messages), per_piece):
        part = messages[start : start + per_piece]
        ids = tuple(message.id for message in part)
        text = "\n".join(line_of(message) for message in part)
        characters = 160
        while situation.count(text) > room and characters > 8:
            characters //= 2
            text = "\n".join(line_of(message, characters) for message in part)
        while situation.count(text) > room and len(text) > 1:
            text = text[: len(text) * 3 // 4]
        pieces.append(HistoryPiece(text, ids))
    return tuple(pieces)
