"""The running sums of reasoning come to what ``tests.reasoning_in_full`` counts by going through the messages."""

from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.meter.session import answer, result, said, usage
from tests.reasoning_in_full import select
from tests.tiers import examples
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    PolicyChanged,
    Pruned,
    Rewound,
    SessionStarted,
    Uncompacted,
)
from ullage.messages import Message, ProviderData, ReasoningPart, ToolResultPart
from ullage.meter.fold import Fold
from ullage.meter.window import Limits
from ullage.reasoning import Maker, ReasoningPolicy
from ullage.tokens.calibration import Calibration

PLACES = (
    Maker("messages", "anthropic", "claude-opus-4-5"),
    Maker("messages", "bedrock", "claude-haiku-4-5"),
    Maker("responses", "openai", "gpt-5"),
    Maker("responses", "openai", "gpt-5-mini"),
    Maker("chat", "openai", "gpt-4o"),
    Maker("chat", "zai", "glm-4.7"),
    Maker("chat", "xai", "grok-4-fast"),
    Maker("chat", "deepseek", "deepseek-reasoner"),
    Maker("generateContent", "google", "gemini-3-flash-preview"),
)


class Told(NamedTuple):
    """What is done next, by its kind, and what it is done with."""

    kind: str
    place: Maker = PLACES[0]
    foreign: Maker | None = None
    thinks: bool = True
    calls: int = 0
    reported: int | None = None
    ends: bool = True
    pick: int = 0
    policy: ReasoningPolicy = ReasoningPolicy()


KINDS = (
    "user",
    "loop",
    "loop",
    "answer",
    "answer",
    "results",
    "steer",
    "model",
    "policy",
    "rewind",
)
RARE = ("prune", "compact", "uncompact", "edit", "note")

tellings = st.lists(
    st.builds(
        Told,
        kind=st.sampled_from(KINDS * 2 + RARE),
        place=st.sampled_from(PLACES),
        foreign=st.sampled_from((*[None] * 2 * len(PLACES), *PLACES)),
        thinks=st.booleans(),
        calls=st.integers(0, 2),
        reported=st.none() | st.integers(0, 900),
        ends=st.booleans(),
        pick=st.integers(0, 50),
        policy=st.builds(
            ReasoningPolicy,
            include_in_context=st.booleans() | st.just(True),
            strip=st.sampled_from(("none", "none", "all", "all_but_last")),
        ),
    ),
    max_size=16,
)


