"""What the plug-in bench makes of a list of requests, on any wire."""

from typing import Any

import pytest

from bench.long_sessions import LongSession
from bench.plugins.frameworks import PLAIN_CHAT, Framework
from bench.plugins.outcome import PluginOutcome, outcome
from bench.plugins.scenarios import ASKED_FOR_SUMMARY, Played, Step
from ullage_simulators.server import Exchange
from ullage_simulators.wire import Bill

FRAMEWORK = Framework("Cask", (PLAIN_CHAT,), summaries=("Sum up the cask",))
TURNS = ["Look at the first valve.", "Look at the second valve."]


def bill(size: int, read: int = 0) -> Bill:
    return Bill(1, "openai", "m", size, read, 0, 10, 0, 0, 0)


def exchange(
    *said: str, size: int = 100, read: int = 0, refused: bool = False
) -> Exchange:
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": each} for each in said]
    }
    paid = None if refused else bill(size, read)
    return Exchange(1, "openai", "POST", "/", 400 if refused else 200, body, bill=paid)


def found(*exchanges: Exchange, steps: list[Step] | None = None) -> PluginOutcome:
    made = steps or [Step(said, "m") for said in TURNS]
    played = Played(LongSession("system"), 1_000, [made])
    return outcome(exchanges, played, FRAMEWORK)


def test_input_and_output_are_billed_and_what_the_cache_had_is_left_out_of_uncached() -> (
    None
):
    one = found(exchange(TURNS[0]), exchange(*TURNS, size=200, read=128))
    assert (one.calls, one.billed, one.uncached) == (2, 320, 172)
    one = found(exchange(TURNS[0], refused=True))
    assert (one.calls, one.refused, one.billed) == (1, 1, 0)
    assert [found(exchange(TURNS[0], size=size)).above for size in (800, 801)] == [0, 1]


def test_a_cancelled_call_is_not_billed_as_nobody_can_know_its_usage() -> None:
    step = Step("At length.", "m", streams=True, stop_after=2)
    one = found(exchange("At length."), steps=[step])
    assert (one.cancelled, one.billed, one.uncached) == (1, 0, 100)


def test_a_request_for_a_summary_that_quotes_a_cancelled_turn_is_billed() -> None:
    step = Step("At length.", "m", streams=True, stop_after=2)
    one = found(exchange(f"{ASKED_FOR_SUMMARY[0]}: At length."), steps=[step])
    assert (one.cancelled, one.summaries, one.billed) == (0, 1, 110)


@pytest.mark.parametrize("marker", [*ASKED_FOR_SUMMARY, *FRAMEWORK.summaries])
def test_requests_for_summaries_are_told_by_their_last_message(marker: str) -> None:
    one = found(exchange(marker), exchange(marker, TURNS[0]))
    assert one.summaries == 1


def test_turns_in_a_summary_or_in_the_last_request_are_not_lost() -> None:
    summary = exchange(TURNS[0], ASKED_FOR_SUMMARY[0])
    assert found(exchange(TURNS[0]), summary, exchange(TURNS[1])).unseen == 0
    assert found(exchange(TURNS[0]), exchange(TURNS[1])).unseen == 1
    short = [Step("ok", "m")]
    assert found(exchange(TURNS[0]), steps=short).unseen == 0


@pytest.mark.parametrize(
    "body",
    [
        {"input": [{"role": "user", "content": "x"}, {"content": ASKED_FOR_SUMMARY[0]}]},
        {"contents": [{"role": "user", "parts": [{"text": ASKED_FOR_SUMMARY[0]}]}]},
    ],
    ids=["responses", "gemini"],
)
def test_requests_of_other_wires_are_read_as_well(body: dict[str, Any]) -> None:
    one = Exchange(1, "openai", "POST", "/", 200, body, bill=bill(10))
    assert found(one).summaries == 1


def test_each_missed_target_is_named() -> None:
    plain = PluginOutcome(calls=1, uncached=100)
    good = PluginOutcome(calls=1, billed=9, counted=9, uncached=105)
    assert good.failures(plain) == []
    bad = PluginOutcome(
        calls=1, refused=1, failed_turns=2, billed=9, counted=8, uncached=106
    )
    assert bad.failures(plain) == [
        "1 refused",
        "2 failed turns",
        "counted 8 and billed 9",
        "uncached +6.0% against the plain SDK",
    ]
    assert PluginOutcome().failures(None) == ["no call was made"]
