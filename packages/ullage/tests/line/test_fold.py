import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.line.logs import (
    answer,
    as_line,
    boundary,
    linked,
    prompt,
    result,
    summary,
    use,
)
from ullage_programs.claude_code.size import (
    MESSAGE_TOKENS,
    WEIGHT_PER_TOKEN,
    SessionSize,
    weigh,
)

WORDS = "steep the tea for a minute longer and tell the pot "


def folded(*lines: bytes) -> SessionSize:
    size = SessionSize()
    for line in lines:
        size.feed(line)
    return size


def size_of(text: str) -> int:
    return round(weigh(text.encode()) / WEIGHT_PER_TOKEN)


def test_the_next_call_is_the_last_input_its_output_and_what_came_since() -> None:
    size = folded(prompt("hello"), answer("msg_1", reported=20_000, output=300))
    assert size.next_input() == 20_300
    size.feed(prompt(WORDS * 20))
    assert size.next_input() == 20_300 + MESSAGE_TOKENS + size_of(WORDS * 20)


def test_the_lines_of_one_call_report_once_and_the_last_output_counts() -> None:
    first = answer("msg_1", reported=20_000, output=1)
    last = answer("msg_1", reported=20_000, output=300)
    assert folded(first, last).next_input() == 20_300


def test_an_output_that_is_too_small_for_its_text_was_a_placeholder() -> None:
    text = {"type": "text", "text": "x" * 2_400}
    size = folded(answer("msg_1", reported=20_000, output=1, blocks=[text]))
    assert size.next_input() == 21_000


def test_nothing_is_known_before_the_first_answer_of_an_older_version() -> None:
    assert folded(prompt("hello")).next_input() is None


def test_before_the_first_answer_the_logged_system_prompt_and_tools_count() -> None:
    shape = b'{"type":"api-request-shape","shape":"' + WORDS.encode() * 200 + b'"}'
    size = folded(prompt("hello"), shape)
    expected = size_of(shape.decode()) + MESSAGE_TOKENS + size_of("hello")
    assert size.next_input() == pytest.approx(expected, abs=1)


def test_side_chains_errors_and_notices_of_the_program_report_nothing() -> None:
    aside = answer("msg_2", reported=3_000, isSidechain=True)
    error = answer("msg_3", reported=4_000, isApiErrorMessage=True)
    notice = json.loads(answer("msg_4", reported=5_000))
    notice["message"]["model"] = "<synthetic>"
    size = folded(answer("msg_1", reported=20_000), aside, error, as_line(notice))
    assert size.next_input() == 20_010


def test_of_several_sampling_passes_the_last_is_the_context() -> None:
    entry = json.loads(answer("msg_1", reported=90_000))
    last = {"input_tokens": 31_000, "output_tokens": 5}
    entry["message"]["usage"]["iterations"] = [{"input_tokens": 29_000}, last]
    assert folded(as_line(entry)).input == 31_000


def test_a_kept_answer_whose_usage_was_set_to_zero_reports_nothing() -> None:
    kept = json.loads(answer("msg_2", reported=5, output=0))
    usage = kept["message"]["usage"]
    usage["input_tokens"] = 0
    usage["iterations"] = [{"input_tokens": 150_000, "output_tokens": 10}]
    size = folded(
        answer("msg_1", reported=20_000), boundary("auto", 150_010), as_line(kept)
    )
    assert size.input == 0


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"api-request-blob","message":{"role":"user","content":"again"}}',
        b'{"type":"api-request","tail":["a"]}',
        b'{"parentUuid":"p","attachment":{"type":"prompt_snapshot","systemPrompt":["long"]},"type":"attachment"}',
        b'{"type":"queue-operation","content":"hello"}',
        b"torn {",
        b"\xff\xfe\x00",
        b"[1,2]",
        b"7",
        b"[" * 100_000,
    ],
)
def test_repeated_requests_and_unreadable_lines_change_nothing(line: bytes) -> None:
    size = folded(answer("msg_1", reported=20_000), line)
    assert size.next_input() == 20_010


