"""Options that commands of several distributions have."""

from __future__ import annotations

from ullage.cli.option_values import port, reserve, tokens, trigger
from ullage.cli.options import Option, OptionGroup, choice, flag, text, value

JSON = flag("--json", "print one JSON object")

LOG = choice(
    "--log",
    ("debug", "info", "warning", "error"),
    "log to standard error from this level on; info has each estimate beside the reported input",
)

LOG_FORMAT = choice(
    "--log-format",
    ("text", "json"),
    "json: one object a line, with session, tenant, request and trace (default text)",
)

LIMITS = OptionGroup(
    "limits (tokens, also as 200k or 1M)",
    value("--window N", tokens, "the model's context window"),
    value("--reserve N", reserve, "kept free for the answer (default 16k)"),
    value(
        "--trigger X",
        trigger,
        "compact at this share of the window, or at X tokens (default 0.8)",
    ),
)


def address(default: int, others: str = "") -> tuple[Option, ...]:
    """Where a server listens."""
    about = f"default 127.0.0.1: this machine only{others}"
    return (
        text("--host ADDRESS", about, "127.0.0.1"),
        value("--port N", port, f"the port (default {default}; 0: a free one)", default),
    )


def no_token(where: str) -> Option:
    """Whether everybody of this machine is let in."""
    return flag(
        "--no-token",
        f"{where} without a token: every user and program of this machine, and every command in the network sandbox",
    )


def records(what: str) -> Option:
    """The database whose records are meant."""
    return text("--store URL", f"{what}: postgresql://USER@HOST/DATABASE")
