"""One question to a simulator: what is printed where, what goes wrong and how that is said."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ullage_simulators.answer import ScriptedAnswer as Scripted
from ullage_simulators.faults import Fault
from ullage_simulators.scenario import Scenario, ScriptLine
from ullage_simulators.server import Server, running

from ullage.cli import main
from ullage.cli.ask import Pen, cost_line, window_line
from ullage.codec.stream import ReasoningDelta, TextDelta
from ullage.display.text import safe
from ullage.meter.meter import Meter
from ullage.usage import Usage

SECRET = "sk-very-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    for name in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(
        Scenario(answers=(ScriptLine(Scripted(text="A cask is a barrel.")),)), seed=3
    ) as made:
        yield made


def ask(server: Server, simulator: str, model: str, *more: str) -> int:
    return main(
        [
            "ask",
            "What is a cask?",
            "--model",
            model,
            "--base-url",
            server.url(simulator),
            *more,
        ]
    )


@pytest.mark.parametrize("how", [(), ("--no-stream",)])
@pytest.mark.parametrize(
    ("simulator", "model"),
    [
        ("anthropic", "anthropic:claude-haiku-4-5"),
        ("openai", "openai:gpt-5"),
        ("gemini", "google:gemini-3-flash-preview"),
        ("deepseek", "deepseek:deepseek-v4-flash"),
        ("mistral", "mistral:mistral-medium-latest"),
    ],
)
def test_the_answer_goes_to_standard_output_and_its_price_beside_it(
    server: Server,
    simulator: str,
    model: str,
    how: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ask(server, simulator, model, *how) == 0
    shown = capsys.readouterr()
    assert shown.out == "A cask is a barrel.\n"
    cost, window = shown.err.splitlines()
    assert cost.startswith("Cost    ")
    assert " in · " in cost
    assert "$" in cost
    assert window.startswith("Window  ")
    assert " tokens (<1 %) · " in window
    assert len(window) <= 100


def test_json_is_one_object_that_holds_everything(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(server, "anthropic", "anthropic:claude-haiku-4-5", "--json") == 0
    shown = capsys.readouterr()
    said = json.loads(shown.out)
    assert said["text"] == "A cask is a barrel."
    assert said["outcome"] == "finished"
    bill = server.truth().bills[-1]
    assert (said["usage"]["input"], said["usage"]["output"]) == (bill.input, bill.output)
    used = said["reading"]["used"]
    assert used["low"] <= bill.input + bill.output - bill.reasoning <= used["high"]
    assert shown.err == ""


def test_raw_shows_the_exact_request_without_the_key(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert (
        ask(
            server,
            "openai",
            "openai:gpt-4.1",
            "--wire",
            "chat",
            "--raw",
            "--system",
            "Be brief.",
            "--max-output",
            "50",
        )
        == 0
    )
    shown = capsys.readouterr().err
    assert SECRET not in shown
    head, body = shown.split("\n\n")[:2]
    assert head.splitlines()[0] == f"POST {server.url('openai')}/chat/completions"
    assert "authorization: (hidden)" in head
    assert json.loads(body) == server.exchanges[-1].body


def test_a_question_may_come_on_standard_input(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b"What \xff is \x00 it?"))
    )
    code = main(
        [
            "ask",
            "-",
            "--model",
            "anthropic:claude-haiku-4-5",
            "--base-url",
            server.url("anthropic"),
        ]
    )
    assert code == 0
    sent = server.exchanges[-1].body["messages"][0]["content"][0]["text"]
    assert sent == "What \ufffd is \ufffd it?"
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hi", "--model", "anthropic:claude-haiku-4-5"), "set ANTHROPIC_API_KEY"),
        (("hi", "--model", "my-model"), "No provider is known"),
        ((" ", "--model", "ollama:x"), "nothing to ask"),
        (("hi", "--model", "openai:gpt-5", "--base-url", "ftp://x"), "no address"),
    ],
)
def test_what_can_not_be_asked_is_said(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "more", "said"),
    [
        ("anthropic:nobody-knows-this", (), "no such model"),
        (
            "anthropic:claude-haiku-4-5",
            ("--max-output", "900k"),
            "maximum allowed number of output tokens",
        ),
    ],
)
def test_what_the_provider_refuses_is_said_in_its_words(
    server: Server,
    model: str,
    more: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ask(server, "anthropic", model, *more) == 2
    assert said in capsys.readouterr().err


def test_an_overflow_says_what_to_do(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "word " * 250_000
    code = main(
        [
            "ask",
            question,
            "--model",
            "anthropic:claude-haiku-4-5",
            "--base-url",
            server.url("anthropic"),
        ]
    )
    assert code == 2
    shown = capsys.readouterr().err
    assert "prompt is too long" in shown
    assert "larger window" in shown


def test_a_wrong_key_is_refused_and_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    with running(Scenario(key="another")) as server:
        assert ask(server, "anthropic", "anthropic:claude-haiku-4-5") == 2
    shown = capsys.readouterr().err
    assert "does not accept the key [401]" in shown
    assert SECRET not in shown


def test_a_busy_provider_is_asked_again_and_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    faults = (Fault("status", request=1, status=429, retry_after_s=0.01),)
    with running(Scenario(faults=faults)) as server:
        assert ask(server, "anthropic", "anthropic:claude-haiku-4-5") == 0
    assert "Trying again in 0.0 s" in capsys.readouterr().err


def test_an_answer_that_breaks_off_keeps_what_came_and_ends_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with running(
        Scenario(
            answers=(ScriptLine(Scripted(text="word " * 200)),),
            faults=(Fault("cut", at=1_500),),
        )
    ) as server:
        assert ask(server, "anthropic", "anthropic:claude-haiku-4-5") == 2
    shown = capsys.readouterr()
    assert shown.out
    assert "The answer broke off." in shown.err
    assert "output not reported" in shown.err


def test_a_cut_answer_says_how_to_get_more(capsys: pytest.CaptureFixture[str]) -> None:
    answers = (ScriptLine(Scripted(text="word " * 200)),)
    with running(Scenario(answers=answers)) as server:
        assert (
            ask(server, "anthropic", "anthropic:claude-haiku-4-5", "--max-output", "20")
            == 2
        )
    assert "--max-output" in capsys.readouterr().err


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_reasoning_dimmed_and_no_escapes_of_the_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    pen = Pen(out)
    pen.write(ReasoningDelta("p", "hm"))
    pen.write(TextDelta("q", "red: \x1b[31m\n\tdone"))
    pen.end()
    assert out.getvalue() == "\x1b[2mhm\n\x1b[0mred: [31m\n\tdone\n"


def test_a_pipe_gets_the_answer_alone_as_it_is() -> None:
    out = io.StringIO()
    pen = Pen(out)
    pen.write(ReasoningDelta("p", "hm"))
    pen.write(TextDelta("q", "done\n"))
    pen.end()
    assert out.getvalue() == "done\n"


def test_controls_are_left_out() -> None:
    assert safe("a\x07b\u202ec\nd") == "abc\nd"


def test_lines_say_what_is_unknown() -> None:
    reading = Meter("ollama:some-model").reading()
    assert (
        cost_line(Usage(), reading)
        == "Cost    input not reported · output not reported · price unknown"
    )
    assert "unknown window" in window_line(reading)
    full = Meter("claude-haiku-4-5", window=10).reading()
    assert "free" in window_line(full) or "over by" in window_line(full)