def test_an_attachment_counts_as_it_was_sent() -> None:
    line = as_line(
        {
            "type": "attachment",
            "attachment": {"type": "file", "content": "y" * 90_000},
            "rendered": [{"content": WORDS * 30}],
        }
    )
    size = folded(answer("msg_1", reported=20_000), line)
    assert size.added() == size_of(WORDS * 30)


def test_images_count_by_their_number_not_by_their_bytes() -> None:
    source = {"type": "base64", "data": "A" * 500_000}
    block = {"type": "image", "source": source}
    message = {"role": "user", "content": [block]}
    size = folded(
        answer("msg_1", reported=20_000), as_line({"type": "user", "message": message})
    )
    assert 1_000 < size.added() < 2_000


def test_a_session_shows_how_many_tokens_its_texts_are() -> None:
    text = WORDS * 100
    size = folded(answer("msg_1", reported=20_000, output=0), prompt(text))
    grown = size.added() * 2
    size.feed(answer("msg_2", reported=20_000 + grown, output=0))
    size.feed(prompt(text))
    assert size.added() == pytest.approx(grown, abs=8)


def test_digits_and_punctuation_weigh_more_than_letters() -> None:
    assert weigh(b"1,2,3,4,") > 2 * weigh(b"abcdefgh")


def test_the_largest_result_has_the_file_it_came_from_and_its_measured_size() -> None:
    calls = [
        use("t1", "Read", file_path="/home/ann/kettle/notes.md"),
        use("t2", "Bash", command="ls -la\nsecond line"),
    ]
    size = folded(
        answer("msg_1", reported=20_000, output=0, blocks=calls),
        result("t1", WORDS * 200),
        result("t2", WORDS),
    )
    estimated = size.largest
    assert size.largest_name == "Read notes.md"
    size.feed(answer("msg_2", reported=20_000 + 2 * estimated))
    assert size.largest == pytest.approx(2 * estimated, rel=0.05)
    assert size.results["t1"] == pytest.approx(size.largest, rel=0.05)


def test_a_smaller_result_after_it_does_not_take_its_place() -> None:
    calls = [use("t1", "Bash", command="seq 9"), use("t2", "Bash", command="ls")]
    size = folded(
        answer("msg_1", reported=20_000, blocks=calls),
        result("t1", WORDS * 50),
        result("t2", WORDS * 20),
    )
    assert size.largest_name == "Bash seq 9"


# -- compactions and rewinds --


def session_until_compaction() -> list[bytes]:
    return linked(
        prompt("hello"),
        answer("msg_1", reported=20_000, output=0),
        prompt(WORDS * 400),
        answer("msg_2", reported=25_000, output=0),
        prompt(WORDS * 8_000),
        answer("msg_3", reported=150_000, output=0),
    )


def test_after_a_compaction_the_next_call_is_the_overhead_and_the_summary() -> None:
    size = folded(*session_until_compaction(), boundary("manual", 150_000))
    size.feed(summary(WORDS * 40))
    expected = size.overhead() + MESSAGE_TOKENS + size.tokens(weigh(WORDS.encode() * 40))
    assert size.next_input() == pytest.approx(expected, abs=2)
    assert size.next_input() == pytest.approx(20_500, rel=0.05)


def test_what_comes_back_after_a_compaction_is_in_the_count_of_the_program() -> None:
    lines = [*session_until_compaction(), boundary("auto", 150_000, postTokens=12_000)]
    size = folded(*lines, summary(WORDS * 40))
    overhead = size.overhead()
    assert size.next_input() == overhead + 12_000
    size.feed(answer("msg_4", reported=32_500, output=0))
    assert size.next_input() == 32_500
    assert size.overhead() == overhead


def test_messages_that_a_compaction_kept_count() -> None:
    segment = {"headUuid": "line-2", "tailUuid": "line-3"}
    size = folded(
        *session_until_compaction(), boundary("auto", 150_000, preservedSegment=segment)
    )
    assert size.next_input() == pytest.approx(20_000 + 5_000, rel=0.02)


