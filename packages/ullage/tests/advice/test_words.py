"""Distinctive words: those that two texts hardly share by chance."""

import pytest

from ullage.advice.words import distinctive_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see src/app/parse.py.", {"src/app/parse.py", "parse.py"}),
        ("parseFile(tree_node)", {"parseFile", "tree_node"}),
        ("it took 1734 ms", {"1734"}),
        ("refactoring", {"refactoring"}),
        ("CommitHash:7c35564", {"CommitHash", "7c35564"}),
        (
            "commit 3f9f56158dd1772be1e06c8f7aa7fcba37fa2877",
            {"3f9f561", "3f9f56158dd1772be1e06c8f7aa7fcba37fa2877"},
        ),
        ("session 2026-e87ca3a4", {"2026-e87ca3a4", "2026", "e87ca3a4"}),
        ("the cat sat on the mat 17 times", set()),
        ("", set()),
    ],
)
def test_paths_identifiers_numbers_long_words_and_short_hashes_are(
    text: str, words: set[str]
) -> None:
    assert distinctive_words(text) == words
