import json
from collections.abc import Mapping

import pytest

from tests.importers.folding import FIXTURES, Folded
from ullage.importers import ImportedSession, read
from ullage.meter.meter import Meter
from ullage_programs.codex.log import CodexReader
from ullage_programs.policy import CODEX_SEARCH, CODEX_SEARCH_LATER


def imported(name: str) -> ImportedSession:
    return read(FIXTURES / "codex" / f"{name}.jsonl")


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "codex" / f"{name}.jsonl").read_bytes().splitlines()


def test_tools_that_are_not_logged_still_count_after_a_compaction() -> None:
    meter = Meter()
    for event in imported("marked_summary").events:
        meter.apply(event)
    after = meter.steps[2]
    assert after.error_percent is not None
    assert abs(after.error_percent) < 2


def test_a_log_of_usages_alone_is_read_as_calls() -> None:
    source = [line for line in lines("session") if b"response_item" not in line]
    reader = CodexReader()
    assert Folded([*reader.feed(source), *reader.settle()]).inputs() == [9000, 9200, 9300]


def test_a_record_of_the_usage_beside_its_event_is_not_a_second_call() -> None:
    record = (
        b'{"timestamp":"2026-02-03T11:02:00Z","type":"token_usage_record","payload":{"response_id":"resp_1","usage":'
        b'{"input_tokens":9000,"cached_input_tokens":4000,"output_tokens":120,"reasoning_output_tokens":64,'
        b'"total_tokens":9120}}}'
    )
    for position in (10, 11):  # before and after its token_count
        source = lines("session")
        source.insert(position, record)
        reader = CodexReader()
        assert Folded([*reader.feed(source), *reader.settle()]).inputs() == [
            9000,
            9200,
            9300,
        ]


def test_a_log_that_names_no_program_is_one_of_its_format() -> None:
    reader = CodexReader()
    prompt = {"type": "message", "role": "user", "content": []}
    line = {"type": "response_item", "payload": prompt}
    reader.feed([json.dumps(line).encode()])
    assert reader.imported(reader.settle()).program == "codex"


Line = tuple[str, Mapping[str, object]]


def rollout(instructions: str, *payloads: Line) -> Meter:
    """A session with these lines after its first call of 9,000 tokens."""
    meta: dict[str, object] = {"id": "s", "cli_version": "0.142.5"}
    if instructions:
        meta["base_instructions"] = {"text": instructions}
    start: list[Line] = [
        ("session_meta", meta),
        ("turn_context", {"model": "gpt-5.5"}),
        ("response_item", message("user", "go")),
        ("response_item", message("assistant", "done")),
        ("event_msg", bill(9_000, 10)),
    ]
    reader, meter = CodexReader(), Meter()
    source = [
        json.dumps(
            {"timestamp": "2026-07-01T00:00:00Z", "type": kind, "payload": payload}
        )
        for kind, payload in [*start, *payloads]
    ]
    for event in [*reader.feed(line.encode() for line in source), *reader.settle()]:
        meter.apply(event)
    return meter


def message(role: str, text: str) -> dict[str, object]:
    return {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text}],
    }


def bill(used: int, output: int, total: int | None = None) -> dict[str, object]:
    last = {
        "input_tokens": used,
        "output_tokens": output,
        "total_tokens": used + output if total is None else total,
    }
    info = {"last_token_usage": last, "total_token_usage": {"total_tokens": 10**6 + used}}
    return {"type": "token_count", "info": info}


