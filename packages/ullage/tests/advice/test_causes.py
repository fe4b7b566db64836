"""A call that pays for its prompt again has a cause, by name: from the bodies that were sent, or from the ledger."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from tests.advice.story import Story, found, prose
from tests.meter.session import tool
from ullage.advice.cause import Cause
from ullage.advice.causes import CauseFollower, SentCall
from ullage.advice.history import history_of
from ullage.advice.lives import CallRow
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    ModelChanged,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import Request, SystemBlock
from ullage.meter.meter import Meter
from ullage.usage import CacheVerdict

LONG = "go\n" + prose(1_200)


def causes(events: list[Event]) -> dict[int, Cause]:
    """The causes by the number of the call."""
    found: dict[int, Cause] = {}
    for row in history_of(events).calls:
        if row.cause is not None:
            found[row.number] = row.cause
    return found


def cause_of(story: Story, number: int = 3) -> Cause:
    """The one cause of a story in which this call found nothing in the cache."""
    ((at, cause),) = causes(story.billed(lost=frozenset({number}))).items()
    assert at == number
    return cause


# -- from the ledger --


@pytest.mark.parametrize(
    ("pause_s", "kind"), [(20, "provider"), (400, "pause"), (4_000, "pause")]
)
def test_a_pause_before_a_miss_is_its_cause(pause_s: float, kind: str) -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=pause_s).chat(2)
    assert cause_of(story).kind == kind


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


@pytest.mark.parametrize(("pause_s", "kind"), [(400, "provider"), (4_000, "pause")])
def test_a_pause_is_no_cause_while_the_cache_is_kept(pause_s: float, kind: str) -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=pause_s).chat(2)
    events = kept_for_an_hour(story.billed(lost=frozenset({3})))
    assert causes(events)[3].kind == kind


def test_a_miss_costs_the_difference_of_the_prices() -> None:
    story = Story().user(LONG).chat(2).answer("late", pause_s=4_000).chat(2)
    events = story.billed(lost=frozenset({3}))
    # claude-haiku-4-5: input $1.00, written for $1.25 or twice the input, read for $0.10 a million
    for billed, price in ((events, 1.15), (kept_for_an_hour(events), 1.90)):
        cause = causes(billed)[3]
        assert cause.tokens > 10_000
        assert cause.usd == pytest.approx(cause.tokens * price / 1_000_000)


def test_changes_that_the_ledger_holds_are_named() -> None:
    came = ToolsChanged(tools=(tool("Read"),))
    cause = cause_of(Story().user(LONG).chat(2).then(came).chat(2))
    assert (cause.kind, cause.name, cause.by) == ("tool_added", "Read", "log")
    blocks = (SystemBlock(text="You are it. Today is Monday, and all is well."),)
    other = (SystemBlock(text="You are it. Today is Tuesday, and all is well."),)
    story = Story(system=blocks).user(LONG).chat(2).then(SystemChanged(system=other))
    cause = cause_of(story.chat(2))
    assert (cause.kind, cause.words) == (
        "system",
        "system block 0 changed at byte 21 (a date or time)",
    )
    assert "Monday" in cause.quote
    assert "Tuesday" in cause.quote
    moved = ModelChanged(model="claude-opus-4-5")
    assert cause_of(Story().user(LONG).chat(2).then(moved).chat(2)).kind == "model"


def test_without_content_nothing_is_quoted() -> None:
    blocks = (SystemBlock(text="Today is Monday."),)
    changed = SystemChanged(system=(SystemBlock(text="Today is Tuesday."),))
    story = Story(system=blocks).user(LONG).chat(2).then(changed).chat(2)
    history = history_of(story.billed(lost=frozenset({3}))).without_content()
    assert "day" not in repr([row.cause for row in history.calls])


def test_a_hit_a_session_without_a_cache_and_a_compaction_have_no_cause() -> None:
    assert causes(Story().user(LONG).chat(4).billed()) == {}
    every = Story().user(LONG).chat(4).billed(lost=frozenset(range(1, 9)))
    assert causes([unwritten(event) for event in every]) == {}
    compacted = CompactionCommitted(compaction="k", summarised=("c1.a",))
    story = Story().user(LONG).chat(2).then(compacted).chat(2)
    assert found(story.billed(lost=frozenset({3})), "cache") is None


def unwritten(event: Event) -> Event:
    """The end of a call as a provider reports it that has no cache."""
    if isinstance(event, CallEnded) and event.usage is not None:
        return replace(event, usage=replace(event.usage, cache_write=None))
    return event


def test_a_cache_that_was_written_and_never_read_has_a_cause() -> None:
    """Before the first read, too: all calls write, and none finds anything."""
    blocks = (SystemBlock(text="Now 12:01."),)
    story = Story(system=blocks).user(LONG).chat(1)
    story.then(SystemChanged(system=(SystemBlock(text="Now 12:02."),))).chat(1)
    ((number, cause),) = causes(story.billed(lost=frozenset({2}))).items()
    assert (number, cause.kind) == (2, "system")


def test_a_log_that_lacks_the_system_prompt_says_that_it_does_not_know() -> None:
    events = Story().user(LONG).chat(5).billed(lost=frozenset({3}))
    events[0] = replace(events[0], unlogged=("system", "tools"))
    (cause,) = causes([events[0], *events[3:]]).values()
    assert cause.kind == "unknown"


def test_the_providers_verdict_comes_first() -> None:
    events = Story().user(LONG).chat(5).billed(lost=frozenset({3}))
    said = CacheVerdict(reason="tools_changed", tokens=9_000)
    told: list[Event] = []
    for event in events:
        if isinstance(event, CallEnded) and event.call == "c3" and event.usage:
            usage = replace(event.usage, verdict=said)
            told.append(replace(event, usage=usage))
        else:
            told.append(event)
    assert (causes(told)[3].kind, causes(told)[3].by) == ("tools", "provider")


def test_what_the_ledger_knows_makes_the_verdict_exact() -> None:
    came = ToolsChanged(tools=(tool("Read"),))
    events = Story().user(LONG).chat(2).then(came).chat(2).billed(lost=frozenset({3}))
    last = [each for each in events if isinstance(each, CallEnded)][2]
    assert last.usage is not None
    usage = replace(last.usage, verdict=CacheVerdict(reason="tools_changed"))
    told = [replace(last, usage=usage) if each is last else each for each in events]
    assert (causes(told)[3].kind, causes(told)[3].by) == ("tool_added", "provider")


def test_what_to_do_depends_on_the_cause() -> None:
    late = Story().user(LONG).chat(2).answer("late", pause_s=400).chat(2)
    suggestion = found(late.billed(lost=frozenset({3})), "cache")
    assert suggestion is not None
    assert "before a pause" in suggestion.how
    assert "a pause of 7 minutes" in suggestion.title
    own = found(Story().user(LONG).chat(5).billed(lost=frozenset({3})), "cache")
    assert own is not None
    assert own.how.startswith("nothing is known to help")


# -- before a call --


def expected(story: Story, *changes: Event, wait_s: float = 10) -> Cause | None:
    """What is known of the next call of a story, after these changes."""
    meter, followed = Meter(), CauseFollower()
    at = 0.0
    for event in story.billed():
        meter.apply(event)
        followed.follow(event, meter._fold)
        at = max(at, event.at)
    for event in changes:
        meter.apply(event)
    return followed.expected(meter._fold, at + wait_s)


def test_a_change_or_a_cold_cache_is_known_before_the_call() -> None:
    story = Story().user(LONG).chat(3)
    assert expected(story) is None
    tools = expected(story, ToolsChanged(tools=(tool("Read"),)))
    assert tools is not None
    assert (tools.kind, tools.name) == ("tool_added", "Read")
    assert tools.tokens > 10_000
    model = expected(story, ModelChanged(model="claude-opus-4-5"))
    assert model is not None
    assert model.kind == "model"
    cold = expected(story, wait_s=1_200)
    assert cold is not None
    assert cold.line.endswith("the last call is 20 minutes ago")


def test_a_session_that_was_opened_again_is_cold_after_an_hour() -> None:
    meter = Meter()
    for event in Story().user(LONG).chat(3).billed():
        meter.apply(event)
    at = meter.steps[-1].at
    cold = CauseFollower().expected(meter._fold, at + 7_300)
    assert cold is not None
    assert cold.kind == "pause"
    assert CauseFollower().expected(meter._fold, at + 600) is None


# -- from bodies --


def body() -> dict[str, Any]:
    """A request of a program, with a cache mark."""
    mark = {"type": "ephemeral"}
    tools = []
    for name in "ABCD":
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        tools.append({"name": name, "description": "d" * 500, "input_schema": schema})
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be it.", "cache_control": mark}],
        "tools": tools,
        "messages": [{"role": "user", "content": [{"type": "text", "text": LONG}]}],
    }


def metered(change: Callable[[dict[str, Any]], object]) -> list[Event]:
    """Five requests, of which the last is changed and finds nothing in the cache."""
    events: list[Event] = []
    meter = Meter(provider="anthropic", on_event=events.append)
    growing, held = body(), 0
    for number in range(5):
        sent = copy.deepcopy(growing)
        if number == 4:
            change(sent)
            held = 0
        call = meter.before(sent).call
        whole = 14_000 + 100 * number
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": held,
            "cache_creation_input_tokens": whole - held,
            "output_tokens": 5,
        }
        meter.after(call, usage)
        held = whole
        for role in ("assistant", "user"):
            text = {"type": "text", "text": f"{role} {number}"}
            growing["messages"].append({"role": role, "content": [text]})
    return events


def test_a_change_that_no_codec_keeps_is_not_surely_the_provider_s_miss() -> None:
    ((_, cause),) = causes(
        metered(lambda sent: sent["tools"][1].update(strict=True))
    ).items()
    assert cause.kind == "provider"
    assert cause.words.endswith(
        "or a tool's field beside its schema and description, such as strict"
    )


def test_a_claude_is_known_however_its_name_is_written() -> None:
    row = CallRow(number=1, used=3_000, written=0)
    for wire, model in (
        ("chat", "anthropic/Claude-Opus-4.6"),
        ("converse", "arn:profile"),
    ):
        request = Request(wire=wire, model=model)
        assert SentCall("a", 0, request, True, row=row).held == 0
    assert SentCall("a", 0, Request(wire="chat", model="gpt-5"), True, row=row).held > 0


@pytest.mark.parametrize("model", ["claude-opus-4-6", "unheard-of"])
def test_a_prompt_that_was_not_written_is_not_missed(model: str) -> None:
    """Some models cache from 4,096 tokens on: below, an answer says that nothing was written."""
    events: list[Event] = []
    meter = Meter(provider="anthropic", on_event=events.append)
    growing = body() | {"model": model}
    for whole, written in ((3_020, 0), (5_500, 5_490), (5_600, 0)):
        call = meter.before(growing).call
        held = 5_490 if whole > 5_500 else 0
        usage = {
            "input_tokens": whole - written - held,
            "cache_read_input_tokens": held,
            "cache_creation_input_tokens": written,
            "output_tokens": 5,
        }
        meter.after(call, usage)
        growing["messages"].append({"role": "assistant", "content": f"{whole}"})
        growing["messages"].append({"role": "user", "content": "Go on."})
    assert causes(events) == {}


def unmark(sent: dict[str, Any]) -> None:
    del sent["system"][0]["cache_control"]


@pytest.mark.parametrize(
    ("change", "kind", "name"),
    [
        (lambda sent: sent["tools"].reverse(), "tools_reordered", "D"),
        (lambda sent: sent["tools"].pop(1), "tool_removed", "B"),
        (lambda sent: sent["tools"][2].update(description="e"), "tool_changed", "C"),
        (lambda sent: sent["messages"].pop(3), "messages_removed", "message 4 "),
        (lambda sent: sent["messages"][0].update(content=LONG + "!"), "message_edited", "message 1 "),
        (lambda sent: sent.update(thinking={"type": "adaptive"}), "setting", "thinking"),
        (unmark, "marks", "system block 0"),
        (lambda sent: None, "provider", ""),
    ],
)  # fmt: skip
def test_the_first_difference_of_two_bodies_is_named(
    change: Callable[[dict[str, Any]], object], kind: str, name: str
) -> None:
    ((number, cause),) = causes(metered(change)).items()
    assert (number, cause.kind, cause.by) == (5, kind, "bodies")
    assert cause.name.startswith(name)
    assert cause.tokens > 10_000


def test_a_step_back_pays_nothing_again() -> None:
    """The last request goes on from the second one, whose cache it finds."""

    def back(sent: dict[str, Any]) -> None:
        del sent["messages"][3:]
        sent["messages"].append({"role": "user", "content": "something else"})

    events = metered(back)
    ended = events[-1]
    assert isinstance(ended, CallEnded)
    assert ended.usage is not None
    usage = replace(ended.usage, cache_read=14_100, cache_write=2_000)
    assert causes([*events[:-1], replace(ended, usage=usage)]) == {}


def test_only_what_is_new_of_a_body_is_kept() -> None:
    events = metered(lambda sent: None)
    sizes = [
        len(event.sent.items)
        for event in events
        if isinstance(event, CallStarted) and event.sent is not None
    ]
    assert sizes == [7, 2, 2, 2, 2]
