import pytest

from tests.context.sessions import words
from ullage.context.accept import AcceptedSummary, RejectedSummary, accept
from ullage.context.strategy import SummaryAnswer
from ullage.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart

SOURCE = words(3_000, 1)


def answered(*parts: Part, stop: str = "stop") -> SummaryAnswer:
    return SummaryAnswer(Message(id="x", role="assistant", parts=parts), stop=stop)


def told(text: str) -> SummaryAnswer:
    return answered(TextPart(id="t", text=text))


def judge(
    answer: SummaryAnswer, source: str = SOURCE, most: float = 1_000
) -> AcceptedSummary | RejectedSummary:
    return accept(
        answer,
        lambda: source,
        source_tokens=len(source) / 6,
        most=most,
        count=lambda text: len(text) / 6,
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (told(" \n"), "empty"),
        (answered(), "empty"),
        (answered(ReasoningPart(id="r", text="hm")), "reasoning_only"),
        (answered(ToolCallPart(id="c", call_id="c", name="read")), "tool_call"),
        (answered(TextPart(id="t", text=words(50, 7)), stop="length"), "truncated"),
        (answered(TextPart(id="t", text=words(50, 7)), stop="context_full"), "truncated"),
        (answered(TextPart(id="t", text="I can't."), stop="refused"), "refused"),
        (SummaryAnswer(None, error="ServerError"), "failed"),
        (told(words(2_900, 9)), "longer"),
        (told(SOURCE[:4_000]), "echo"),
        (told(" ".join(SOURCE.split()[20:26])), "echo"),
    ],
)
def test_what_is_no_summary_has_its_reason(answer: SummaryAnswer, reason: str) -> None:
    verdict = judge(answer)
    assert isinstance(verdict, RejectedSummary)
    assert verdict.reason == reason
    assert verdict.note


def test_a_summary_is_accepted_whole() -> None:
    assert judge(told(words(200, 8))) == AcceptedSummary(words(200, 8), is_whole=True)


def test_a_summary_may_quote_names_and_short_phrases() -> None:
    quotes = " and then ".join(
        " ".join(SOURCE.split()[n : n + 4]) for n in range(0, 400, 20)
    )
    assert isinstance(judge(told(quotes)), AcceptedSummary)


def test_text_around_the_summary_is_cut_off_and_said() -> None:
    verdict = judge(told("\n\n\n  " + words(60, 8)))
    assert isinstance(verdict, AcceptedSummary)
    assert not verdict.is_whole


def test_a_short_source_may_have_a_summary_of_its_length() -> None:
    assert isinstance(judge(told(words(40, 3)), source=words(40, 4)), AcceptedSummary)


def test_a_summary_far_over_the_length_asked_for_is_refused() -> None:
    verdict = judge(told(words(900, 3)), most=100)
    assert isinstance(verdict, RejectedSummary) and verdict.reason == "longer"
