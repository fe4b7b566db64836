"""Lines of the log: what they have, and what nobody can write into them."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pytest import CaptureFixture

from ullage.cli import main
from ullage.log_lines import JsonLines, TextLines, log_fields, logged, trace_fields
from ullage.masking import SHOWN, Secrets

KEY = "sk-ant-not-a-real-key-0123456789"
SAMPLE = Path(__file__).parents[3] / "examples" / "session.jsonl"
SECRETS = Secrets([KEY])
TEXT = TextLines(SECRETS, "%(levelname)s %(name)s: %(message)s")
JSON = JsonLines(SECRETS)


def record(message: str, *, failed: Exception | None = None, **extra: Any) -> Any:
    about = None if failed is None else (type(failed), failed, None)
    made = logging.LogRecord("ullage.x", logging.WARNING, "", 0, message, (), about)
    made.__dict__.update(extra)
    return made


def test_a_line_of_json_has_what_the_block_and_the_record_know() -> None:
    with log_fields(lambda: {"session": "s", "tenant": "acme"}):
        line = json.loads(JSON.format(record("It failed.", model="m", session="t")))
    time = line.pop("time")
    assert time.endswith("+00:00") and "T" in time
    assert line == {
        "level": "warning",
        "logger": "ullage.x",
        "message": "It failed.",
        "session": "t",
        "tenant": "acme",
        "model": "m",
    }
    assert "tenant" not in json.loads(JSON.format(record("Later.")))


def test_text_names_the_session_and_the_request() -> None:
    with log_fields(lambda: {"session": "s", "tenant": "acme", "request_id": "r"}):
        line = TEXT.format(record("It failed."))
    assert line == "WARNING ullage.x: It failed. [session=s request_id=r]"
    assert TEXT.format(record("It failed.")) == "WARNING ullage.x: It failed."


def test_a_traceback_belongs_to_its_line() -> None:
    problem = ValueError("one\nERROR ullage.x: forged")
    text = TEXT.format(record("It failed.", failed=problem))
    assert [line for line in text.split("\n") if line[:1] != " "] == [
        "WARNING ullage.x: It failed."
    ]
    line = json.loads(JSON.format(record("It failed.", failed=problem)))
    assert line["exception"] == "ValueError: one\nERROR ullage.x: forged"


@given(st.text(), st.text())
@example("", "s\nERROR ullage.server: forged")  # `GET /v1/sessions/s%0AERROR…` by anybody
def test_no_message_begins_a_line_of_its_own(message: str, session: str) -> None:
    made = record(f"a{message}", session=session)
    for line in TEXT.format(made).split("\n")[1:]:
        assert line.startswith("    ")
    assert not {"\r", "\x1b", "\x85", "\u2028"} & set(TEXT.format(made))
    (line,) = JSON.format(made).splitlines()
    assert json.loads(line)["message"] == f"a{message}"


def test_keys_are_struck_out_of_every_part() -> None:
    made = record(f"with {KEY}", failed=ValueError(KEY), error=KEY, api_key="short")
    for text in (TEXT.format(made), JSON.format(made)):
        assert KEY not in text and SHOWN in text
    assert json.loads(JSON.format(made))["api_key"] == SHOWN


def test_what_json_has_no_form_for_is_its_text() -> None:
    line = json.loads(JSON.format(record("x", where=io.StringIO, secret={"a": KEY})))
    assert line["where"] == str(io.StringIO)
    assert line["secret"] == {"a": SHOWN}


def test_json_is_legible_and_steers_no_terminal() -> None:
    line = JSON.format(record("“Größe” \u2028\x9b\x1b\udc80"))
    assert "“Größe” \\u2028\\u009b\\u001b\\udc80" in line
    assert json.loads(line)["message"] == "“Größe” \u2028\x9b\x1b\udc80"


def test_a_trace_has_the_names_of_opentelemetrys_logs() -> None:
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    fields = trace_fields(f"00-{trace}-{span}-01")
    assert fields == {"trace_id": trace, "span_id": span}
    assert trace_fields("") == {}


def test_a_line_inside_a_span_has_its_ids() -> None:
    from opentelemetry import trace

    context = trace.SpanContext(1, 2, is_remote=False)
    assert "opentelemetry.trace" in sys.modules
    with trace.use_span(trace.NonRecordingSpan(context)):
        line = json.loads(JSON.format(record("x")))
    assert line["trace_id"] == f"{1:032x}"
    assert line["span_id"] == f"{2:016x}"


def test_a_level_filters_and_secrets_are_hidden(capsys: CaptureFixture[str]) -> None:
    log = logging.getLogger("ullage.meter")
    with logged("info", {"SOME_API_KEY": "sk-very-secret"}, "token-of-mine"):
        log.info("estimated=%d of sk-very-secret", 5)
        log.warning("token-of-mine")
        log.debug("not this")
    log.warning("nor this, for the block is over")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "INFO ullage.meter: estimated=5 of [hidden]",
        "WARNING ullage.meter: [hidden]",
    ]


def test_without_a_level_nothing_is_shown(capsys: CaptureFixture[str]) -> None:
    with logged("", {}):
        logging.getLogger("ullage.meter").info("quiet")
    assert not capsys.readouterr().err


def test_context_logs_estimates_beside_reports(capsys: CaptureFixture[str]) -> None:
    assert main(["context", str(SAMPLE), "--log", "info", "--json"]) == 0
    lines = capsys.readouterr().err.splitlines()
    estimates = [line for line in lines if "Context estimate: estimated=" in line]
    assert len(estimates) > 3 and all(", actual=" in line for line in estimates)
    assert any("Context calibration: actual=" in line for line in lines)
    assert main(["context", str(SAMPLE), "--json"]) == 0
    assert "Context" not in capsys.readouterr().err


def test_an_unknown_level_is_refused_with_the_others(capsys: CaptureFixture[str]) -> None:
    assert main(["context", str(SAMPLE), "--log", "loud"]) == 2
    assert "info" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["context", "run", "serve"])
def test_the_commands_offer_it(command: str, capsys: CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "--log {debug,info,warning,error}" in capsys.readouterr().out
