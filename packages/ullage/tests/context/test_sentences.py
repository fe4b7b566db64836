import pytest

from ullage.context.sentences import sentences, states_a_rule


def test_sentences_end_at_stops_of_any_script_and_at_lines() -> None:
    text = "Fix a.py, e.g. now. 绝不要推送。好的！\n- Use tabs\n2. Run make."
    found = list(sentences(text))
    assert [one.text for one in found] == [
        "Fix a.py, e.g. now.",
        "绝不要推送。",
        "好的！",
        "Use tabs",
        "Run make.",
    ]
    assert all(text[one.start : one.end] == one.text for one in found)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Never push to main.", True),
        ("The staging database is not to be touched.", True),
        ("Run the tests before every commit.", True),
        ("Please look at a.py.", False),
        ("Should I use tabs?", False),
    ],
)
def test_english_sentences_that_bind_are_told_from_tasks(
    sentence: str, rule: bool
) -> None:
    assert states_a_rule(sentence) is rule
