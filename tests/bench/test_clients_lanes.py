from typing import Any

from ullage_simulators.server import Exchange
from ullage_simulators.wire import Bill

from bench.clients.clients import CLIENTS
from bench.clients.lanes import billed_requests, lane_of, shares_of
from bench.clients.scenarios import AGENT, SUBTASK

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


def test_shares_are_of_the_prompt_the_tools_that_are_loaded_and_the_messages() -> None:
    deferred = {"name": "Rare", "defer_loading": True, "description": "word " * 100}
    body = messages("one two three", system="four", tools=[*TOOLS, deferred])
    found = shares_of(body)
    assert (found.system, found.messages) == (1, 3)
    assert 5 < found.tools < 40


def test_a_system_message_is_the_prompt_only_where_it_begins_the_request() -> None:
    prompt = {"role": "system", "content": "one two"}
    reminder = {"role": "system", "content": "three"}
    hello = {"role": "user", "content": "four"}
    assert shares_of({"messages": [prompt, hello, reminder]})[::2] == (2, 2)
    assert shares_of({"instructions": "one", "input": [prompt, hello]})[::2] == (1, 3)
    assert shares_of({"contents": [{"role": "user", "parts": [{"text": "one"}]}]})[2] == 1


def test_signatures_and_ids_are_no_text() -> None:
    thinking = {"type": "thinking", "thinking": "one two", "signature": "c2lnbmVk" * 50}
    assert shares_of({"messages": [{"role": "assistant", "content": [thinking]}]})[2] == 2


def test_only_answered_requests_are_billed_and_an_interrupted_one_is_not_shown() -> None:
    bill = Bill(1, "anthropic", "claude-opus-5-5", 12, 0, 0, 3, 0, 0, 0)
    answered = Exchange(1, "anthropic", "POST", "/", 200, messages("Hello."), bill=bill)
    refused = Exchange(2, "anthropic", "POST", "/", 400, messages("Hello."), "malformed")
    (found,) = billed_requests(CLAUDE, [answered, refused], {1})
    assert (found.lane, found.input, found.shown) == ("main", 12, False)
