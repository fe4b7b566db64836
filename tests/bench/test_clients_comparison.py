from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.clients.client import Lane
from bench.clients.clients import CLIENTS
from bench.clients.comparison import (
    BilledRequest,
    Estimate,
    LaneResult,
    Refusal,
    ScenarioResult,
    compared,
    lane_result,
    refusals,
)
from bench.clients.table import accuracy_table, proxy_table
from ullage_simulators.server import Exchange

CODEX = CLIENTS["codex"]
GEMINI = CLIENTS["gemini-cli"]


def billed(*inputs: int, lane: Lane = "main", shown: bool = True) -> list[BilledRequest]:
    return [BilledRequest(lane, each, shown) for each in inputs]


@pytest.mark.parametrize(
    ("lane", "bills", "read", "wrong", "unread"),
    [
        ("main", billed(10, 20, 30), [10, 20, 30], (), ()),
        ("main", billed(10, 20), [10, 15, 20], (15,), ()),
        ("main", billed(10, 20, 30), [20, 30, 10], (10,), (10,)),
        ("main", billed(10, 20), [10], (), (20,)),
        ("main", [*billed(10), *billed(20, shown=False)], [10], (), ()),
        ("main", [*billed(10), *billed(20, shown=False), *billed(20)], [10, 20], (), ()),
        ("main", billed(10, 20, 20), [10, 20], (), (20,)),
        ("summary", billed(10, 20, lane="summary"), [30], (), ()),
        ("main", billed(10, 20), [30], (30,), (10, 20)),
    ],
)
def test_a_lane_is_read_as_its_bills_in_order(
    lane: Lane, bills: list[BilledRequest], read: list[int], wrong: object, unread: object
) -> None:
    found = lane_result(lane, bills, read)
    assert (found.wrong, found.unread) == (wrong, unread)


def test_titles_and_notes_may_be_missing_in_a_log_and_not_in_a_ledger() -> None:
    lane = LaneResult("other", 1, 0, (), (20,))
    result = ScenarioResult("codex", "1", "text", requests=1, logs=1, lanes=(lane,))
    assert not result.failures
    assert replace(result, by_proxy=True).failures


def test_refusals_name_the_rule_its_confidence_and_how_often() -> None:
    body = {"input": "Hello."}
    refused = Exchange(
        1,
        "openai",
        "POST",
        "/responses",
        400,
        body,
        "too_many_tokens",
        "Too long.\nMore.",
    )
    (found,) = refusals(CODEX, [refused, refused])
    assert (found.rule, found.said, found.times) == ("too_many_tokens", "Too long.", 2)
    assert found.confidence == "quoted"
    assert found.source.startswith("https://")


def test_a_refusal_is_no_failure_where_the_provider_refuses_as_well() -> None:
    body: dict[str, object] = {"contents": []}
    refused = Exchange(1, "gemini", "POST", "/x", 400, body, "result_count", "Ensure.")
    known = refusals(GEMINI, [refused])
    result = ScenarioResult(
        "gemini-cli",
        "1",
        "resume",
        2,
        known,
        logs=1,
        problem="exit 1",
        ended_rightly="it repeats results",
    )
    assert result.failures == []
    assert "gemini-cli/issues" in known[0].rightly


def test_a_refusal_a_lost_log_and_a_wrong_input_are_failures() -> None:
    refusal = Refusal("field_unknown", "https://…", "quoted", "Extra inputs.", 1)
    lanes = (lane_result("main", billed(10, 20), [11]),)
    refused = ScenarioResult("codex", "1", "text", 1, (refusal,))
    assert refused.failures == [
        "refused: field_unknown: Extra inputs.",
        "the client's log was not found or not read",
    ]
    wrong = ScenarioResult("codex", "1", "text", 2, lanes=lanes, logs=1)
    assert wrong.failures == [
        "main: read [11], which was not billed",
        "main: billed [10, 20], which was not read",
    ]


