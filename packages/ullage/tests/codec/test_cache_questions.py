"""Our own client asks providers why their cache was not read, where they are known to answer."""

from typing import Any

import pytest

from tests.meter.session import said
from ullage.codec.blocks import Options
from ullage.codec.history import encode
from ullage.messages import Request


def body_of(
    wire: str, model: str, provider: str, compare_with: str | None
) -> dict[str, Any]:
    request = Request(
        wire=wire, model=model, provider=provider, messages=(said("u1", "hello"),)
    )
    return dict(encode(request, options=Options(compare_with=compare_with)).body)


@pytest.mark.parametrize(
    ("provider", "before", "asked"),
    [
        ("anthropic", "msg_1", {"previous_message_id": "msg_1"}),
        ("anthropic", "resp_1", {"previous_message_id": None}),
        ("anthropic", "", {"previous_message_id": None}),
        ("anthropic", None, None),
        ("bedrock", "msg_1", None),
    ],
)
def test_anthropic_is_asked_from_the_first_call_on(
    provider: str, before: str | None, asked: object
) -> None:
    body = body_of("messages", "claude-opus-5-5", provider, before)
    assert body.get("diagnostics") == asked


@pytest.mark.parametrize(
    ("model", "before", "asked"),
    [
        ("gpt-5.6", "resp_1", {"comparison_response_id": "resp_1"}),
        ("gpt-5.5", "resp_1", None),
        ("gpt-5.6", "msg_1", None),
        ("gpt-5.6", "", None),
    ],
)
def test_openai_is_asked_for_models_that_answer(
    model: str, before: str, asked: object
) -> None:
    body = body_of("responses", model, "openai", before)
    assert body.get("prompt_cache_options") == asked
