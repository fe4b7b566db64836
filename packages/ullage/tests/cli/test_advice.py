"""The advice as text: each suggestion with its size, in the width of the display, without content if wanted."""

import json
from pathlib import Path

import msgspec
import pytest
from pytest import CaptureFixture

from tests.advice.story import Story, advised, prose
from tests.meter.session import tool
from ullage.advice.history import history_of
from ullage.advice.sentences import short
from ullage.cli import main
from ullage.cli.advice import advice_lines
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import cells, plain

SESSION = Path(__file__).parents[4] / "examples" / "session.jsonl"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with nothing stored."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))


def drawn(story: Story, width: int = 100) -> list[str]:
    events = story.billed()
    lines = advice_lines(advised(events), history_of(events), width)
    return [plain(line) for line in lines]


def wasteful() -> Story:
    story = Story(tools=(tool("mcp__github__issue", prose(100)),)).user("go")
    command = '{"command":"make of a target with a name of many words and letters"}'
    return story.tool("Bash", command, prose(900)).chat(8)


def test_a_suggestion_has_its_size_its_saving_and_what_to_do() -> None:
    text = "\n".join(drawn(wasteful()))
    assert "2 suggestions: together about" in text
    assert "1  1 command with an output above 4,000 tokens" in text
    assert "To do: a lower `bashOutputMaxChars`" in text
    assert "2  MCP server github was never called · 1 tool in each of 9 requests" in text
    assert "Next compaction" in text


def test_a_window_that_is_past_its_threshold_is_said_to_be() -> None:
    events = wasteful().billed()
    history = history_of(events)
    given = advised(events)
    assert given.compaction is not None
    near = msgspec.structs.replace(given.compaction, threshold=history.used - 1)
    past = msgspec.structs.replace(given, compaction=near)
    text = " ".join(plain(line) for line in advice_lines(past, history, 200))
    assert f"and the next request has {history.used:,} already" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_display(width: int) -> None:
    for line in drawn(wasteful(), width):
        assert cells(line) <= width, line


def test_a_session_without_calls_and_one_without_waste_say_so() -> None:
    assert "No model call has ended yet" in " ".join(drawn(Story()))
    assert "Nothing worth leaving out was found in 2 calls." in " ".join(
        drawn(Story().chat(2))
    )


def test_names_from_the_log_steer_no_terminal() -> None:
    story = Story().user("go")
    story.tool("Bash", '{"command":"\\u001b[31mmake"}', prose(900)).chat(3)
    assert all(line.isprintable() for line in drawn(story))


def test_it_is_drawn_in_ascii_where_nothing_else_can_be() -> None:
    events = wasteful().billed()
    lines = advice_lines(advised(events), history_of(events), 80, ASCII)
    assert [plain(line) for line in lines if not plain(line).isascii()] == []
    assert ASCII is not UNICODE


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (812, "812"), (9_940, "9.9k"), (682_219, "682k"), (24_721_476, "24.7M")],
)
def test_long_numbers_are_short(tokens: int, text: str) -> None:
    assert short(tokens) == text


def test_no_content_names_no_file_and_no_title(capsys: CaptureFixture[str]) -> None:
    for more in ([], ["--json"]):
        words = ["context", str(SESSION), "--advice", "--no-content", *more]
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "docker" not in out
        assert "checkout" not in out


def test_json_has_the_items_of_a_suggestion(capsys: CaptureFixture[str]) -> None:
    assert main(["context", str(SESSION), "--advice", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    suggestion = whole["advice"]["suggestions"][1]
    item = whole["history"]["items"][suggestion["items"][0][0]]
    assert suggestion["kind"] == "long_output"
    assert item["label"].startswith("Bash docker compose logs")


def test_advice_before_a_call_is_that_of_its_time(capsys: CaptureFixture[str]) -> None:
    assert main(["context", str(SESSION), "--advice", "--at", "2"]) == 0
    out = capsys.readouterr().out
    assert "1 MCP call with a picture above 800 x 600" in out
    assert "Advice   1 suggestion: " in out
