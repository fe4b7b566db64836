"""How Ullage did with each client before this bench, run by hand against 52c8242 on 2026-11-22."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Earlier(NamedTuple):
    """Figures in words, as the table shows them: other scenarios than today's, so compare orders of magnitude.

    ``later`` is the errors' median and ``worst`` their worst, without first calls and calls after a compaction.
    """

    version: str
    refused: str
    log: str
    later: str
    worst: str
    first: str
    after_compaction: str


EARLIER: Mapping[str, Earlier] = {
    "claude-code": Earlier(
        "2.1.330", "default model, system messages, output limit", "6 kinds of line skipped",
        "0.4 %", "37 %", "-57 %", "+17 to +27 %",
    ),
    "codex": Earlier(
        "0.169.0", "every request", "read", "0.06 to 0.09 %", "50 %", "not measured", "-47 %"
    ),
    "gemini-cli": Earlier(
        "0.61.0", "none but a resumed session's", "read", "6.3 %", "6.3 %", "not measured", "not run"
    ),
    "opencode": Earlier(
        "1.18.33", "none", "read", "1.2 %", "31 %", "not measured", "not measured"
    ),
    "pi": Earlier(
        "0.87.1", "default model", "1 kind of line skipped", "0.02 to 0.4 %", "11 %", "-99 %", "-4.5 %"
    ),
    "qwen-code": Earlier(
        "0.24.4", "default model", "not found, not read", "none", "none", "none", "none"
    ),
    "copilot-cli": Earlier(
        "1.0.102", "none", "not found, not read", "none", "none", "none", "none"
    ),
}  # fmt: skip