class Telling:
    """A session that is told step by step, and the fold of it."""

    def __init__(self, place: Maker) -> None:
        self.fold = Fold(
            limits=Limits(),
            calibration=Calibration(),
            estimator="pretoken",
            policy=ReasoningPolicy(),
        )
        self.place = place
        self.count = 0
        self.open: list[str] = []
        self.compactions: list[str] = []
        self.apply(
            SessionStarted(
                model=self.place.model, wire=self.place.wire, provider=self.place.provider
            )
        )

    def apply(self, event: Event) -> None:
        self.count += 1
        self.fold.apply(replace(event, seq=self.count))

    def tell(self, told: Told) -> None:
        name = f"m{self.count}"
        ids = list(self.fold.view.entries)
        match told.kind:
            case "user":
                self.apply(MessageAdded(message=said(name, "go on")))
            case "note":
                self.apply(
                    MessageAdded(message=said(name, "mind the budget", role="system"))
                )
            case "answer":
                self.answer(name, told)
            case "loop":
                self.apply(MessageAdded(message=said(f"{name}.user", "go on")))
                self.answer(name, told._replace(thinks=True, calls=1))
                self.results(name)
            case "results":
                self.results(name)
            case "steer":
                self.results(name)
                self.apply(MessageAdded(message=said(f"{name}.steer", "be quick")))
            case "model":
                self.place = told.place
                self.apply(
                    ModelChanged(
                        model=told.place.model,
                        wire=told.place.wire,
                        provider=told.place.provider,
                    )
                )
            case "policy":
                self.apply(
                    PolicyChanged(
                        include_in_context=told.policy.include_in_context,
                        strip=told.policy.strip,
                    )
                )
            case "prune":
                parts = [
                    part.id
                    for entry in self.fold.view
                    for part in entry.message.of_type(ToolResultPart)
                ]
                self.apply(Pruned(prune=name, parts=tuple(parts)[: told.pick]))
            case "compact" if ids:
                self.compactions.append(name)
                cut = told.pick % len(ids)
                is_behind = told.calls > 0 and cut > 0
                gone = tuple(ids[cut:] if is_behind else ids[:cut])
                self.apply(
                    CompactionCommitted(
                        compaction=name,
                        summary=said(f"{name}.s", "before"),
                        summarised=gone,
                        behind=ids[cut - 1] if is_behind else "",
                    )
                )
            case "uncompact" if self.compactions:
                size = len(self.compactions)
                self.apply(Uncompacted(compaction=self.compactions[told.pick % size]))
            case "rewind" if ids:
                self.apply(Rewound(to=ids[told.pick % len(ids)]))
            case "edit" if ids:
                old = self.fold.view.entries[ids[told.pick % len(ids)]].message
                self.apply(
                    MessageReplaced(
                        message=replace(
                            old, revision=old.revision + 1, parts=old.parts[told.calls :]
                        )
                    )
                )
            case _:
                pass

    def answer(self, name: str, told: Told) -> None:
        """A call and its answer, with the model's own reasoning or another's; not every call says what it took."""
        maker = told.foreign or self.place
        made = answer(
            name,
            "so be it",
            reasoning="a thought " * 9 if told.thinks else "",
            calls=told.calls,
            call=name,
        )
        reported = usage(5_000, 1_000, reasoning=told.reported if told.thinks else None)
        self.apply(CallStarted(call=name))
        ended = CallEnded(
            call=name,
            outcome="finished" if told.ends else "cancelled",
            usage=reported if told.ends else None,
        )
        added = MessageAdded(message=made_by(made, maker))
        for event in (ended, added) if told.pick % 2 else (added, ended):
            self.apply(event)
        self.open = [f"{name}-{number}" for number in range(told.calls)]

    def results(self, name: str) -> None:
        for number, call in enumerate(self.open):
            self.apply(MessageAdded(message=result(f"{name}.{number}", call, "done")))
        self.open = []

    def selected(self) -> float:
        """Tokens of what ``select`` counts."""
        fold = self.fold
        entries = list(fold.view)
        chosen = select(
            [entry.message for entry in entries],
            fold.policy,
            wire=fold.wire,
            provider=fold.provider,
            model=fold.model,
        )
        holders = [
            one
            for one in entries
            if chosen.counted & {part.id for part in one.message.of_type(ReasoningPart)}
        ]
        return sum(
            fold.forecaster.hidden(entry, fold.usages.get(entry.call))
            for entry in holders
        )

    def summed(self) -> float:
        """Tokens that the meter's sums come to, where no rule was turned round by what was seen."""
        self.fold.calibration = Calibration()
        return self.fold.earlier_reasoning(with_last=True)


def made_by(message: Message, maker: Maker) -> Message:
    data = ProviderData(
        data=msgspec.Raw(b"{}"),
        wire=maker.wire,
        provider=maker.provider,
        model=maker.model,
    )
    parts = tuple(
        replace(part, provider=data) if isinstance(part, ReasoningPart) else part
        for part in message.parts
    )
    return replace(message, parts=parts)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(st.sampled_from(PLACES), tellings)
def test_at_every_step_the_sums_are_what_is_selected(
    place: Maker, told: list[Told]
) -> None:
    telling = Telling(place)
    for each in told:
        telling.tell(each)
        assert telling.summed() == pytest.approx(telling.selected(), abs=1e-6)
