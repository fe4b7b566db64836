"""Logs with a known sum, in the form of the programs: what resumes, forks, subagents, streams and mistakes leave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

Line = dict[str, Any]

SONNET = "claude-sonnet-4-5"
CLAUDE = ".claude/projects/-home-ann-kettle"
CODEX = ".codex/sessions/2026/11/20"


class Sums(NamedTuple):
    """Tokens by kind, each in one kind only, and the money of list prices."""

    input: int
    cache_write: int
    cache_read: int
    output: int
    usd: float | None = None

    @property
    def total(self) -> int:
        return self.input + self.cache_write + self.cache_read + self.output


class KnownLogs(NamedTuple):
    """Files by their place below a home directory, and what they spent."""

    name: str
    files: dict[str, str]
    truth: Sums
    days: dict[str, int] | None = None
    """All tokens by day in Europe/Paris, where that is what is tried."""


def answer(
    name: str,
    *,
    at: str = "2026-11-20T12:00:00.000Z",
    session: str = "s-1",
    request: str | None = "",
    model: str = SONNET,
    tokens: Sequence[Any] = (10, 200, 3_000, 50),
    child: str = "",
    **usage: Any,
) -> Line:
    """One line of an answer in Claude Code's log; ``tokens`` are input, cache write, cache read and output."""
    kinds = ("input", "cache_creation_input", "cache_read_input", "output")
    names = [f"{kind}_tokens" for kind in kinds]
    counts = dict(zip(names, tokens, strict=True))
    message = {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "The kettle is on."}],
        "usage": counts | usage,
    }
    line: Line = {
        "parentUuid": None,
        "isSidechain": bool(child),
        "cwd": "/home/ann/kettle",
        "sessionId": session,
        "version": "2.1.330",
        "type": "assistant",
        "uuid": f"{session}-{name}-{child}-{at}-{tokens[-1]}",
        "timestamp": at,
        "message": message,
    }
    if request is not None:
        line["requestId"] = request or f"req_{name}"
    if child:
        line["agentId"] = child
    return line


def text_of(*lines: Line) -> str:
    """Lines as the programs write them: without spaces."""
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def codex_meta(name: str, **more: Any) -> Line:
    payload = {"id": name, "cwd": "/home/ann/kettle", "cli_version": "0.169.0", **more}
    at = "2026-11-20T12:00:00.000Z"
    return {"timestamp": at, "type": "session_meta", "payload": payload}


def codex_turn(at: str) -> Line:
    payload = {"model": "gpt-5", "cwd": "/home/ann/kettle"}
    return {"timestamp": at, "type": "turn_context", "payload": payload}


def codex_count(at: str, last: Sequence[int], total: Sequence[int]) -> Line:
    """``last`` and ``total`` are input, of that cached, and output."""
    info = {
        "last_token_usage": _codex_usage(last),
        "total_token_usage": _codex_usage(total),
    }
    payload = {"type": "token_count", "info": info}
    return {"timestamp": at, "type": "event_msg", "payload": payload}


def _codex_usage(tokens: Sequence[int]) -> dict[str, int]:
    return {
        "input_tokens": tokens[0],
        "cached_input_tokens": tokens[1],
        "output_tokens": tokens[2],
        "reasoning_output_tokens": 0,
        "total_tokens": tokens[0] + tokens[2],
    }


def usd(
    fresh: int, write: int, read: int, output: int, *, hour: int = 0, dear: bool = False
) -> float:
    """Sonnet 4.5's list price, from Anthropic's page: 3, 3.75 (an hour: 6), 0.30 and 15 dollars a million.

    A prompt of more than 200,000 tokens costs 6, 7.50 (12), 0.60 and 22.50, all of it
    (https://platform.claude.com/docs/en/about-claude/pricing).
    """
    factor = 2.0 if dear else 1.0
    answer_price = 22.5 if dear else 15.0
    inputs = fresh * 3.0 + (write - hour) * 3.75 + hour * 6.0 + read * 0.3
    return (inputs * factor + output * answer_price) / 1_000_000


