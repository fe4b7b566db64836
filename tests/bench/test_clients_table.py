from bench.clients.comparison import Estimate, LaneResult, Refusal, ScenarioResult
from bench.clients.table import accuracy_table, line, proxy_table, refusal_table, summary
from bench.results import with_table
from scripts.house.pages import ROOT

GOOD = ScenarioResult(
    "codex",
    "0.169.0",
    "tools",
    requests=2,
    lanes=(LaneResult("main", 2, 2, (), ()), LaneResult("summary", 1, 0, (), ())),
    estimates=(
        Estimate(70, 60, 110, 100, first=True),
        Estimate(201, 190, 210, 200),
        Estimate(150, 140, 160, 200, after=("compaction",)),
    ),
    logs=1,
)
REFUSED = ScenarioResult(
    "codex",
    "0.169.0",
    "text",
    requests=1,
    refusals=(Refusal("param_unknown", "https://…", "assumed", "Unknown parameter.", 1),),
)
SKIPPED = ScenarioResult("codex", "0.169.0", "compact", skipped="it takes no commands")


def test_a_line_tells_what_was_compared() -> None:
    assert line(GOOD) == (
        "Codex        tools                 2 requests, 0 refused; main 2/2, summary 0/1; error 0.50 %, worst 0.5 %; "
        "first -30.0 %; after compaction -25.0 %"
    )


def test_a_line_names_each_failure_and_each_reason_of_skipping() -> None:
    assert "\n    refused: param_unknown: Unknown parameter." in line(REFUSED)
    assert line(SKIPPED).endswith("not run: it takes no commands")


def test_the_summary_names_what_failed() -> None:
    assert summary([GOOD, REFUSED, SKIPPED]) == (
        "\n2 scenarios ran, 1 not run; failed: codex text."
    )
    assert summary([GOOD]) == "\n1 scenarios ran, 0 not run; none failed."


def test_a_client_has_one_row() -> None:
    (row,) = accuracy_table([GOOD, REFUSED, SKIPPED]).rows
    assert row == (
        "Codex 0.169.0",
        "2 of 2, summary 0 of 1",
        "0.50 / 0.5 / 0.5 %",
        "-30.0 %",
        "-25.0 %",
        "none",
        "2 of 3",
    )


def test_each_refused_rule_is_listed_once_with_what_is_known_of_it() -> None:
    (row,) = refusal_table([REFUSED, REFUSED]).rows
    assert row == ("Codex: `param_unknown`", "2", "assumed", "**to be put right**")
    assert refusal_table([GOOD]).rows == (("none", "0", "", ""),)


def test_the_page_has_the_table_that_a_run_replaces() -> None:
    page = (ROOT / "bench" / "RESULTS.md").read_text("utf-8")
    assert "| Codex 0.169.0 | 2 of 2, summary 0 of 1 |" in with_table(
        page, accuracy_table([GOOD, REFUSED])
    )


def test_the_proxys_table_counts_the_bills_of_each_lane() -> None:
    (row,) = proxy_table([GOOD]).rows
    assert row[:5] == ("Codex 0.169.0", "2 of 2", "–", "0 of 1", "–")
    assert row[5] == "-30.0 %"
