"""A call that pays for its prompt again is a miss, with the reason that the session shows."""

import json

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tests.advice.story import Story, found, prose
from tests.meter.session import tool
from ullage.advice.cache_misses import cache_misses
from ullage.advice.history import history_of
from ullage.events import (
    CallEnded,
    CompactionCommitted,
    Event,
    ModelChanged,
    ToolsChanged,
)

LONG = "go\n" + prose(1_200)


def misses(events: list[Event]) -> list[tuple[int, str]]:
    return [(each.row.number, each.reason) for each in cache_misses(history_of(events))]


@pytest.mark.parametrize(
    ("pause_s", "reason"), [(20, "unknown"), (400, "pause_5m"), (4_000, "pause_1h")]
)
def test_a_pause_before_a_miss_is_its_reason(pause_s: float, reason: str) -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=pause_s).chat(2)
    assert misses(story.billed(lost=frozenset({3}))) == [(3, reason)]


def kept_for_an_hour(events: list[Event]) -> list[Event]:
    """The same bills, with all that was written kept for an hour."""
    longer: list[Event] = []
    for event in events:
        if isinstance(event, CallEnded) and event.usage is not None:
            written = event.usage.cache_write or 0
            raw = json.dumps({"cache_creation": {"ephemeral_1h_input_tokens": written}})
            usage = replace(event.usage, raw=Raw(raw.encode()))
            longer.append(replace(event, usage=usage))
        else:
            longer.append(event)
    return longer


@pytest.mark.parametrize(("pause_s", "reason"), [(400, "unknown"), (4_000, "pause_1h")])
def test_pause_is_no_reason_while_the_cache_is_kept(pause_s: float, reason: str) -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=pause_s).chat(2)
    events = kept_for_an_hour(story.billed(lost=frozenset({3})))
    assert misses(events) == [(3, reason)]


def test_a_miss_of_what_is_kept_for_an_hour_costs_twice_the_input() -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=4_000).chat(2)
    (miss,) = cache_misses(
        history_of(kept_for_an_hour(story.billed(lost=frozenset({3}))))
    )
    # claude-haiku-4-5: input $1.00, read for $0.10 a million
    assert miss.usd == pytest.approx(miss.again * 1.90 / 1_000_000)


def test_a_change_of_the_tools_or_the_model_is_a_reason() -> None:
    changed = ToolsChanged(tools=(tool("Read"),))
    story = Story().user(LONG).chat(2).then(changed).chat(2)
    assert misses(story.billed(lost=frozenset({3}))) == [(3, "tools")]
    other = ModelChanged(model="claude-opus-4-5")
    story = Story().user(LONG).chat(2).then(other).chat(2)
    assert misses(story.billed(lost=frozenset({3}))) == [(3, "model")]


def test_a_compaction_a_hit_and_a_session_without_a_cache_are_no_misses() -> None:
    assert misses(Story().user(LONG).chat(4).billed()) == []
    every = frozenset(range(1, 9))
    assert misses(Story().user(LONG).chat(4).billed(lost=every)) == []
    compacted = CompactionCommitted(compaction="k", summarised=("c1.a",))
    story = Story().user(LONG).chat(2).then(compacted).chat(2)
    assert misses(story.billed(lost=frozenset({3}))) == []


def test_a_miss_costs_the_difference_of_the_prices() -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=400).chat(2)
    suggestion = found(story.billed(lost=frozenset({3})), "cache")
    assert suggestion is not None
    again = suggestion.saving.so_far
    assert again > 10_000
    assert suggestion.saving.usd is not None
    # claude-haiku-4-5: written for $1.25, read for $0.10 a million
    assert suggestion.saving.usd == pytest.approx(again * 1.15 / 1_000_000)
    assert suggestion.saving.tokens == 0


def test_what_to_do_depends_on_the_reason() -> None:
    late = Story().user(LONG).chat(2).answer("late", pause_s=400).chat(2)
    suggestion = found(late.billed(lost=frozenset({3})), "cache")
    assert suggestion is not None
    assert "before a pause" in suggestion.how
    unknown = found(Story().user(LONG).chat(5).billed(lost=frozenset({3})), "cache")
    assert unknown is not None
    assert unknown.how.startswith("nothing is known to help")
