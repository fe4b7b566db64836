"""Which reasoning is sent back to the model, and which of it the next input counts.

Three rules meet here. A model is sent no reasoning that it can't read; of the rest the application's own policy says
what is sent; and the provider says what of the sent is charged as input, which depends on the model, on the wire, and
on whether the next request continues a tool loop or begins a turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from ullage.messages import Message, ReasoningPart, ToolCallPart, ToolResultPart
from ullage.models.binding import reads_thinking
from ullage.models.facts import facts
from ullage.models.providers import SIMULATED, canonical, provider_named

Strip = Literal["none", "all", "all_but_last"]
SentBack = Literal["yes", "no", "none", "server", "unknown"]
"""Whether the last answer's reasoning is in the next request; ``none``: it had none; ``server``: a chained call."""


@dataclass(frozen=True, slots=True)
class ReasoningPolicy:
    """What the application sends of earlier reasoning.

    Without ``include_in_context`` nothing is sent, whatever ``strip`` says. ``all_but_last`` sends only the reasoning
    of the last message that has any. ``unbound`` are messages whose reasoning the provider would refuse, as it is bound
    to a prefix that has changed (``ullage.binding``): it is never sent.
    """

    include_in_context: bool = True
    strip: Strip = "none"
    unbound: frozenset[str] = frozenset()


FAMILIES: Final = (
    "claude",
    "gemini",
    "deepseek",
    "kimi",
    "moonshot",
    "mistral",
    "magistral",
    "devstral",
    "codestral",
    "ministral",
    "grok",
    "glm",
    "qwen",
    "minimax",
    "mimo",
)
_ALIASES: Final = {
    "moonshot": "kimi",
    "magistral": "mistral",
    "devstral": "mistral",
    "codestral": "mistral",
    "ministral": "mistral",
}
_GPT: Final = re.compile(r"gpt|codex|(^|/)o[1-9](-|$)")
_DATED: Final = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|@\d+|-latest)$")


