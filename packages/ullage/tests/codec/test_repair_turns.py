"""Stand-ins where a wire asks for a speaker that the history lacks."""

from tests.codec.test_repair import call, request, result, user
from ullage.codec.repair import repair
from ullage.messages import Message, TextPart

NEW = ("messages", "anthropic", "claude-opus-4-6")
OLD = ("messages", "anthropic", "claude-sonnet-4-5")
GEMINI = ("generateContent", "google", "gemini-2.5-pro")
MISTRAL = ("chat", "mistral", "mistral-large-latest")
GPT = ("chat", "openai", "gpt-4.1")
OWN = ("chat", "llama.cpp", "cellar")


def said(name: str) -> Message:
    return Message(
        id=name, role="assistant", parts=(TextPart(id=f"{name}.t", text="yes"),)
    )


def roles(*messages: Message, target: tuple[str, str, str]) -> str:
    return " ".join(
        f"{one.role[0]}{'*' * (one.origin == 'injected')}"
        for one in repair(request(*messages, target=target)).request.messages
    )


def test_an_answer_first_gets_a_user_before_it_where_one_must_speak_first() -> None:
    assert roles(said("a"), user("u"), target=NEW) == "u* a u"
    assert roles(said("a"), user("u"), target=GPT) == "a u"


def test_an_answer_last_gets_a_user_after_it_where_none_may_be_continued() -> None:
    assert roles(user("u"), said("a"), target=NEW) == "u a u*"
    assert roles(user("u"), said("a"), target=OLD) == "u a"
    assert roles(user("u"), said("a"), target=MISTRAL) == "u a u*"


def test_two_answers_in_a_row_are_kept_apart_by_the_same_stand_in() -> None:
    assert (
        roles(user("u"), said("a"), said("b"), user("v"), target=GEMINI) == "u a u* a u"
    )
    assert roles(user("u"), said("a"), said("b"), user("v"), target=GPT) == "u a a u"
    short = repair(request(user("u"), said("a"), target=GEMINI)).request.messages
    whole = repair(
        request(user("u"), said("a"), said("b"), target=GEMINI)
    ).request.messages
    assert whole[: len(short)] == short


def test_speakers_take_turns_on_an_own_server_whose_template_may_ask_for_it() -> None:
    asked = (user("u"), user("v"), said("a"), said("b"), user("w"))
    assert roles(*asked, target=OWN) == "u a* u a u* a u"
    assert roles(*asked, target=GPT) == "u u a a u"
    before = repair(request(*asked[:1], target=OWN)).request.messages
    after = repair(request(*asked, target=OWN)).request.messages
    assert after[: len(before)] == before


def test_mistral_gets_an_answer_between_a_result_and_a_user() -> None:
    message = Message(id="a", role="assistant", parts=(call("c", "abcdef123"),))
    step = (message, Message(id="t", role="tool", parts=(result("r", "abcdef123"),)))
    assert roles(user("u"), *step, user("v"), target=MISTRAL) == "u a t a* u"
    assert roles(user("u"), *step, user("v"), target=GPT) == "u a t u"


def test_an_answer_to_be_continued_does_not_end_with_white_space() -> None:
    prefill = Message(
        id="a", role="assistant", parts=(TextPart(id="t", text="The answer is: "),)
    )
    last = repair(request(user("u"), prefill, target=OLD)).request.messages[-1]
    assert last.parts == (TextPart(id="t", text="The answer is:"),)
    assert repair(request(user("u"), prefill, target=GPT)).request.messages[-1] is prefill
