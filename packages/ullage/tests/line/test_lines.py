import pytest

from ullage_programs.claude_code.lines import (
    NO_COMPACTION,
    compaction_of,
    is_of_program,
    is_only_shown,
    is_placeholder,
    is_summary,
)


def placeholder(
    output: int,
    shown: int,
    *,
    lines: int = 1,
    is_unchanged: bool = True,
    has_stopped: bool = False,
) -> bool:
    return is_placeholder(
        output,
        shown,
        lines=lines,
        is_unchanged=is_unchanged,
        has_stopped=has_stopped,
    )


def test_an_output_too_small_for_what_is_shown_is_from_the_start_of_the_stream() -> None:
    assert not placeholder(100, 400)
    assert placeholder(100, 401)
    assert placeholder(0, 5)


def test_a_small_output_that_all_lines_repeat_without_an_end_is_one_too() -> None:
    assert not placeholder(8, 10)
    assert placeholder(8, 10, lines=2)
    assert not placeholder(8, 10, lines=2, has_stopped=True)
    assert not placeholder(8, 10, lines=2, is_unchanged=False)
    assert not placeholder(16, 10, lines=2)


def test_what_the_program_wrote_in_the_models_place_is_told() -> None:
    assert is_of_program({"isApiErrorMessage": True})
    assert is_of_program({"message": {"model": "<synthetic>"}})
    assert not is_of_program({"message": {"model": "claude-opus-4-6"}})


def test_a_summary_is_sent_although_it_is_marked_as_only_shown() -> None:
    shown: dict[str, object] = {"isVisibleInTranscriptOnly": True}
    assert is_only_shown(shown)
    assert not is_only_shown({**shown, "isCompactSummary": True})
    assert is_summary({"isCompactSummary": True})


@pytest.mark.parametrize(
    ("metadata", "before", "head", "tail"),
    [
        (
            {
                "compactMetadata": {
                    "trigger": "auto",
                    "preTokens": 167_000,
                    "preservedSegment": {"headUuid": "a", "tailUuid": "b"},
                }
            },
            167_000,
            "a",
            "b",
        ),
        (
            {
                "compact_metadata": {
                    "trigger": "auto",
                    "pre_tokens": 9_000,
                    "preserved_segment": {"head_uuid": "a", "tail_uuid": "b"},
                }
            },
            9_000,
            "a",
            "b",
        ),
        ({"compactMetadata": {"trigger": "auto", "preTokens": -1}}, 0, "", ""),
    ],
)
def test_a_compaction_is_read_in_both_spellings(
    metadata: dict[str, object], before: int, head: str, tail: str
) -> None:
    found = compaction_of(metadata)
    assert found.is_automatic
    assert (found.before, found.head, found.tail) == (before, head, tail)


@pytest.mark.parametrize("entry", [{}, {"compactMetadata": []}])
def test_a_line_without_a_compaction_tells_none(entry: dict[str, object]) -> None:
    assert compaction_of(entry) == NO_COMPACTION
    listed: dict[str, object] = {"preservedMessages": {"uuids": ["a", 7, "b"]}}
    assert compaction_of({"compactMetadata": listed}).listed == ("a", "b")
