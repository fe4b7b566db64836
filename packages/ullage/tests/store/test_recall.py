"""What left the window is found by words, in few tokens, and quoted as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ullage.errors import InputError
from ullage.events import (
    CompactionCommitted,
    DroppedMessage,
    MessageAdded,
    MessageReplaced,
    Rewound,
)
from ullage.messages import (
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.store.recall import LABEL, Recalled, RecallIndex
from ullage.tokens.truncation import estimated_tokens

NAMES = st.lists(
    st.sampled_from(["cask", "bung", "wine", "48213", "Vent", "a/b.py"]), max_size=6
)


def message(name: str, *parts: Part | str, role: Role = "user") -> MessageAdded:
    made = [
        TextPart(id=f"{name}.{place}", text=part) if isinstance(part, str) else part
        for place, part in enumerate(parts)
    ]
    return MessageAdded(message=Message(id=name, role=role, parts=tuple(made)))


def left(*added: MessageAdded) -> RecallIndex:
    """What a compaction took out, all of it."""
    index = RecallIndex()
    for event in added:
        index.apply(event)
    gone = tuple(DroppedMessage(id=event.message.id, reason="") for event in added)
    index.apply(CompactionCommitted(compaction="c", dropped=gone))
    return index


def found(index: RecallIndex, query: str, tokens: int = 300) -> Recalled:
    return index.recall(query, in_view={}, tokens=tokens)


def texts(answer: Recalled) -> list[str]:
    return [line.text for line in answer.lines]


def test_the_line_with_most_of_the_words_comes_first() -> None:
    log = "\n".join(f"cask {at} has wine" for at in range(50))
    index = left(message("m1", log), message("m2", "the Vent of cask 7 is number 48213"))
    answer = found(index, "Vent cask 7")
    assert texts(answer)[0] == "the Vent of cask 7 is number 48213"
    assert answer.lines[0].place == "2:0" and answer.lines[0].message == "m2"
    assert answer.text.startswith(LABEL)


def test_one_word_in_the_same_case_decides() -> None:
    index = left(message("m1", "the vent is shut", "the Vent is shut"))
    assert texts(found(index, "Vent")) == ["the Vent is shut", "the vent is shut"]


def test_equal_lines_are_found_once_and_lines_with_the_same_values_come_last() -> None:
    lines = ["open a/b.py now", "open a/b.py now", "open a/b.py there", "open c/d.py now"]
    index = left(message("m1", "\n".join(lines)))
    first, second, third = texts(found(index, "open"))
    assert "c/d.py" in first + second and "a/b.py" in first + second
    assert "a/b.py" in third


def test_words_of_scripts_without_spaces_and_beginnings_are_found() -> None:
    index = left(message("m1", "樽の番号は四八です", "the configuration of the vent"))
    assert texts(found(index, "番号"))[0].startswith("樽")
    assert texts(found(index, "config")) == ["the configuration of the vent"]


def test_a_long_line_is_found_in_pieces() -> None:
    line = f"{'wine ' * 100}bung{' water' * 100} a/b.py{' wood' * 20}"
    text = texts(found(left(message("m1", line)), "bung"))[0]
    assert "bung" in text and len(text) < len(line) / 2 and text in line


def test_only_what_left_is_found() -> None:
    index = RecallIndex()
    for name in ("m1", "m2"):
        index.apply(message(name, f"the bung of {name}"))
    summary = Message(id="s", role="user", origin="summary", parts=())
    index.apply(CompactionCommitted(compaction="c", summarised=("m1",), summary=summary))
    assert texts(index.recall("bung", in_view={"s": True, "m2": True})) == [
        "the bung of m1"
    ]
    assert len(texts(index.recall("bung", in_view={"s": True, "m2": False}))) == 2
    assert not index.recall("bung", in_view={"m1": True, "m2": True}).lines  # undone
    assert not index.recall("bung", in_view={}).lines  # the summary was rewound
    again = Message(id="t", role="user", origin="summary", parts=())
    index.apply(
        CompactionCommitted(compaction="d", summarised=("s", "m2"), summary=again)
    )
    assert len(texts(index.recall("bung", in_view={"t": True}))) == 2
    index.apply(Rewound(to=""))
    assert not index.recall("bung", in_view={}).lines


def test_a_message_that_was_replaced_is_found_as_it_is_now() -> None:
    index = left(message("m1", "the bung is open"))
    index.apply(MessageReplaced(message=message("m1", "the bung is shut").message))
    assert texts(found(index, "bung")) == ["the bung is shut"]


def test_calls_and_results_are_found_and_reasoning_and_answers_of_recall_are_not() -> (
    None
):
    call = ToolCallPart(id="a", call_id="1", name="look", arguments='{"at": "bung 1"}')
    asked = ToolCallPart(
        id="b", call_id="2", name="mcp__ullage__recall", arguments="bung 2"
    )
    thought = ReasoningPart(id="c", text="bung 3")
    content = (TextPart(id="t", text="bung 4"),)
    result = ToolResultPart(id="d", call_id="1", content=content)
    quoting = (TextPart(id="u", text=f"Output:\n{LABEL}\nbung 5"),)
    old = ToolResultPart(id="e", call_id="2", content=quoting)
    index = left(
        message("m1", thought, call, asked, role="assistant"),
        message("m2", result, old, role="tool"),
    )
    shown = "\n".join(texts(found(index, "bung")))
    assert "bung 1" in shown and "bung 4" in shown
    assert not {"bung 2", "bung 3", "bung 5"} & set(texts(found(index, "bung")))
    assert "bung 5" not in shown and "bung 3" not in shown


def test_the_text_around_a_place_is_exact() -> None:
    text = "".join(f"line {at}\twith é and 樽\r\n" for at in range(200))
    index = left(message("m1", text))
    place = found(index, "line 150").lines[0].place
    answer = index.recall(read=place, in_view={}, tokens=200)
    assert "line 150\t" in answer.text and answer.lines[0].text in text
    assert index.recall(read=place.replace("1:", "m1:"), in_view={}).lines
    for bad in ("1:99999", "2:0", "1", "x:y", "1:-1", ":"):
        with pytest.raises(InputError, match="Nothing that left"):
            index.recall(read=bad, in_view={})


def test_keys_and_unseen_characters_are_marked() -> None:
    key = "sk-ant-api03-abcdefghij0123456789"
    index = left(message("m1", f"bung {key} \x1b[31m\u202e token_count_of_all"))
    (line,) = found(index, "bung").lines
    assert line.text == "bung [key] \\u001b[31m\\u202e token_count_of_all"
    assert key not in index.recall(read=line.place, in_view={}).text


def test_no_place_shows_a_part_of_a_key() -> None:
    secret = "Ab1xQ9zZ" * 6
    text = f"{'x ' * 300}API_KEY=sk-ant-api03-{secret} {'y ' * 300}"
    index = left(message("m1", text))
    for place in range(500, 800, 4):
        for tokens in (60, 300):
            answer = index.recall(read=f"1:{place}", in_view={}, tokens=tokens)
            assert secret[-8:] not in answer.text and secret[:8] not in answer.text


def test_no_line_of_a_private_key_is_recalled() -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQ8" * 2, "zb9Kc0lm3" * 6]
    text = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    index = left(message("m1", text, role="tool"))
    assert lines[1] not in index.recall(read="1:0", in_view={}).text
    assert texts(found(index, lines[1])) == []


def test_what_no_person_wrote_is_not_shown_as_the_users() -> None:
    said = message("m1", "the bung of cask 7")
    note = structs.replace(said.message, id="m2", origin="injected")
    index = left(said, MessageAdded(message=note))
    lines = [index.recall(read=f"{n}:0", in_view={}).lines[0] for n in (1, 2)]
    assert [line.who for line in lines] == ["user", "note"]


def test_nothing_to_look_for_is_refused() -> None:
    index = left(message("m1", "the bung"))
    for query in ("", "?!", "\n"):
        with pytest.raises(InputError, match="no word"):
            found(index, query)
    with pytest.raises(InputError, match="too few"):
        found(index, "bung", tokens=5)
    assert not found(index, "nowhere").lines


def test_more_words_are_asked_for_where_many_lines_have_all() -> None:
    log = "\n".join(f"cask {at} has wine" for at in range(200))
    answer = found(left(message("m1", log)), "cask wine")
    assert answer.more == 200 - len(answer.lines)
    assert f"{answer.more} more lines" in answer.text


@given(
    st.lists(st.text(max_size=80) | NAMES.map(" ".join), max_size=8),
    NAMES.map(" ".join) | st.text(max_size=20),
    st.integers(60, 400),
)
def test_any_text_is_quoted_as_it_was_within_the_budget(
    lines: list[str], query: str, tokens: int
) -> None:
    index = left(message("m1", "\n".join(lines), "the end"))
    try:
        answer = found(index, query, tokens=tokens)
    except InputError:
        return
    assert estimated_tokens(answer.text) <= tokens
    for line in answer.lines:
        around = index.recall(read=line.place, in_view={}, tokens=400)
        assert estimated_tokens(around.text) <= 400
