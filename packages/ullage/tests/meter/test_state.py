from typing import Any

from ullage.meter.meter import Meter


def body(tools: int, text: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    declared = []
    for number in range(tools):
        words = "Reads a file and gives what it says, line by line."
        tool = {"name": f"tool_{number}", "description": words, "input_schema": schema}
        declared.append(tool)
    messages = [{"role": "user", "content": text}]
    return {"model": "claude-sonnet-4-5", "messages": messages, "tools": declared}


def test_messages_that_leave_are_worth_what_they_were_with_other_tools() -> None:
    meter = Meter()
    first = meter.before(body(80, "one two three four five " * 300))
    usage = {"input_tokens": first.used.tokens, "output_tokens": 5}
    meter.after(first.call, usage)

    second = body(20, "six seven eight nine ten " * 300)

    expected = Meter().before(second).used.tokens
    assert abs(meter.before(second).used.tokens - expected) <= 20