def test_an_estimate_is_of_a_first_call_a_switch_a_compaction_or_a_later_call() -> None:
    first = Estimate(90, 80, 100, 100, first=True)
    switched = Estimate(90, 80, 95, 100, after=("model",))
    compacted = Estimate(90, 80, 95, 100, after=("compaction", "model"))
    later = Estimate(101, 99, 102, 100)
    kinds = [each.kind for each in (first, switched, compacted, later)]
    assert kinds == ["first", "after model", "after compaction", "later"]
    assert first.error_percent == -10
    assert first.is_inside and not switched.is_inside


def test_calls_of_a_subagent_or_a_summary_that_are_not_read_are_failures_without_a_reason() -> (
    None
):
    lane = lane_result("child", billed(10, 20, lane="child"), [10])
    result = ScenarioResult("codex", "1", "subagent", 2, lanes=(lane,), logs=1)
    assert result.failures == ["child: billed [20], which was not read"]
    explained = replace(lane, reason="it logs no answer of a subagent")
    assert replace(result, lanes=(explained,)).failures == []


def test_an_interrupted_call_may_be_read_as_a_call_of_unknown_purpose(
    tmp_path: Path,
) -> None:
    bills = [*billed(10), *billed(20, shown=False)]
    main, other = compared(tmp_path, {}, bills, {}).lanes
    assert (main.billed, main.unread) == (2, (10,))
    assert (other.lane, other.billed, other.unread) == ("other", 1, ())


def test_a_reason_is_a_failure_once_all_calls_are_read() -> None:
    lane = lane_result("summary", billed(10, lane="summary"), [10])
    stale = replace(lane, reason="it logs no summary")
    result = ScenarioResult("codex", "1", "compact", 1, lanes=(stale,), logs=1)
    assert result.failures == [
        "summary: all are read, so its reason is wrong: it logs no summary"
    ]


def test_a_log_is_read_beside_the_bills(tmp_path: Path) -> None:
    log = tmp_path / ".claude" / "projects" / "cellar" / "one.jsonl"
    log.parent.mkdir(parents=True)
    envelope = (
        '"sessionId": "s", "version": "2.1.7", "cwd": "/cellar", "isSidechain": false'
    )
    usage = '{"input_tokens": 12, "output_tokens": 3}'
    content = '[{"type": "text", "text": "Hello back."}]'
    answer = f'"id": "m", "model": "claude-sonnet-4-5", "role": "assistant", "content": {content}'
    log.write_text(
        f'{{"type": "user", "uuid": "a", "parentUuid": null, {envelope}, '
        '"message": {"role": "user", "content": "Hello."}}\n'
        f'{{"type": "assistant", "uuid": "b", "parentUuid": "a", {envelope}, '
        f'"message": {{{answer}, "stop_reason": "end_turn", "usage": {usage}}}}}\n',
        encoding="utf-8",
    )
    found = compared(tmp_path, {}, billed(12), {"child": "none"})
    assert found.logs == 1
    assert found.lanes == (lane_result("main", billed(12), [12]),)
    assert [each.billed for each in found.estimates] == [12]


def test_a_ledger_with_a_line_that_is_not_read_is_a_failure_and_a_log_is_none() -> None:
    ledger = ScenarioResult("pi", "1", "text", logs=1, unread_lines=2, by_proxy=True)
    log = ScenarioResult("pi", "1", "text", logs=1, unread_lines=2)
    assert ledger.failures == ["2 lines of the ledger were not read"]
    assert not log.failures


def test_a_row_of_runs_that_did_not_end_says_so() -> None:
    ended = ScenarioResult("codex", "1", "text", requests=1, logs=1)
    stopped = replace(ended, problem="turn 2: it did not end within 120 s")
    for results, told in (
        ([ended], "none"),
        ([ended, stopped], "none; **1 of 2 runs failed**"),
        ([ended, replace(stopped, ended_rightly="the provider refuses it")], "none"),
    ):
        for table in (accuracy_table(results), proxy_table(results)):
            assert table.rows[0][-1] == told
