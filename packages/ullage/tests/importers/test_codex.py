import json

from tests.importers.folding import FIXTURES, Folded
from ullage.importers import ImportedSession, read
from ullage.meter.meter import Meter
from ullage_programs.codex.log import CodexReader


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