class ModelPlace(Protocol):
    """A model over a wire at a provider: what opaque data came from, and what a request goes to."""

    @property
    def wire(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...


class Maker(NamedTuple):
    """A place by its names alone."""

    wire: str
    provider: str
    model: str


@lru_cache(maxsize=512)
def family_of(model: str) -> str:
    """The family a model's name belongs to; the name itself, without host and date, where it is none we know."""
    name = model.lower()
    found = next((family for family in FAMILIES if family in name), "")
    if not found and _GPT.search(name):
        return "gpt"
    return _ALIASES.get(found, found) or bare_model(model)


@lru_cache(maxsize=512)
def bare_model(model: str) -> str:
    """A model's name without its host (``openai/gpt-5``) and without the date of its version."""
    return _DATED.sub("", model.lower().rpartition("/")[2])


def same_house(data: ModelPlace, asked: ModelPlace) -> bool:
    """Whether data of a provider comes from the wire and the host that the request goes to. Unnamed hosts fit."""
    if data.wire != asked.wire:
        return False
    if data.provider == asked.provider or not data.provider or not asked.provider:
        return True
    made_by, read_by = provider_named(data.provider), provider_named(asked.provider)
    if made_by.name == read_by.name:
        return True
    return asked.wire == "messages" and made_by.reads_claude and read_by.reads_claude


def is_native(data: ModelPlace | None, asked: ModelPlace) -> bool:
    """Whether the model asked can read this opaque data: its own wire and host, and a model that reads the other's.

    Claude drops by itself what it can't read and needs the rest in place
    (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking), so all Claude models count as one. Chat
    carries plain text. Encrypted reasoning and Gemini's signatures belong to one model.
    """
    if data is None or not same_house(data, asked):
        return False
    if not data.model or not asked.model or data.model == asked.model:
        return True
    if asked.wire in ("responses", "generateContent"):
        return bare_model(data.model) == bare_model(asked.model)
    return family_of(data.model) == family_of(asked.model)


def is_foreign(data: ModelPlace | None, asked: ModelPlace) -> bool:
    """Whether another made this reasoning than the model asked could read it from: then no input counts it.

    Where the maker is unknown (a log that keeps no opaque data), or the model asked, it is not taken to be foreign.
    """
    if data is None or not asked.wire:
        return False
    if not is_native(data, asked):
        return True
    if family_of(asked.model) != "claude":
        return False
    return not reads_thinking(bare_model(data.model), bare_model(asked.model))


class Evidence(NamedTuple):
    """From how many pairs of calls a rule was read, and how many of them contradict it."""

    n: int = 0
    against: int = 0


NO_EVIDENCE: Final = Evidence()


class ReasoningRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a provider counts reasoning that is sent back: inside a tool loop, and after a user message.

    ``model``, ``wire`` and ``provider`` are regular expressions; ``stream`` is ``None`` where it makes no difference.
    ``needs`` is what the reasoning must come with to be counted: a tool call of the same answer, which bears its
    signature, or its encrypted content. ``even_unsent``: it is counted though nothing was sent back. ``beside``: a user
    message next to tool results begins a turn.

    ``loop_pairs`` and ``turns_pairs`` are the recorded pairs of calls that each was read from, with reported or derived
    reasoning that was sent back in the form that counts; ``beside_pairs`` are those with a user's message next to
    results, where it is known that they do not agree. ``seen`` is the median share that was in the next input, of
    other forms too (with their n).
    """

    loop: bool
    turns: bool
    model: str = ""
    wire: str = ""
    provider: str = ""
    stream: bool | None = None
    even_unsent: bool = False
    needs: Literal["", "call", "encrypted"] = ""
    beside: bool = True
    loop_pairs: Evidence = NO_EVIDENCE
    turns_pairs: Evidence = NO_EVIDENCE
    beside_pairs: Evidence = NO_EVIDENCE
    seen: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """A key that stays the same as long as the row's matching does."""
        stream = "" if self.stream is None else " stream" if self.stream else " no stream"
        return f"{self.provider or '*'}/{self.wire or '*'}/{self.model or '*'}{stream}"


_rows: Final = msgspec.json.Decoder(list[ReasoningRule])


@lru_cache(maxsize=1)
def reasoning_rules() -> list[ReasoningRule]:
    """The rows of ``models/reasoning.json``; the last one fits everything."""
    return facts("reasoning", _rows)


@lru_cache(maxsize=512)
def rule_for(
    wire: str, provider: str, model: str, *, stream: bool = False
) -> ReasoningRule:
    """The first of the rules that fits.

    Of a simulated model a rule is no more than a guess (from no pairs), whichever name it bears.
    """
    wire, provider, model = wire.lower(), canonical(provider).lower(), model.lower()
    found = next(
        rule
        for rule in reasoning_rules()
        if re.search(rule.model, model)
        and re.search(rule.wire, wire)
        and re.search(rule.provider, provider)
        and rule.stream in {None, stream}
    )
    return without_evidence(found) if re.search(SIMULATED, model) else found


def without_evidence(rule: ReasoningRule) -> ReasoningRule:
    """The rule as a guess, for reasoning in any form."""
    return replace(rule, needs="", loop_pairs=NO_EVIDENCE, turns_pairs=NO_EVIDENCE)


def of_other_form(rule: ReasoningRule) -> ReasoningRule:
    """The rule for reasoning that is sent back in another form than ``needs`` says: not counted, which is a guess.

    It has a name of its own, so that reports of one form say nothing of the other.
    """
    other = replace(rule, loop=False, turns=False, model=f"{rule.model} as text")
    return without_evidence(other)


def begins_turn(rule: ReasoningRule, *, user_turn: bool, tool_turn: bool) -> bool:
    """Whether the provider takes a request with this new content as the begin of a turn."""
    return user_turn and (rule.beside or not tool_turn)


def is_counted(rule: ReasoningRule, *, begins_turn: bool, sent_back: SentBack) -> bool:
    """Whether the last answer's reasoning is in the next input."""
    if sent_back == "no" and not rule.even_unsent:
        return False
    return rule.turns if begins_turn else rule.loop


class Need(NamedTuple):
    """A wire that rejects, or breaks, a tool loop whose reasoning is missing."""

    model: str
    wire: str
    why: str


NEEDS: Final[tuple[Need, ...]] = (
    # https://docs.claude.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks
    Need(
        "claude",
        "messages|converse",
        "thinking blocks must precede tool_use in the current loop",
    ),
    # https://platform.openai.com/docs/guides/reasoning#keeping-reasoning-items-in-context
    Need("", "responses", "a function_call is refused without its reasoning item"),
    # https://ai.google.dev/gemini-api/docs/thought-signatures
    Need(
        r"gemini-(3|flash-latest)",
        "generatecontent",
        "function calls of the current turn need their signatures",
    ),
    # https://api-docs.deepseek.com/guides/thinking_mode#tool-calls
    Need("deepseek", "chat", "reasoning_content must be sent back inside a tool loop"),
)


@lru_cache(maxsize=512)
def need_for(wire: str, model: str) -> Need | None:
    """Why a tool loop over this wire can't go without its reasoning; ``None`` where it can."""
    wire, model = wire.lower(), model.lower()
    return next(
        (
            need
            for need in NEEDS
            if re.search(need.wire, wire) and re.search(need.model, model)
        ),
        None,
    )


class SentReasoning:
    """Which reasoning of a history is sent, by the application's policy and the model's needs.

    The history may come in pieces. Inside an open tool loop the wire's need wins over the policy. Reasoning of another
    wire, host or family is never sent. Which of the sent reasoning is counted, the meter sums up
    (``meter/reasoning_in_view.py``).
    """

    def __init__(self, policy: ReasoningPolicy, asked: ModelPlace) -> None:
        sends_all = policy.include_in_context and policy.strip == "none"
        is_everything = sends_all and not policy.unbound
        self.ids: frozenset[str] | None = None if is_everything else frozenset()
        """Ids of the reasoning that is sent of the messages added last; ``None`` is all of it."""
        self._asked = asked
        self._unbound = policy.unbound
        self._sends_all = sends_all
        self._beside = rule_for(asked.wire, asked.provider, asked.model).beside
        self._last_only = policy.include_in_context and policy.strip == "all_but_last"
        self._need = need_for(asked.wire, asked.model) is not None
        self._seen: set[str] = set()
        self._is_begun = False
        self._last: frozenset[str] = (
            frozenset()
        )  # the reasoning of the last message that has any
        self._last_is_forced = False  # whether it is beside calls in the last turn
        self._is_open = False  # whether the last turn has an open tool loop
        self._is_forced = (
            False  # whether an open loop needs its reasoning, whatever the policy says
        )
        self._turn_has_any = False  # whether the last turn has reasoning beside calls

    def add(self, messages: Sequence[Message]) -> bool:
        """Take in the next messages; false where they change what is sent of earlier ones.

        False also where they use an id of an earlier one again, as then ids don't tell parts apart. After it nothing
        may be added. The first call takes anything.
        """
        if self.ids is None or not messages:
            return True
        is_first, self._is_begun = not self._is_begun, True
        was_forced = self._is_forced and self._turn_has_any
        had_any, last_was_forced = self._turn_has_any, self._last_is_forced
        newest: frozenset[str] = frozenset()
        with_calls: set[str] = set()
        sent: set[str] = set()
        for message in messages:
            begins, self._is_open = step_in(
                message, beside=self._beside, is_open=self._is_open
            )
            if begins:
                had_any = last_was_forced = self._turn_has_any = self._last_is_forced = (
                    False
                )
                with_calls.clear()
            ids = reasoning_ids(message, self._asked, even_dropped=self._sends_all)
            if not ids or message.id in self._unbound:
                continue
            if not is_first and not self._seen.isdisjoint(ids):
                return False
            self._seen.update(ids)
            if self._sends_all:
                sent.update(ids)
                continue
            newest = frozenset(ids)
            self._last_is_forced = any(
                isinstance(part, ToolCallPart) for part in message.parts
            )
            if self._last_is_forced:
                self._turn_has_any = True
                with_calls.update(ids)
        if self._sends_all:
            self.ids = frozenset(sent)
            return True
        self._is_forced = self._need and self._is_open
        if was_forced != (self._is_forced and had_any):
            return False
        if (
            self._last_only
            and newest
            and self._last
            and not (self._is_forced and last_was_forced)
        ):
            return False
        self._last = newest or self._last
        of_last = newest if self._last_only else frozenset[str]()
        self.ids = of_last | with_calls if self._is_forced else of_last
        return True


class ReasoningStep(NamedTuple):
    """Whether a message begins a turn, and whether a tool loop is open after it."""

    begins: bool
    is_open: bool


def step_of(
    *, is_answer: bool, has_text: bool, has_tools: bool, beside: bool, is_open: bool
) -> ReasoningStep:
    """Whether a message begins a turn, and whether a tool loop is open after it.

    ``has_text``: a user's, as against a tool's results under the user's role. ``has_tools``: calls in an answer,
    results elsewhere. ``beside`` is the rule's: without it a user's text in an open loop does not end the turn.
    """
    if is_answer:
        return ReasoningStep(False, has_tools)
    begins = has_text and (beside or not is_open)
    return ReasoningStep(begins, has_tools or (is_open and not begins))


def step_in(message: Message, *, beside: bool, is_open: bool) -> ReasoningStep:
    """The same, read from the message itself."""
    is_answer = message.role == "assistant"
    tools = ToolCallPart if is_answer else ToolResultPart
    return step_of(
        is_answer=is_answer,
        has_text=message.role == "user"
        and any(not isinstance(part, ToolResultPart) for part in message.parts),
        has_tools=any(isinstance(part, tools) for part in message.parts),
        beside=beside,
        is_open=is_open,
    )


def reasoning_ids(
    message: Message, asked: ModelPlace, *, even_dropped: bool = False
) -> tuple[str, ...]:
    """Ids of the reasoning in an answer that the model asked reads.

    ``even_dropped``: also of what it drops by itself. Later reasoning is bound to it, so it has to stay in place.
    """
    if message.role != "assistant":
        return ()
    ids: list[str] = []
    for part in message.of_type(ReasoningPart):
        is_sent = even_dropped and is_native(part.provider, asked)
        if is_sent or not is_foreign(part.provider, asked):
            ids.append(part.id)
    return tuple(ids)