def test_the_size_after_a_compaction_is_unknown_where_the_start_was_not_seen() -> None:
    torn = session_until_compaction()[2:]
    size = folded(*torn, boundary("auto", 150_000), summary("short"))
    assert size.next_input() is None
    size.feed(answer("msg_4", reported=30_000))
    assert size.next_input() == 30_010


def test_only_a_compaction_that_the_program_started_shows_its_threshold() -> None:
    assert folded(boundary("manual", 90_000)).seen().compacted_at == 0
    twice = folded(boundary("auto", 170_251), boundary("auto", 167_094))
    assert twice.seen().compacted_at == 167_094


def test_a_prompt_that_follows_an_older_line_takes_back_what_came_after_it() -> None:
    lines = linked(
        prompt("hello"),
        answer("msg_1", reported=20_000, output=50),
        prompt(WORDS * 500),
        answer("msg_2", reported=90_000, output=0),
    )
    size = folded(*lines, prompt("instead", uuid="again", parent="line-1"))
    assert size.next_input() == 20_050 + MESSAGE_TOKENS + size.tokens(weigh(b"instead"))


def test_results_of_parallel_calls_follow_older_lines_and_are_no_rewind() -> None:
    calls = [use("t1", "Bash", command="ls"), use("t2", "Bash", command="ls")]
    size = folded(
        answer("msg_1", reported=20_000, output=40, blocks=calls),
        result("t1", WORDS, uuid="r1"),
        answer("msg_1", reported=20_000, output=40),
        result("t2", WORDS, uuid="r2"),
    )
    assert size.next_input() == 20_040 + size.added()
    assert size.added() > 2 * size_of(WORDS)


def test_cleared_results_are_subtracted() -> None:
    metadata = {"trigger": "auto", "preTokens": 20_000, "tokensSaved": 4_000}
    cleared = as_line(
        {
            "type": "system",
            "subtype": "microcompact_boundary",
            "microcompactMetadata": metadata,
        }
    )
    size = folded(answer("msg_1", reported=20_000), cleared)
    assert size.next_input() == 16_010


# -- hostile input --

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: object) -> list[tuple[object, object]]:
    """Every place inside a value: its container and its key."""
    pairs: list[tuple[object, object]] = []
    if isinstance(value, dict):
        pairs = [(value, key) for key in value]
    elif isinstance(value, list):
        pairs = [(value, index) for index in range(len(value))]
    for container, key in list(pairs):
        pairs += places(container[key])  # type: ignore[index]
    return pairs


@given(data=st.data(), strange=anything)
def test_any_value_leaves_a_state_to_keep(data: st.DataObject, strange: object) -> None:
    lines = [
        *session_until_compaction(),
        answer("msg_4", reported=20_000, blocks=[use("t1", "Read", file_path="a")]),
        result("t1", WORDS),
        boundary("auto", 9_000, preservedSegment={"headUuid": "line-2", "tailUuid": "b"}),
        summary(WORDS),
    ]
    number = data.draw(st.integers(0, len(lines) - 1))
    entry = json.loads(lines[number])
    container, key = data.draw(st.sampled_from(places(entry)))
    container[key] = strange  # type: ignore[index]
    lines[number] = json.dumps(entry).encode()
    size = folded(*lines)
    assert (size.next_input() or 0) >= 0
    again = SessionSize.restored(json.loads(json.dumps(vars(size))))
    assert again is not None
    assert vars(again) == vars(size)


@given(data=st.data(), strange=anything)
def test_a_strange_kept_state_is_no_error(data: st.DataObject, strange: object) -> None:
    kept = json.loads(json.dumps(vars(folded(*session_until_compaction()))))
    container, key = data.draw(st.sampled_from(places(kept)))
    container[key] = strange  # type: ignore[index]
    size = SessionSize.restored(kept)
    if size is not None:
        for line in session_until_compaction():
            size.feed(line)
        size.next_input()


def test_names_and_marks_do_not_grow_with_the_session() -> None:
    size = SessionSize()
    for number in range(3_000):
        call = use(f"t{number}", "Bash", command="x" * 500)
        size.feed(answer(f"msg_{number}", reported=20_000, blocks=[call]))
    assert len(json.dumps(vars(size))) < 60_000
