"""The loop bench's own parts: a server that leads through a task, and a client that gets through it."""

import pytest

from bench.loop import CLIENTS, OURS, Client, run, server
from bench.loop_server import END, STORY, TELL, answer


@pytest.mark.parametrize("field", ["messages", "input"])
def test_the_server_calls_the_tool_until_all_results_have_come_back(field: str) -> None:
    assert answer({field: [{"role": "user", "content": "Read the logs."}]}, 3).calls
    assert answer({field: [{"role": "tool", "content": "log 2: ok"}]}, 3).calls
    assert answer({field: [{"role": "tool", "content": "log 3: ok"}]}, 3).text == END
    assert answer({field: [{"role": "user", "content": TELL}]}, 3).text == STORY


@pytest.mark.parametrize(
    "client",
    [client for client in CLIENTS if client.name == OURS],
    ids=lambda one: str(one.wire),
)
def test_ours_gets_through_the_loop_on_each_wire(client: Client) -> None:
    with server(9) as url:
        found = run(client, url, 4, 5)
    assert found["cpu"] > 0
    assert found["wall"] > 0
