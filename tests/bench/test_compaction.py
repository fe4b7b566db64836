"""The compaction bench's own parts: its session, its script, and what it makes of a list of requests."""

from typing import Any

import pytest

from bench.compaction import (
    CLIENTS,
    HERE,
    MODEL,
    SHARES,
    SIZES,
    SUMMARISES,
    TRIGGER,
    Outcome,
    _size,
    judged,
    plan,
    scenario,
    unseen,
)
from ullage.simulators.drawn import draw
from ullage.simulators.prompt import Ask
from ullage.simulators.server import Exchange
from ullage.simulators.wire import Bill

WINDOW = 10_000
PLAYED = scenario(WINDOW)
SERVED = next(model for model in PLAYED.models if model.name == MODEL)
DRAWN = draw(0, SERVED, {})


def exchange(last: str, bill: Bill | None, role: str = "user") -> Exchange:
    body: dict[str, Any] = {"messages": [{"role": role, "content": last}]}
    return Exchange(1, "openai", "POST", "/", 200 if bill else 400, body, bill=bill)


def bill(size: int, read: int = 0, output: int = 10) -> Bill:
    return Bill(1, "openai", MODEL, size, read, 0, output, 0, 0, 0)


def outcome(*exchanges: Exchange) -> Outcome:
    return judged(exchanges, DRAWN, SERVED)


def test_the_session_is_the_same_at_every_run() -> None:
    assert plan(5) == plan(5)
    assert len(plan(5)["turns"]) == 5


@pytest.mark.parametrize(("share", "size"), [*zip(SHARES, SIZES, strict=True), (0.0, 0), (1.0, SIZES[-1])])
def test_sizes_follow_the_recorded_quantiles(share: float, size: int) -> None:
    assert _size(share) == size


def test_every_client_has_its_script() -> None:
    assert all((HERE / "peers" / client.script).exists() for client in CLIENTS)


@pytest.mark.parametrize("marker", SUMMARISES)
def test_each_clients_request_for_a_summary_is_answered_by_the_same_text(marker: str) -> None:
    answers = {PLAYED.answer(Ask(1, text=f"{marker} …"), MODEL, {}).text for marker in SUMMARISES}
    assert len(answers) == 1
    assert outcome(exchange(marker, bill(500))).summaries == 1


def test_a_session_that_only_grows_has_neither_compactions_nor_losses() -> None:
    found = outcome(exchange("Turn 1", bill(2_000)), exchange("Turn 2", bill(2_100, read=1_920)))
    assert (found.compactions, found.lost, found.early, found.late) == (0, 0, 0, 0)
    assert (found.sent, found.uncached, found.billed) == (4_100, 2_180, 4_120)


def test_a_request_that_begins_otherwise_is_a_compaction_and_what_the_cache_held_of_it_is_lost() -> None:
    found = outcome(exchange("Turn 1", bill(7_990)), exchange("Turn 2 " * 20, bill(3_000, read=1_024)))
    assert (found.compactions, found.lost, found.early) == (1, 1_976, 0)


def test_a_compaction_well_below_the_threshold_fired_early() -> None:
    assert outcome(exchange("Turn 1", bill(5_000)), exchange("Turn 2", bill(3_000))).early == 1


def test_a_request_above_the_threshold_was_sent_late() -> None:
    assert outcome(exchange("Turn 1", bill(round(TRIGGER * WINDOW) + 1))).late == 1


def test_a_refused_request_is_counted_and_costs_nothing() -> None:
    found = outcome(exchange("Turn 1", None))
    assert (found.refused, found.sent) == (1, 0)


def test_a_request_too_small_for_the_cache_loses_nothing() -> None:
    assert outcome(exchange("Turn 1", bill(900)), exchange("Turn 2", bill(950))).compactions == 0


def test_words_that_are_in_no_summary_and_not_in_view_are_lost_unseen() -> None:
    summary = exchange(f"{SUMMARISES[0]}: Turn 1: a", bill(900))
    talk = [
        exchange("Turn 1: a", bill(900)),
        exchange("Turn 2: b", bill(900)),
        summary,
        exchange("Turn 3: c", bill(90)),
    ]
    assert unseen(talk, ["Turn 1: a", "Turn 2: b", "Turn 3: c"]) == 1
