"""The parts of the quality bench: a model that answers only from its window, and the sentences of the rules."""

import json
from collections.abc import Sequence

import pytest

from bench.compaction_quality import RULES_COLUMNS, rules_row
from bench.invented import Writer
from bench.quality.facts import facts_in
from bench.quality.files_trail import files_before
from bench.quality.logs import LoggedSession, LogItem, Touched
from bench.quality.planted import (
    EACH,
    SPEAKERS,
    ForgetfulModel,
    PlantedSession,
    planted,
)
from bench.quality.replay import curve
from bench.quality.rules import RulesOutcome, RulesSession, Sentence, sentences
from bench.quality.used_next import next_facts
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


def user(text: str) -> LogItem:
    return LogItem(text, [{"role": "user", "content": text}], False, False, text[:9])


def said(text: str, *touched: Touched) -> LogItem:
    body = [{"role": "assistant", "content": text}]
    return LogItem(text, body, True, False, text[:9], touched)


def test_the_facts_of_a_text_are_of_many_kinds() -> None:
    text = (
        "ValueError: the cask is not there. See src/cellar/cask.py and https://a.example/x, set "
        "max_fill to 4711 with --dry-run, as `open the tap` in commit 9fceb02d says (CASK-17)."
    )
    found = {(fact.kind, fact.text) for fact in facts_in(text)}
    assert found >= {
        ("path", "src/cellar/cask.py"),
        ("url", "https://a.example/x"),
        ("symbol", "max_fill"),
        ("number", "4711"),
        ("quoted", "open the tap"),
        ("id", "9fceb02d"),
        ("id", "CASK-17"),
    }
    assert any(fact.kind == "error" for fact in facts_in(text))


def test_only_what_stood_before_and_was_not_shown_again_is_needed() -> None:
    items = [
        user("The port is 8123, and the key stands in etc/keys.toml."),
        said("I have read etc/keys.toml."),
        user("Nothing new, but the port again: 8123."),
        said("So I open etc/keys.toml, listen on 8123 and write log/new.txt."),
    ]
    wanted = next_facts(LoggedSession("", items), 2)
    assert {fact.text for fact in wanted.used} == {"etc/keys.toml", "8123"}
    assert {fact.text for fact in wanted.needed} == {"etc/keys.toml"}


def test_a_fact_out_of_view_is_found_by_a_query_that_does_not_name_it() -> None:
    items = [user("The tariff of the harbour office is 48213 a year."), said("Noted.")]
    items.append(said("The harbour office asks for 48213."))
    wanted = next_facts(LoggedSession("", items), 2)
    asked: list[str] = []

    def recall(query: str, most: int) -> str:
        asked.append(query)
        return items[0].text if "harbour" in query else ""

    found = wanted.outcome(["nothing"], 1, recall)
    assert (found.needed, found.needed_in_view, found.once) == (1, 0, 1)
    assert "48213" not in asked[0]
    lost = wanted.outcome(["nothing"], 1, lambda query, most: "")
    assert (lost.once, lost.twice) == (0, 0)


def test_a_changed_file_has_to_be_named_with_its_state() -> None:
    items = [
        said("x", Touched("a/read.py", False)),
        said("y", Touched("a/b.py", True), Touched("a/c.py", True)),
    ]
    trail = files_before(LoggedSession("", items), 2)
    found = trail.left_in(["## Changed\n- a/b.py\n## Other\na/c.py"])
    assert (found.changed, found.changed_named, found.changed_said) == (2, 2, 1)
    assert (found.read, found.read_named) == (1, 0)


def test_a_replay_is_compacted_again_and_again_and_keeps_what_is_used() -> None:
    author = Writer(3)
    items = []
    for number in range(14):
        items.append(user(f"Look at part/{number}.py. {author.prose(4_000)}"))
        items.append(said(f"part/{number}.py is read, and so was part/0.py."))
    found = list(curve(LoggedSession("", items), 8_000))
    assert len(found) >= 2
    assert found[0].facts.used > 0
    assert found[0].facts.view_tokens < 8_000
