"""The parts of the quality bench: a model that answers only from its window, and the sentences of the rules."""

import json
from collections.abc import Sequence

import pytest

from bench.compaction_quality import RULES_COLUMNS, rules_row
from bench.quality.planted import (
    EACH,
    SPEAKERS,
    ForgetfulModel,
    PlantedSession,
    planted,
)
from bench.quality.rules import RulesOutcome, RulesSession, Sentence, sentences
from ullage_simulators.prompt import DeclaredTool, Piece, ScriptContext

WINDOW = 20_000


def asked(text: str, seen: Sequence[str], *, tools: Sequence[str] = ()) -> ScriptContext:
    pieces = [Piece(each) for each in (*seen, text)]
    declared = tuple(DeclaredTool(name, {}) for name in tools)
    return ScriptContext(1, text, tools=declared, pieces=pieces)


def model(forgets: float = 0.0) -> ForgetfulModel:
    return ForgetfulModel(planted("words", 1), forgets, 1)


def test_a_session_plants_ten_facts_of_each_speaker_once_and_at_their_turns() -> None:
    session = planted("digits", 3)
    whole = "\n".join([*session.turns, *session.results])
    for speaker in SPEAKERS:
        facts = [fact for fact in session.facts if fact.speaker == speaker]
        assert len(facts) == EACH
        for fact in facts:
            assert whole.count(fact.value) == (speaker != "model")
    assert session == planted("digits", 3) != planted("digits", 4)


def test_a_value_without_its_subject_answers_nothing() -> None:
    fact = planted("digits", 1).facts[0]
    assert fact.stands_in(f"- {fact.subject}: {fact.value}")
    assert not fact.stands_in(f"values: {fact.value}\nsubjects: {fact.subject}")
    assert not fact.stands_in(f"{fact.subject}1: {fact.value}")


def answered(one: ForgetfulModel, session: PlantedSession, seen: Sequence[str]) -> str:
    return one(asked(session.questions[0], seen)).text


def test_the_model_answers_only_what_its_window_says() -> None:
    one = model()
    fact = one.session.facts[0]
    assert answered(one, one.session, ["nothing"]) == "I don't know."
    assert (one.in_view, one.answered) == (set(), set())
    said = f"- {fact.subject}: {fact.value}"
    assert fact.value in answered(one, one.session, [said])
    assert one.in_view == one.answered == {0}


def test_the_model_recalls_what_it_misses_and_that_is_not_in_view() -> None:
    one = model()
    fact, question = one.session.facts[0], one.session.questions[0]
    (call,) = one(asked(question, [], tools=["recall"])).calls
    assert json.loads(call.arguments)["query"] in fact.subject
    found = f"m1:0 {fact.subject}: {fact.value}"
    results = (("recall", found),)
    again = ScriptContext(2, question, results, pieces=[Piece(found)])
    assert fact.value in one(again).text
    assert (one.in_view, one.answered) == (set(), {0})


@pytest.mark.parametrize(("forgets", "least", "most"), [(0.0, 30, 30), (0.3, 15, 27)])
def test_a_summary_forgets_its_share(forgets: float, least: int, most: int) -> None:
    one = model(forgets)
    lines = [f"{fact.subject} is {fact.value}." for fact in one.session.facts]
    text = one(asked("Write down what is needed to go on", lines)).text
    known = [fact for fact in one.session.facts if fact.stands_in(text)]
    assert least <= len(known) <= most
    assert one.summaries == 1


def test_the_sentences_are_a_hundred_rules_and_as_many_that_bind_nothing() -> None:
    given = sentences("development")
    assert len(given) == len({each.text for each in given}) == 200
    assert sum(each.binds for each in given) == 100
    assert {each.speaker for each in given} == {"user", "file", "tool"}


def test_a_session_of_rules_goes_through_its_compactions_and_counts_what_it_cost() -> (
    None
):
    said = [
        Sentence("user", "Never deploy on Fridays.", binds=True),
        Sentence("tool", "The lift was inspected in June.", binds=False),
    ]
    found = RulesSession(said, 0, "", WINDOW, compactions=2).run()
    assert (found.rules, found.distractors, found.kept) == (1, 1, {1: 1, 2: 1})
    assert 0 < found.on_sentences <= found.by_code < found.sent


def test_a_row_shows_a_share_for_each_column() -> None:
    found = RulesOutcome(
        rules=4, distractors=4, kept={1: 4, 8: 3}, kept_by={"user": 3}, sent=1_000
    )
    row = rules_row("held", found)
    assert len(row) == len(RULES_COLUMNS)
    assert row[2:6] == ("100%", "0%", "0%", "75%")
