"""The table of overflow wordings against real bodies, and the look-alikes that are none."""

import pytest

from tests.cases import case, filled
from tests.codec.error_bodies import LOOKALIKES, OVERFLOWS, Real
from ullage.codec.foreign import parse_object
from ullage.codec.overflow import DENIALS, WORDINGS, Measures, overflowed, recognise
from ullage.codec.problems import problem_in_stream, read_problem
from ullage.codec.stream import Answer
from ullage.errors import BodyTooLarge, Overflow, ProviderError, TooManyImages
from ullage.messages import Message, TextPart
from ullage.usage import Usage


def problem(real: Real) -> ProviderError:
    if real.status is None:
        return problem_in_stream("chat", parse_object(real.body.encode()))
    return read_problem("chat", real.status, {}, real.body.encode())


def test_a_real_overflow_is_recognised() -> None:
    for name in filled(OVERFLOWS):
        with case(name):
            assert isinstance(problem(OVERFLOWS[name]), Overflow)


def test_the_numbers_an_overflow_names_are_read() -> None:
    for name in filled(OVERFLOWS):
        with case(name):
            found = problem(OVERFLOWS[name])
            assert isinstance(found, Overflow)
            assert (found.limit, found.count, found.max_output) == OVERFLOWS[name].numbers


def test_a_lookalike_is_not_an_overflow() -> None:
    for name in filled(LOOKALIKES):
        with case(name):
            assert not isinstance(problem(LOOKALIKES[name]), Overflow)


def test_too_many_bytes_are_told_from_too_many_tokens() -> None:
    assert {
        name
        for name, real in OVERFLOWS.items()
        if isinstance(problem(real), BodyTooLarge)
    } == {
        "anthropic 413 by bytes",
        "nginx",
        "gemini bytes",
    }


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("anthropic too many images", 100),
        ("anthropic too much media", 100),
        ("anthropic many images, one of them large", 20),
        ("vllm images", 5),
        ("opencode images", 50),
        ("copilot images", 10),
    ],
)
def test_too_many_images_are_told_from_too_many_tokens_with_how_many_are_taken(
    name: str, most: int
) -> None:
    found = problem(OVERFLOWS[name])
    assert isinstance(found, TooManyImages)
    assert found.most == most


def test_older_words_for_a_large_image_among_many_are_read_too() -> None:
    """https://github.com/langgenius/dify/issues/11177"""
    found = recognise(
        400,
        "messages.38.content.1.image.source.base64.data: At least one of the image dimensions exceeds max allowed size "
        "for many-images requests: 2000 pixels",
    )
    assert found is not None and found.wording.in_images
    assert found.measures == Measures(most=20)


def test_how_many_bytes_are_taken_is_read() -> None:
    found = problem(OVERFLOWS["gemini bytes"])
    assert isinstance(found, BodyTooLarge)
    assert found.most == 20_971_520


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 529])
def test_a_status_that_says_something_else_wins_over_the_text(status: int) -> None:
    assert recognise(status, "prompt is too long: 9 tokens > 8 maximum") is None


def test_numbers_with_commas_are_numbers() -> None:
    found = recognise(400, "prompt is too long: 200,251 tokens > 200,000 maximum")
    assert found is not None
    assert found.measures == Measures(200_000, 200_251, None)


def test_every_row_and_every_denial_names_its_source() -> None:
    assert all(row.source.startswith("https://") for row in WORDINGS)
    assert all(DENIALS.values())


UNQUOTED = {
    "the total length of all messages is too long",
    "prompt size exceeds the context window size",
    r"sent message larger than max \(\d+ vs\. \d+\)",
    "model_max_prompt_tokens_exceeded",  # stands beside the sentence that is tried
    r"request \({count} tokens\) exceeds the available context size \({limit} tokens\)",
    "input length exceeds the context length",
}
"""Rows whose sentence is quoted at their source without the body around it."""

GENERAL = {
    "images, exceeding the maximum of {most} allowed",
    r"too many images in request.{0,60}\bmax(?:imum)?\b[a-z ]{0,12}{most}",
    "prompt is too long",
    "maximum context length is {limit} tokens",
    "context_length_exceeded|exceed_context_size_error",
    "model_context_window_exceeded",
    "request entity too large|payload too large|content too large",
}
"""Rows of no server in particular."""


def test_each_wording_is_tried_by_a_real_body() -> None:
    reached = set()
    for real in OVERFLOWS.values():
        text = "\n".join(_strings(parse_object(real.body.encode()))) or real.body
        verdict = recognise(real.status, text)
        if verdict is not None:
            reached.add(verdict.wording.pattern)
    untried = {row.pattern for row in WORDINGS} - reached
    assert untried <= UNQUOTED | GENERAL


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        numbers = [
            f"{key}: {item}" for key, item in value.items() if isinstance(item, int)
        ]
        return numbers + [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []


def answer(stop: str, usage: Usage, *texts: str, outcome: str = "finished") -> Answer:
    parts = tuple(TextPart(id=str(at), text=text) for at, text in enumerate(texts))
    return Answer(Message(id="m", role="assistant", parts=parts), usage, stop, outcome)  # type: ignore[arg-type]


def test_an_answer_that_is_cut_for_its_length_and_empty_is_an_overflow() -> None:
    full = Usage(input=8_000, output=0)
    assert overflowed(answer("length", full))
    assert overflowed(answer("context_full", full))
    assert not overflowed(answer("length", Usage(input=10, output=4_096), "text"))
    reasoned = Usage(input=10, output=64)  # out of sight
    assert not overflowed(answer("length", reasoned))
    assert not overflowed(answer("stop", full))
    assert not overflowed(answer("length", full, outcome="dropped"))


@pytest.mark.parametrize(
    "name",
    [
        "gemini",
        "vertex",
        "xai",
        "copilot",
        "qwen",
        "cohere",
        "poolside",
        "sglang, by memory",
    ],
)
def test_a_limit_of_the_input_alone_is_told_from_the_window(name: str) -> None:
    found = problem(OVERFLOWS[name])
    assert isinstance(found, Overflow)
    assert found.input_alone


@pytest.mark.parametrize(
    "name", ["anthropic", "openai chat", "moonshot", "vllm", "llama.cpp", "openrouter"]
)
def test_a_limit_of_the_window_is_the_window(name: str) -> None:
    found = problem(OVERFLOWS[name])
    assert isinstance(found, Overflow)
    assert not found.input_alone
