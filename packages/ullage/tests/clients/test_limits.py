import pytest

from ullage_programs.facts import Circumstances, ClientLimit, ClientSetting
from ullage_programs.limits import (
    NOTHING_SEEN,
    UNKNOWN_LIMITS,
    SeenSizes,
    name_and_version,
)
from ullage_programs.programs import limits_of, title_of

OPUS = Circumstances(model="claude-opus-4-6", model_window=1_000_000, version=(2, 1, 330))
PROGRAM = "claude-code 2.1.330"


@pytest.mark.parametrize(
    ("program", "parts"),
    [
        ("claude-code 2.1.330", ("claude-code", (2, 1, 330))),
        ("codex 0.169.0-alpha.2", ("codex", (0, 169, 0))),
        ("pi", ("pi", ())),
        ("", ("", ())),
        ("claude-code " + "9" * 5000, ("claude-code", (999_999_999,))),
    ],
)
def test_a_program_is_named_with_its_version(
    program: str, parts: tuple[str, tuple[int, ...]]
) -> None:
    assert name_and_version(program) == parts


def test_programs_have_a_name_for_people_and_unknown_ones_keep_theirs() -> None:
    assert title_of(PROGRAM) == "Claude Code"
    assert title_of("amp 0.1") == "amp"


def test_of_an_unknown_program_nothing_is_known() -> None:
    assert limits_of("amp 0.1", OPUS, None, NOTHING_SEEN) == UNKNOWN_LIMITS


def test_the_window_that_the_log_names_is_taken_and_the_threshold_follows_it() -> None:
    limits = limits_of(PROGRAM, OPUS, 1_000_000, NOTHING_SEEN)
    assert limits.window is None
    named = limits_of(PROGRAM, OPUS, 200_000, NOTHING_SEEN)
    assert named.threshold is not None and named.threshold.tokens == 167_000


def test_a_request_above_the_window_shows_the_larger_window() -> None:
    fits = limits_of(PROGRAM, OPUS, None, SeenSizes(largest=200_000))
    assert fits.window is not None and fits.window.tokens == 200_000
    larger = limits_of(PROGRAM, OPUS, None, SeenSizes(largest=200_001))
    assert larger.window is not None
    assert (larger.window.tokens, larger.window.source) == (1_000_000, "observed")


def test_a_request_above_every_known_window_leaves_it_unknown() -> None:
    assert limits_of(PROGRAM, OPUS, None, SeenSizes(largest=10**7)).window is None


def test_a_session_that_went_on_above_the_threshold_refutes_it() -> None:
    below = limits_of(PROGRAM, OPUS, None, SeenSizes(passed=166_999))
    assert below.threshold is not None and below.threshold.tokens == 167_000
    assert limits_of(PROGRAM, OPUS, None, SeenSizes(passed=167_000)).threshold is None


def test_an_automatic_compaction_above_the_threshold_confirms_it() -> None:
    limits = limits_of(PROGRAM, OPUS, None, SeenSizes(compacted_at=170_251))
    assert limits.threshold is not None
    assert limits.threshold[:2] == (167_000, "observed")
    assert "170,251" in limits.threshold.note


def test_an_automatic_compaction_below_the_threshold_takes_its_place() -> None:
    limits = limits_of(PROGRAM, OPUS, None, SeenSizes(compacted_at=90_000))
    assert limits.threshold is not None
    assert limits.threshold[:2] == (90_000, "observed")


def test_compaction_that_is_turned_off_now_stays_so_whatever_happened_earlier() -> None:
    off = {"DISABLE_AUTO_COMPACT": ClientSetting("1", "DISABLE_AUTO_COMPACT")}
    known = Circumstances(model="claude-opus-4-6", settings=off)
    limits = limits_of(PROGRAM, known, None, SeenSizes(compacted_at=90_000))
    assert limits.threshold == ClientLimit(
        None, "settings", "turned off by DISABLE_AUTO_COMPACT"
    )
