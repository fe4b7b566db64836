from collections.abc import Sequence

from tests.context.sessions import fold_of, words
from tests.meter.session import result, said
from ullage.context.situation import Situation
from ullage.context.user_words import HEADING, LEFT_OUT, user_words
from ullage.messages import Message, TextPart

PLAIN = (
    "We write British English here.",
    "Antworte immer auf Deutsch.",
    "コメントは日本語で書いてください。",
    "The staging database belongs to Ann.",
)


def block(messages: Sequence[Message], most: float = 1_000, held: str = "") -> str:
    return user_words(Situation(fold=fold_of()), messages, most=most, held=held)


def carried(text: str) -> Message:
    part = TextPart(id="s.said", text=text)
    return Message(id="s", role="user", origin="summary", parts=(part,))


def test_messages_of_the_user_stay_word_for_word_in_any_language() -> None:
    text = "Hi.\n\n- one\n  - two\n" + " ".join(PLAIN)
    made = block([said("u", text), result("r", "c", "Never.")])
    assert made == HEADING + "\n- " + text.replace("\n", "\n  ")


def test_they_are_carried_from_compaction_to_compaction_as_they_are() -> None:
    texts = ["First.\n\n  indented\n- Always test.", "Second message.", PLAIN[2]]
    made = block([said(f"u{n}", text) for n, text in enumerate(texts)])
    for _ in range(8):
        made = block([carried(made)])
    assert made == block([said(f"u{n}", text) for n, text in enumerate(texts)])


def test_a_full_block_holds_the_beginning_and_takes_new_messages_in() -> None:
    made = ""
    for n in range(30):
        made = block([carried(made), said(f"u{n}", f"Task {n}: {words(30, n)}.")], 300)
        assert f"Task {n}:" in made
    assert "Task 0:" in made
    assert "Task 1:" not in made


def test_a_plainly_worded_rule_outlives_much_that_is_said_later() -> None:
    rule = "Klanten onder de achttien krijgen geen krediet."
    made = block([said("r", f"{rule} Look at the first file.")], 400)
    for n in range(40):
        chat = said(f"u{n}", f"Never mind {words(30, n)}. Always {words(30, 99 + n)}.")
        made = block([carried(made), chat], 400)
    assert rule in made


def test_rules_stay_where_not_all_has_room() -> None:
    chat = [said(f"u{n}", f"Look at number {n}: {words(30, n)}.") for n in range(30)]
    rule = "Never push to main."
    made = block([said("r", f"Thanks a lot. {rule} {words(200)}."), *chat], 400)
    assert rule in made
    assert LEFT_OUT in made
    assert "number 29" in made


def test_what_is_said_again_and_again_does_not_take_the_room_of_plain_words() -> None:
    chat = [said(f"u{n}", f"Go on with file {n}.") for n in range(300)]
    made = block([said("r", " ".join(PLAIN)), *chat], 300)
    for text in PLAIN:
        assert text in made
    assert "Go on with file 299." in made
    assert "Go on with file 3." not in made


def test_of_something_pasted_its_beginning_and_its_end_stay() -> None:
    pasted = ". ".join(words(20, n) for n in range(300))
    made = block([said("u", f"Here is the log. {pasted}. What is wrong with it?")], 9_000)
    assert "- Here is the log." in made
    assert made.endswith("What is wrong with it?")
    assert LEFT_OUT in made
    assert len(made) < 5_000


def test_what_a_provider_holds_word_for_word_is_left_out() -> None:
    messages = [said("u1", "Never push."), said("u2", "Use tabs.")]
    assert block(messages, held="user: Never push.") == f"{HEADING}\n- Use tabs."


def test_keys_are_struck_out_and_words_like_keys_are_not() -> None:
    key = "sk-proj-4f9aQ81mZpp02LkX"
    made = block([said("u", f"The key is {key}; see tokenizer.py and key_bindings.md.")])
    assert key not in made
    assert "tokenizer.py and key_bindings.md" in made