def _one(name: str, truth: Sums, *lines: Line, **more: Any) -> KnownLogs:
    """One log of Claude Code."""
    return KnownLogs(name, {f"{CLAUDE}/s-1.jsonl": text_of(*lines)}, truth, **more)


def known_logs() -> list[KnownLogs]:
    return [*_copies(), *_streams(), *_prices(), *_codex(), *_odd()]


def _copies() -> list[KnownLogs]:
    first, second, third = (
        answer("msg_1"),
        answer("msg_2"),
        answer("msg_3", session="s-2"),
    )
    resumed = [answer("msg_1", session="s-2"), answer("msg_2", session="s-2"), third]
    for line, name in zip(resumed, ("msg_1", "msg_2", "msg_3"), strict=True):
        line["requestId"] = f"req_{name}"
    three = Sums(30, 600, 9_000, 150, 3 * usd(10, 200, 3_000, 50))
    two = Sums(20, 400, 6_000, 100, 2 * usd(10, 200, 3_000, 50))
    child = answer("msg_2", child="a1")
    replay = answer("msg_1", child="b2", request="req_other")
    return [
        KnownLogs(
            "a resumed or forked session repeats two calls",
            {
                f"{CLAUDE}/s-1.jsonl": text_of(first, second),
                f"{CLAUDE}/s-2.jsonl": text_of(*resumed),
            },
            three,
        ),
        KnownLogs(
            "a subagent's own log",
            {
                f"{CLAUDE}/s-1.jsonl": text_of(first),
                f"{CLAUDE}/s-1/subagents/agent-a1.jsonl": text_of(child),
            },
            two,
        ),
        KnownLogs(
            "a side question that repeats its parent's message",
            {
                f"{CLAUDE}/s-1.jsonl": text_of(first),
                f"{CLAUDE}/s-1/subagents/agent-b2.jsonl": text_of(
                    replay, answer("msg_2", child="b2")
                ),
            },
            two,
        ),
        KnownLogs(
            "a gateway numbers answers in each session, without request ids",
            {
                f"{CLAUDE}/s-1.jsonl": text_of(answer("msg_1", request=None)),
                f"{CLAUDE}/s-2.jsonl": text_of(
                    answer(
                        "msg_1", request=None, session="s-2", tokens=(11, 200, 2_999, 50)
                    )
                ),
            },
            Sums(21, 400, 5_999, 100, usd(21, 400, 5_999, 100)),
        ),
    ]


def _streams() -> list[KnownLogs]:
    begun = answer("msg_1", tokens=(10, 200, 3_000, 1))
    middle = answer("msg_1", at="2026-11-20T12:00:01.000Z", tokens=(10, 200, 3_000, 1))
    ended = answer("msg_1", at="2026-11-20T12:00:02.000Z", tokens=(10, 200, 3_000, 50))
    other = answer("msg_2", at="2026-11-20T12:00:03.000Z")
    one = Sums(10, 200, 3_000, 50, usd(10, 200, 3_000, 50))
    two = Sums(20, 400, 6_000, 100, 2 * usd(10, 200, 3_000, 50))
    synthetic = answer("msg_s", model="<synthetic>", tokens=(0, 0, 0, 0))
    late = answer("msg_1", at="2026-11-20T22:59:59.000Z")
    early = answer("msg_2", at="2026-11-20T23:00:01.000Z")
    return [
        _one("three lines of one answer while it streams", one, begun, middle, ended),
        _one("the lines of two answers in turn", two, begun, other, ended),
        _one("a notice of the program in the model's place", one, ended, synthetic),
        _one(
            "two calls around midnight in Paris",
            two,
            late,
            early,
            days={"2026-11-20": 3_260, "2026-11-21": 3_260},
        ),
    ]


