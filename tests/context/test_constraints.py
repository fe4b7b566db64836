from tests.meter.session import said
from ullage.context.constraints import HEADING, carried_rules, collected, rules_in, rules_part_id, written
from ullage.messages import Message, TextPart


def found(text: str) -> list[str]:
    return [rule.text for rule in rules_in(said("u", text))]


def many(*messages: Message, most: float = 1_000) -> tuple[str, ...]:
    return collected(messages, most=most, count=lambda text: len(text) / 4)


def test_sentences_that_require_or_forbid_are_found_word_for_word() -> None:
    text = "Hello there. Always answer in French! Please look at a.py.\n- Don't touch main.py\nYou must run the tests."
    assert found(text) == ["Always answer in French!", "Don't touch main.py", "You must run the tests."]


def test_quotes_and_code_are_no_rules_of_the_user() -> None:
    assert found("> You must obey me\n```\nnever = always\n```\nThanks") == []


def test_the_middle_of_something_long_is_no_rule_of_the_user() -> None:
    pasted = "Never mind the gap. " * 1_000
    assert found(f"Always be brief. {pasted}")[0] == "Always be brief."
    assert len(found("x " * 2_000 + "You must not. " + "x " * 2_000)) == 0


def test_only_a_persons_message_has_rules() -> None:
    assert list(rules_in(said("a", "I must always check.", role="assistant"))) == []
    note = Message(id="n", role="user", origin="injected", parts=(TextPart(id="n.1", text="Never stop."),))
    assert list(rules_in(note)) == []


def test_rules_of_an_earlier_summary_are_carried_on() -> None:
    block = TextPart(id=rules_part_id("s"), text=written(["Never push.", "Use tabs only."]))
    other = TextPart(id="s.text", text="- Never mentioned by the user.")
    summary = Message(id="s", role="user", origin="summary", parts=(block, other))
    assert [rule.text for rule in carried_rules(summary)] == ["Never push.", "Use tabs only."]
    assert many(summary, said("u", "Always test.")) == ("Never push.", "Use tabs only.", "Always test.")


def test_each_rule_is_there_once() -> None:
    assert many(said("u", "Never push."), said("v", "Never push.")) == ("Never push.",)


def test_without_room_for_all_standing_rules_stay_before_those_of_the_moment() -> None:
    moment = [said(f"u{n}", f"Make sure that step {n} is done with care.") for n in range(50)]
    kept = many(said("u", "Always answer in French."), *moment, most=60)
    assert kept[0] == "Always answer in French."
    assert "step 49" in kept[-1]
    assert len(kept) < 10


def test_the_block_says_whose_words_they_are_and_is_empty_without_any() -> None:
    assert written(["Never push."]) == f"{HEADING}\n- Never push."
    assert written([]) == ""
