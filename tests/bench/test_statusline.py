from pathlib import Path

from bench.statusline import errors_of, lines_of_call, write_log
from tests.line.logs import answer, prompt


def test_errors_are_of_the_input_that_was_reported() -> None:
    errors = errors_of(
        [
            prompt("hello"),
            answer("msg_1", reported=10_000, output=100),
            answer("msg_2", reported=10_200, output=1),
        ]
    )
    assert [round(each, 2) for each in errors.ours] == [0.98]
    assert [round(each, 2) for each in errors.last_input] == [1.96]


def test_an_invented_log_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    calls = write_log(log, 0.1)
    assert 100_000 <= log.stat().st_size <= 100_000 + len(b"".join(lines_of_call(0, 0)))
    assert calls > 3
