"""The status line's reader beside Ullage's own: they see the same calls and expect nearly the same next one."""

from itertools import pairwise, product
from pathlib import Path

import pytest

from tests.cases import case, filled
from tests.importers.folding import FIXTURES, Folded
from tests.line.logs import answer, linked, prompt, result, use
from ullage import Meter
from ullage.clients import claude_code, copilot_cli, qwen_code
from ullage.clients.facts import Circumstances, ClientSetting, ClientSettings
from ullage.importers import read
from ullage_line.fold import SessionSize
from ullage_line.other_programs import copilot_threshold, qwen_threshold
from ullage_line.threshold import threshold

LOGS = sorted((FIXTURES / "claude_code").glob("*.jsonl"))
WITHOUT_LOG = {"stream"}
"""The output of ``claude -p --output-format stream-json``, which no status line is given."""


def reports_of_line(log: Path) -> tuple[list[int], SessionSize]:
    """Each input that the line's reader takes for a report, and its state at the end."""
    size = SessionSize()
    inputs = [0]
    call = ""
    for line in log.read_bytes().splitlines():
        size.feed(line)
        if size.call != call:
            call = size.call
            inputs.append(size.input)
    return inputs[1:], size


@pytest.mark.parametrize(
    "log", [log for log in LOGS if log.stem not in WITHOUT_LOG], ids=lambda log: log.stem
)
def test_both_readers_see_the_same_reports(log: Path) -> None:
    inputs, _ = reports_of_line(log)
    assert inputs == [seen for seen in Folded(read(log).events).inputs() if seen]


def working_session() -> list[bytes]:
    """Ten calls with results of all sizes; each reports what the one before it, its answer and its result make."""
    lines = [prompt("hello")]
    reported = 20_000
    for number in range(10):
        blocks = [use(f"t{number}", "Read", file_path=f"/home/ann/{number}.py")]
        lines.append(answer(f"msg_{number}", reported=reported, output=40, blocks=blocks))
        text = "def steep(minutes): return minutes * 60\n" * (4 + 9 * number)
        lines.append(result(f"t{number}", text))
        reported += 40 + len(text) // 4
    return linked(*lines)


def test_both_readers_expect_nearly_the_same_next_call(tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    log.write_bytes(b"".join(working_session()))
    meter = Meter("claude-sonnet-4-5")
    for event in read(log).events:
        meter.apply(event)
    _, size = reports_of_line(log)
    assert size.next_input() == pytest.approx(meter.reading().used.tokens, rel=0.01)


def test_the_line_is_never_further_off_than_the_last_input() -> None:
    size = SessionSize()
    expected: list[int | None] = []
    inputs: list[int] = []
    for line in working_session():
        before = size.next_input()
        call = size.call
        size.feed(line)
        if size.call != call:
            expected.append(before)
            inputs.append(size.input)
    for (last, reported), ours in zip(pairwise(inputs), expected[1:], strict=True):
        assert ours is not None
        assert abs(ours - reported) <= abs(last - reported)


MODELS = ("claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4-5", "claude-opus-5-5")
SETTINGS: tuple[dict[str, object], ...] = (
    {},
    {"autoCompactEnabled": False},
    {"autoCompactWindow": 120_000},
    {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}},
    {"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}},
    {"env": {"DISABLE_AUTO_COMPACT": "1"}},
)


def settings_of(settings: dict[str, object]) -> ClientSettings:
    """The same settings as the facts take them."""
    values = dict(settings)
    variables = values.pop("env", {})
    assert isinstance(variables, dict)
    return {
        name: ClientSetting(value, "settings.json")
        for name, value in {**values, **variables}.items()
    }


def test_both_know_the_same_compaction_threshold() -> None:
    window_cases: list[int] = [200_000, 1_000_000]
    version_cases: list[str] = ["2.1.7", "2.1.330"]
    for settings, window, version, model in product(
        filled(SETTINGS), window_cases, version_cases, filled(MODELS)
    ):
        with case(model, version, window, settings):
            numbers = tuple(int(each) for each in version.split("."))
            known = Circumstances(
                model=model, version=numbers, settings=settings_of(settings)
            )
            expected = claude_code.threshold(known, window)
            found = threshold(window, 0, {}, [settings], model=model, version=version)
            assert expected is not None
            assert found is not None
            assert found.tokens == (expected.tokens or window)


def test_both_know_the_same_threshold_of_qwen_code() -> None:
    window_cases: list[int] = [20_000, 40_000, 131_072, 200_000, 1_000_000]
    share_cases: list[object] = [None, 0.5, 1, 0, -1, 1.5, True, []]
    version_cases: list[str] = ["0.24.4", "0.23.9", ""]
    for window, share, version in product(window_cases, share_cases, version_cases):
        with case(version, share, window):
            numbers = tuple(int(each) for each in version.split(".") if each)
            setting = ClientSetting(share, "settings.json")
            known = Circumstances(
                version=numbers, settings={"context.autoCompactThreshold": setting}
            )
            expected = qwen_code.threshold(known, window)
            files: list[dict[str, object]] = [
                {"context": {"autoCompactThreshold": share}}
            ]
            found = qwen_threshold(window, version, files)
            assert found == (expected.tokens if expected else 0)


def test_both_know_the_same_threshold_of_copilot() -> None:
    window_cases: list[int] = [30_000, 128_000]
    share_cases: list[str] = ["", "0.5", "1", "0", "-1", "nan", "inf", "many"]
    for window, share in product(window_cases, share_cases):
        with case(share, window):
            setting = ClientSetting(share, "the environment")
            known = Circumstances(settings={copilot_cli.VARIABLE: setting})
            expected = copilot_cli.threshold(known, window)
            assert expected is not None
            assert copilot_threshold(window, share) == expected.tokens
