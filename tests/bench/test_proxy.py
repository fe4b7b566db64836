"""The bench of proxies: its requests, its figures and its table."""

from __future__ import annotations

import json
import os
import socket

import pytest

from bench.proxy import (
    SIZES,
    Measured,
    ProxyUnderTest,
    body_of,
    cpu_ms,
    free_port,
    memory_mb,
    settle,
    table,
)


@pytest.mark.parametrize("size", SIZES.values())
def test_a_body_has_its_size_and_is_the_same_at_every_run(size: int) -> None:
    body = body_of(size, is_short=False)
    assert body == body_of(size, is_short=False)
    assert 0.8 * size < len(body) < 1.1 * size


@pytest.mark.parametrize("size", SIZES.values())
def test_a_body_is_a_conversation_whose_last_word_is_the_users(size: int) -> None:
    request = json.loads(body_of(size, is_short=True))
    roles = [turn["role"] for turn in request["messages"]]
    assert set(roles[::2]) == {"user"}
    assert set(roles[1::2]) <= {"assistant"}
    assert roles[-1] == "user"
    assert request["stream"] is True


def test_a_short_answer_is_asked_for_by_its_tokens() -> None:
    short = json.loads(body_of(4_000, is_short=True))
    long = json.loads(body_of(4_000, is_short=False))
    assert short["max_tokens"] == 1
    assert long["max_tokens"] > 1
    assert short["messages"] == long["messages"]


def test_the_table_has_a_row_for_each_proxy_and_both_sizes() -> None:
    times = [1.0, 2.0, 3.0]
    direct = Measured(times, {})
    ours = Measured(times, {"relay": [10.0, 14.0], "metering": [5.0]})
    larger = Measured([4.0, 4.0], {"relay": [16.0], "metering": [30.0]})
    measured = {
        "4 KB": {"direct": direct, "Ullage": ours},
        "400 KB": {"direct": direct, "Ullage": larger},
    }
    memory = {"Ullage": {"relay": 23.4, "metering": 166.6}}
    made = table(measured, memory)
    assert len(made.columns) == 5
    rows = {row[0]: row[1:] for row in made.rows}
    assert rows["direct"][2:] == ("-", "-")
    assert rows["Ullage"] == (
        "2.0 / 3.8 ms",
        "4.0 / 4.0 ms",
        "relay 12 / 16 ms, metering 5 / 30 ms",
        "23 MB + 167 MB",
    )


def test_a_free_port_can_be_listened_on() -> None:
    port = free_port()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", port))


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs Linux")
def test_the_figures_of_a_process_are_read_from_proc() -> None:
    own = os.getpid()
    before = cpu_ms(own)
    sum(range(100_000))
    assert cpu_ms(own) >= before > 0
    assert memory_mb(own) > 1


def test_a_proxy_without_processes_has_settled_at_once() -> None:
    settle(ProxyUnderTest("direct", 1, {}))