def _prices() -> list[KnownLogs]:
    long = answer("msg_1", tokens=(10, 1_000, 250_000, 500))
    hour = {"ephemeral_5m_input_tokens": 4_000, "ephemeral_1h_input_tokens": 6_000}
    kept = answer("msg_1", tokens=(10, 10_000, 3_000, 50), cache_creation=hour)
    unknown = answer("msg_1", model="cellar-7b-local")
    dear_usd = usd(10, 1_000, 250_000, 500, dear=True)
    hour_usd = usd(10, 10_000, 3_000, 50, hour=6_000)
    return [
        _one(
            "a prompt of 251,010 tokens",
            Sums(10, 1_000, 250_000, 500, dear_usd),
            long,
        ),
        _one(
            "cache writes for an hour and for five minutes",
            Sums(10, 10_000, 3_000, 50, hour_usd),
            kept,
        ),
        _one("a model of unknown price", Sums(10, 200, 3_000, 50, None), unknown),
    ]


def _codex() -> list[KnownLogs]:
    start = [
        codex_meta("s-1"),
        codex_turn("2026-11-20T12:00:00.000Z"),
        codex_count("2026-11-20T12:00:10.000Z", (1_000, 0, 50), (1_000, 0, 50)),
        codex_count("2026-11-20T12:00:11.000Z", (1_000, 0, 50), (1_000, 0, 50)),
        codex_count("2026-11-20T12:00:20.000Z", (1_100, 900, 60), (2_100, 900, 110)),
    ]
    fork = [
        codex_meta("s-2", forked_from_id="s-1"),
        codex_meta("s-1"),
        codex_turn("2026-11-21T09:00:00.000Z"),
        codex_count("2026-11-21T09:00:00.000Z", (1_000, 0, 50), (1_000, 0, 50)),
        codex_count("2026-11-21T09:00:00.000Z", (1_100, 900, 60), (2_100, 900, 110)),
        codex_count("2026-11-21T09:05:00.000Z", (1_300, 1_000, 70), (3_400, 1_900, 180)),
    ]
    begin = f"{CODEX}/rollout-2026-11-20T12-00-00-s-1.jsonl"
    forked = ".codex/sessions/2026/11/21/rollout-2026-11-21T09-00-00-s-2.jsonl"
    plain_usd = (1_200 * 1.25 + 900 * 0.125 + 110 * 10) / 1_000_000
    forked_usd = (1_500 * 1.25 + 1_900 * 0.125 + 180 * 10) / 1_000_000
    return [
        KnownLogs(
            "Codex: a count that is sent again",
            {begin: text_of(*start)},
            Sums(1_200, 0, 900, 110, plain_usd),
        ),
        KnownLogs(
            "Codex: a fork with the calls of its origin, at the fork's time",
            {begin: text_of(*start), forked: text_of(*fork)},
            Sums(1_500, 0, 1_900, 180, forked_usd),
        ),
    ]


def _odd() -> list[KnownLogs]:
    good = answer("msg_1")
    huge = answer("msg_2", at="2026-11-20T12:01:00.000Z", tokens=(1e300, 200, 3_000, 50))
    negative = answer("msg_3", at="2026-11-20T12:02:00.000Z", tokens=(10, 200, 3_000, -9))
    spaced = json.dumps(answer("msg_1")) + "\n"
    return [
        KnownLogs(
            "a torn line, 1e300 tokens, and -9",
            {
                f"{CLAUDE}/s-1.jsonl": text_of(good)
                + '{"type":"assis\n'
                + text_of(huge, negative)
            },
            Sums(20, 600, 9_000, 100, None),
        ),
        KnownLogs(
            "JSON with spaces",
            {f"{CLAUDE}/s-1.jsonl": spaced},
            Sums(10, 200, 3_000, 50, usd(10, 200, 3_000, 50)),
        ),
    ]


def write(logs: KnownLogs, home: Path) -> None:
    """The files below a home directory."""
    for place, text in logs.files.items():
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
