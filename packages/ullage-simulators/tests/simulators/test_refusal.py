import pytest

from ullage_simulators.refusal import OWN, QUOTED, Confidence, Rule, refuse


def test_a_refusal_fills_its_gaps() -> None:
    rules = {"r": Rule("{name} at {i}", "", param="p[{i}]")}
    refused = refuse(rules, "r", name="x", i=3).refused
    assert (refused.text, refused.param, refused.status) == ("x at 3", "p[3]", 400)


@pytest.mark.parametrize(
    ("source", "confidence"),
    [
        ("https://platform.claude.com/docs/en/api/errors", "documented"),
        ("https://developers.openai.com/api/docs/guides/error-codes", "documented"),
        ("https://github.com/cline/cline/issues/7339", "quoted"),
        (QUOTED, "quoted"),
        (OWN, "assumed"),
    ],
)
def test_a_rule_is_as_sure_as_its_source(source: str, confidence: Confidence) -> None:
    assert Rule("", source).confidence == confidence
    assert refuse({"r": Rule("", source)}, "r").refused.confidence == confidence


def test_a_rule_may_be_less_sure_than_its_source() -> None:
    page = "https://ai.google.dev/gemini-api/docs/troubleshooting"
    assert Rule("", page, is_assumed=True).confidence == "assumed"
