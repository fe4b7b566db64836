from typing import Any

from bench.clients.clients import CLIENTS
from bench.clients.lanes import billed_requests, lane_of
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


def test_a_request_with_tools_is_of_the_conversation() -> None:
    assert lane_of(CLAUDE, messages("Hello.")) == "main"


def test_a_request_without_tools_is_none_of_the_conversation() -> None:
    assert lane_of(CLAUDE, messages("Find a title.", tools=[])) == "other"


def test_a_subagents_request_begins_with_its_task() -> None:
    assert lane_of(CLAUDE, messages(SUBTASK)) == "child"
    assert lane_of(CLAUDE, messages(AGENT, SUBTASK)) == "main"


def test_a_summary_is_asked_for_in_the_clients_own_words() -> None:
    asked = f"{CLAUDE.summary_prompt} of all that was said."
    assert lane_of(CLAUDE, messages("Hello.", asked)) == "summary"
    assert lane_of(CLAUDE, messages(asked, "Hello.")) == "main"
    assert lane_of(CLAUDE, messages("Hello.", asked, tools=[])) == "summary"


def test_a_clients_notes_are_no_part_of_the_conversation() -> None:
    assert lane_of(QWEN, messages("Hello.", QWEN.side_prompts[0])) == "other"


def test_only_answered_requests_are_billed_and_an_interrupted_one_is_not_shown() -> None:
    bill = Bill(1, "anthropic", "claude-opus-5-5", 12, 0, 0, 3, 0, 0, 0)
    answered = Exchange(1, "anthropic", "POST", "/", 200, messages("Hello."), bill=bill)
    refused = Exchange(2, "anthropic", "POST", "/", 400, messages("Hello."), "malformed")
    (found,) = billed_requests(CLAUDE, [answered, refused], {1})
    assert (found.lane, found.input, found.shown) == ("main", 12, False)
