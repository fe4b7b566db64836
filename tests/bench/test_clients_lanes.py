from typing import Any

import pytest

from bench.clients.client import Client
from bench.clients.clients import CLIENTS
from bench.clients.comparison import billed_requests, lane_of
from bench.clients.scenarios import AGENT, SUBTASK
from ullage_simulators.server import Exchange
from ullage_simulators.wire import Bill

CLAUDE = CLIENTS["claude-code"]
QWEN = CLIENTS["qwen-code"]
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]


def messages(*texts: str, **more: Any) -> dict[str, Any]:
    said = [
        {"role": "user", "content": [{"type": "text", "text": each}]} for each in texts
    ]
    return {"messages": said, "tools": TOOLS, **more}


ASKED = f"{CLAUDE.summary_prompt} of all that was said."


@pytest.mark.parametrize(
    ("client", "body", "lane"),
    [
        (CLAUDE, messages("Hello."), "main"),
        (CLAUDE, messages("Find a title.", tools=[]), "other"),
        (CLAUDE, messages(SUBTASK), "child"),
        (CLAUDE, messages(AGENT, SUBTASK), "main"),
        (CLAUDE, messages("Hello.", ASKED), "summary"),
        (CLAUDE, messages(ASKED, "Hello."), "main"),
        (CLAUDE, messages("Hello.", ASKED, tools=[]), "summary"),
        (QWEN, messages("Hello.", QWEN.side_prompts[0]), "other"),
    ],
)
def test_a_request_is_of_one_lane(client: Client, body: Any, lane: str) -> None:
    assert lane_of(client, body) == lane


def test_only_answered_requests_are_billed_and_an_interrupted_one_is_not_shown() -> None:
    bill = Bill(1, "anthropic", "claude-opus-5-5", 12, 0, 0, 3, 0, 0, 0)
    answered = Exchange(1, "anthropic", "POST", "/", 200, messages("Hello."), bill=bill)
    refused = Exchange(2, "anthropic", "POST", "/", 400, messages("Hello."), "malformed")
    (found,) = billed_requests(CLAUDE, [answered, refused], {1})
    assert (found.lane, found.input, found.shown) == ("main", 12, False)
