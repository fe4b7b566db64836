import pytest

from tests.context.rule_sentences import SENTENCES
from tests.context.sessions import fold_of
from tests.meter.session import said
from ullage.context.constraints import (
    HEADING,
    carried_rules,
    collected,
    rules_in,
    rules_part_id,
    written,
)
from ullage.context.situation import Situation
from ullage.context.summary_message import summary_message
from ullage.messages import Message, TextPart

PLANTED = (
    "Antworte niemals auf Französisch.",
    "Réponds toujours avec une référence.",
    "绝不要直接推送到main分支。",
    "常に日本語でコメントを書いてください。",
    "किसी भी हालत में डेटाबेस मत मिटाना।",
)
"""A rule in each of five languages."""


def found(text: str) -> list[str]:
    return [rule.text for rule in rules_in(said("u", text))]


def many(*messages: Message, most: float = 1_000) -> tuple[str, ...]:
    return collected(messages, most=most, count=lambda text: len(text) / 4)


def test_sentences_that_require_or_forbid_are_found_word_for_word() -> None:
    text = "Hello there. Always answer in French! Please look at a.py.\n- Don't touch main.py\nYou must run the tests."
    assert found(text) == [
        "Always answer in French!",
        "Don't touch main.py",
        "You must run the tests.",
    ]


def test_quotes_and_code_are_no_rules_of_the_user() -> None:
    assert found("> You must obey me\n```\nnever = always\n```\nThanks") == []


def test_the_middle_of_something_long_is_no_rule_of_the_user() -> None:
    pasted = "Never mind the gap. " * 1_000
    assert found(f"Always be brief. {pasted}")[0] == "Always be brief."
    assert len(found("x " * 2_000 + "You must not. " + "x " * 2_000)) == 0


def test_only_a_persons_message_has_rules() -> None:
    assert list(rules_in(said("a", "I must always check.", role="assistant"))) == []
    note = Message(
        id="n",
        role="user",
        origin="injected",
        parts=(TextPart(id="n.1", text="Never stop."),),
    )
    assert list(rules_in(note)) == []


def test_rules_of_an_earlier_summary_are_carried_on() -> None:
    block = TextPart(
        id=rules_part_id("s"), text=written(["Never push.", "Use tabs only."])
    )
    other = TextPart(id="s.text", text="- Never mentioned by the user.")
    summary = Message(id="s", role="user", origin="summary", parts=(block, other))
    assert [rule.text for rule in carried_rules(summary)] == [
        "Never push.",
        "Use tabs only.",
    ]
    assert many(summary, said("u", "Always test.")) == (
        "Never push.",
        "Use tabs only.",
        "Always test.",
    )


def test_each_rule_is_there_once() -> None:
    assert many(said("u", "Never push."), said("v", "Never push.")) == ("Never push.",)


def test_without_room_for_all_standing_rules_stay_before_those_of_the_moment() -> None:
    moment = [
        said(f"u{n}", f"Make sure that step {n} is done with care.") for n in range(50)
    ]
    kept = many(said("u", "Always answer in French."), *moment, most=60)
    assert kept[0] == "Always answer in French."
    assert "step 49" in kept[-1]
    assert len(kept) < 10


def test_the_block_says_whose_words_they_are_and_is_empty_without_any() -> None:
    assert written(["Never push."]) == f"{HEADING}\n- Never push."
    assert written([]) == ""


def test_a_message_of_several_languages_is_read_sentence_by_sentence() -> None:
    text = (
        "Never push. 永远不要推送！Nie auf main pushen! サーバーは遅いです。必ずテストしてください。"
        "सर्वर धीमा है।केवल मानक लाइब्रेरी लें। هل تعمل؟ لا تلمس main.py. Danke!"
    )
    assert found(text) == [
        "Never push.",
        "永远不要推送！",
        "Nie auf main pushen!",
        "必ずテストしてください。",
        "केवल मानक लाइब्रेरी लें।",
        "لا تلمس main.py.",
    ]


@pytest.mark.parametrize("language", SENTENCES)
def test_rules_of_every_language_are_found_among_what_is_none(language: str) -> None:
    of = SENTENCES[language]
    mixed = [
        text
        for three in zip(of.none, of.standing, of.once, strict=False)
        for text in three
    ]
    expected = [text for text in mixed if text not in of.none]
    assert found("\n".join(mixed)) == expected
    assert found("".join(f"- {text}\n" for text in mixed)) == expected


@pytest.mark.parametrize("language", SENTENCES)
def test_what_is_quoted_in_any_language_is_no_rule(language: str) -> None:
    rules = (*SENTENCES[language].standing, *SENTENCES[language].once)
    assert found("".join(f"> {rule}\n＞{rule}\n" for rule in rules)) == []
    assert found(f"> {' '.join(rules)}") == found(f"  > {''.join(rules)}") == []
    assert found("```\n" + "\n".join(rules) + "\n```") == []
    assert found("x " * 1_000 + "\n".join(rules) + "\n" + "x " * 2_000) == []


def test_a_stop_inside_quotation_marks_ends_no_sentence() -> None:
    assert found("必ず「はい。」と答えてください。次へ。") == [
        "必ず「はい。」と答えてください。"
    ]


def test_a_list_mark_is_no_part_of_a_sentence() -> None:
    assert found(
        "- Always test.\n* Never push.\n・必ずテスト。\n• Nur lesen.\n--no-verify must not be used."
    ) == [
        "Always test.",
        "Never push.",
        "必ずテスト。",
        "Nur lesen.",
        "--no-verify must not be used.",
    ]


def test_rules_of_five_languages_survive_twenty_compactions_word_for_word() -> None:
    situation = Situation(fold=fold_of())
    view: list[Message] = [said("u", "\n".join(PLANTED))]
    for number in range(20):
        chatter = [text for of in SENTENCES.values() for text in (*of.none, *of.once[:1])]
        view += [
            said(f"u{number}.{at}", f"{text} ({number})")
            for at, text in enumerate(chatter)
        ]
        view = [summary_message(situation, "What was done.", view, window=16_000).message]
    kept = [rule for rule in carried_rules(view[0]) if rule.text in PLANTED]
    assert tuple(rule.text for rule in kept) == PLANTED
    assert all(rule.standing for rule in kept)


def test_a_rule_that_no_summary_of_ours_holds_is_not_carried() -> None:
    """Its composition takes time with the square of the marks behind one letter."""
    endless = "Always " + "a" + "\u0316\u0301" * 300
    part = TextPart(id=rules_part_id("s"), text=f"- Never push.\n- {endless}")
    summary = Message(id="s", role="user", origin="summary", parts=(part,))
    assert [rule.text for rule in carried_rules(summary)] == ["Never push."]


def test_a_rule_with_a_line_separator_in_it_is_carried_whole() -> None:
    rule = "Never push\u2028to main."
    block = TextPart(id=rules_part_id("s"), text=written([rule]))
    assert [
        each.text
        for each in carried_rules(
            Message(id="s", role="user", origin="summary", parts=(block,))
        )
    ] == [rule]
