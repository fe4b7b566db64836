"""What first calls held, from runs that were kept."""

import json
from pathlib import Path
from typing import Any

from bench.clients.sizes import sizes_table

TOOL = {"name": "Read", "description": "Reads a file.", "input_schema": {}}


def exchange(tools: list[Any], billed: int | None) -> dict[str, Any]:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 10,
        "system": "You are an agent. " * 100,
        "tools": tools,
        "messages": [{"role": "user", "content": "Hello."}],
    }
    bill = None if billed is None else {"input": billed}
    return {"path": "/anthropic/v1/messages", "body": body, "bill": bill}


def test_the_first_call_with_tools_of_each_version_is_a_row(tmp_path: Path) -> None:
    for version, billed in (("2.1.330", 1_000), ("2.1.332", 1_100), ("2.1.332", 7)):
        home = tmp_path / "claude-code" / f"tools-{billed}"
        home.mkdir(parents=True)
        (home / "version").write_text(version, encoding="utf-8")
        title, refused = exchange([], 50), exchange([TOOL], None)
        lines = [json.dumps(each) for each in (title, refused, exchange([TOOL], billed))]
        (home / "exchanges.jsonl").write_text("\n".join(lines), encoding="utf-8")
    older, newer = sizes_table(tmp_path).rows
    assert older[:3] == ("Claude Code", "2.1.330", "claude-sonnet-4-5")
    assert newer[1] == "2.1.332"
    assert older[-1] == "1,000"
    system, tools, messages = (int(each) for each in older[3:6])
    assert 400 < system < 800
    assert 400 < tools < 800
    assert messages < 30