def test_after_a_compaction_the_sealed_summary_is_what_codex_counts_beyond_the_log() -> (
    None
):
    kept = message("user", "go")
    instructions = "Be brief. " * 100
    known = 250 + -(-len(json.dumps(kept, separators=(",", ":"))) // 4)
    compacted = {"message": "", "replacement_history": [kept]}
    lines: tuple[Line, ...] = (
        ("compacted", compacted),
        ("event_msg", bill(0, 0, known + 4_000)),
    )
    reading = rollout(instructions, *lines).reading()
    assert abs(reading.used.tokens - 13_000) < 30
    assert reading.basis.label == "as Codex says"
    billed = rollout(instructions, *lines, *NEXT).steps[-1]
    assert billed.marks == ("compaction",)
    assert billed.is_inside
    again = rollout(instructions, *lines, ("response_item", message("user", "x " * 900)))
    grown = again.reading().used.tokens
    lines = (*lines, ("response_item", message("user", "x " * 900)), lines[1])
    assert rollout(instructions, *lines).reading().used.tokens == grown


NEXT = (
    ("response_item", message("assistant", "on it")),
    ("event_msg", bill(13_050, 5)),
)


def test_without_instructions_in_the_log_codexs_number_is_used_with_its_tools() -> None:
    compacted = {"message": "", "replacement_history": [message("user", "go")]}
    lines = (("compacted", compacted), ("event_msg", bill(0, 0, 9_000)))
    used = rollout("", *lines).reading().used
    assert (used.low, used.tokens, used.high) == pytest.approx(
        (11_200, 12_200, 13_200), abs=20
    )


SEARCHED: dict[str, object] = {"type": "web_search_call", "status": "completed"}
ABORTED = ("event_msg", {"type": "turn_aborted", "reason": "interrupted"})


def searching(*after: Line) -> Meter:
    """A turn that searches twice, whose bill of 22,000 tokens holds what was found, and then these lines."""
    return rollout(
        "Be brief.",
        ("response_item", message("user", "look it up")),
        ("response_item", SEARCHED),
        ("response_item", SEARCHED),
        ("response_item", message("assistant", "found")),
        ("event_msg", bill(22_000, 20)),
        *after,
    )


def test_what_searches_found_is_in_the_input_of_their_call_and_of_later_ones() -> None:
    meter = searching()
    step = meter.steps[-1]
    assert step.estimated == pytest.approx(9_000 + 2 * CODEX_SEARCH.tokens, abs=100)
    assert step.is_inside
    assert step.high - step.low > 2 * 4_000
    assert meter.reading().used.tokens == pytest.approx(22_020, abs=20)


def test_what_one_search_found_may_leave_behind_the_report_that_held_it() -> None:
    used = searching().reading().used
    assert used.tokens - used.low == pytest.approx(CODEX_SEARCH.high, rel=0.05)
    above = 2 * CODEX_SEARCH_LATER
    assert used.high - used.tokens == pytest.approx(above, rel=0.05)


GITHUB = "<plugins_instructions>\n- `GitHub`: pull requests\n"
APPS = "<apps_instructions>\nApps can be triggered by name.\n"


@pytest.mark.parametrize(
    ("said", "declared"),
    [
        (APPS + GITHUB, 12_300),
        (APPS + GITHUB + "- `Google Drive`: files\n", 0),
        (APPS, 0),
        (GITHUB, 0),
    ],
)
def test_the_tools_of_a_few_connected_apps_are_declared(said: str, declared: int) -> None:
    context = ("response_item", message("developer", said))
    used = rollout("Be brief.", context, context).reading().used
    # The session's first report does not know of them.
    assert used.tokens == pytest.approx(9_000 + declared, abs=150)
    history: dict[str, object] = {"replacement_history": [message("developer", said)]}
    kept = rollout("Be brief.", context, ("compacted", history)).reading().used
    assert kept.tokens == pytest.approx(9_000 + declared, abs=150)


def test_an_aborted_turn_may_take_what_was_found_with_it() -> None:
    used = searching(ABORTED).reading().used
    assert used.tokens == pytest.approx(9_000, rel=0.1)
    assert used.high > 22_000


def test_a_compaction_takes_what_was_found_with_it_once() -> None:
    history: dict[str, object] = {"replacement_history": [message("user", "go")]}
    compacted = searching(("compacted", history)).reading().used
    assert searching(("compacted", history), ABORTED).reading().used == compacted


@pytest.mark.parametrize(
    ("named", "provider"),
    [("azure", "azure"), ("my-gateway", ""), ("", "openai")],
)
def test_a_name_of_the_users_own_is_no_provider(named: str, provider: str) -> None:
    meta = {"id": "s", "cli_version": "0.171.0", "model_provider": named}
    line = {"type": "session_meta", "payload": meta}
    context = {"type": "turn_context", "payload": {"model": "gpt-5.5"}}
    reader = CodexReader()
    reader.feed([json.dumps(each).encode() for each in (line, context)])
    assert reader.rows.provider == provider


def saying(role: str) -> dict[str, object]:
    text = "<apps_instructions>\n- `GitHub`: pull requests\n</apps_instructions>"
    return {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text}],
    }


@pytest.mark.parametrize(("role", "times"), [("user", 0), ("developer", 1)])
def test_apps_are_told_of_by_instructions_alone_and_once_in_a_whole_history(
    role: str, times: int
) -> None:
    said = {"type": "response_item", "payload": saying(role)}
    prompt = {"type": "response_item", "payload": message("user", "go")}
    history = [saying(role)] * 3
    compacted = {"type": "compacted", "payload": {"replacement_history": history}}
    source = [json.dumps(each).encode() for each in (said, said, prompt, compacted)]
    reader = CodexReader()
    events = [*reader.feed(source), *reader.settle()]
    assert str(events).count("tools of apps") == times
