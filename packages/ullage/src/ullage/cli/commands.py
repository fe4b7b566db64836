"""The commands that read: windows, sessions, spending, models; and those that go into other programs."""

from __future__ import annotations

from typing import Final

from ullage.cli.client_names import CLIENTS, client_name
from ullage.cli.option_values import period, positive, seconds, whole
from ullage.cli.options import (
    OptionGroup,
    Subcommand,
    choice,
    flag,
    operand,
    text,
    value,
)
from ullage.cli.shared_options import JSON, LIMITS, LOG

GROUPINGS: Final = ("day", "week", "month", "project", "model", "program", "session")

USUAL_PROXY: Final = "usual"
"""What ``--proxy`` is without an address."""

ESTIMATOR = choice(
    "--estimator",
    ("auto", "bpe", "pretoken", "quarter", "gemini-cli"),
    "how text is counted: auto takes bpe where `ullage[bpe]` is installed, else pretoken",
    "auto",
)

SESSION_LOG = (
    operand(
        "file FILE",
        "a session log, the beginning or end of an id that `ullage sessions` lists, or a directory; without it, "
        "the newest session of this directory",
        nargs="?",
    ),
    text(
        "--session ID",
        "the session, where FILE holds several; without FILE, as its id in the place of FILE",
    ),
)

COMMANDS: Final = (
    Subcommand(
        "context",
        "show what fills the window of a recorded session",
        "ullage.cli.context:context",
        "see",
        *SESSION_LOG,
        OptionGroup(
            "what is shown",
            JSON,
            flag(
                "--follow",
                "go on as the log grows, until Ctrl-C; with --json a reading a line",
            ),
            value("--at STEP", whole, "the reading before call number STEP"),
            flag(
                "--advice",
                "instead of the rows: what could be left out, what that saves, and how",
            ),
            value("--top N", positive, "also the N largest single items, with their ids"),
            flag("--steps", "also a table of all calls: estimate, actual, error"),
            flag("--rows", "every row, down to single tools"),
            flag(
                "--no-content",
                "no texts, paths, titles and files: numbers, and names of tools and models",
            ),
            LOG,
        ),
        OptionGroup(
            "pictures, instead of text (PATH - is standard output)",
            text("--html PATH", "a page: map, growth, suggestions, all calls"),
            text("--svg PATH", "a card, light and dark, for a README"),
            text("--png PATH", "the card as pixels; needs `ullage[png]`"),
        ),
        LIMITS,
        ESTIMATOR,
    ),
    Subcommand(
        "sessions",
        "list the sessions found in the usual places, newest first",
        "ullage.cli.sessions:sessions",
        "see",
        JSON,
        value("-n --limit N", positive, "at most N sessions (default 20)", 20),
        flag(
            "--needs",
            "only Ullage's own that need a person: an approval, a failed or paused turn",
        ),
    ),
    Subcommand(
        "top",
        "show all sessions of all agents that run on this machine, a line each, live",
        "ullage.cli.top:top",
        "see",
        value(
            "--since TIME",
            period,
            "sessions that were written to within 30m, 8h or 2d (default 60m)",
            3_600.0,
        ),
        flag("--all", "all sessions, however old"),
        choice(
            "--sort",
            ("activity", "fullness", "cost"),
            "what comes first (default activity)",
            "activity",
        ),
        flag("--once", "show it once and end, as on a pipe"),
        flag("--json", "print one JSON line for each look"),
        flag("--no-content", "no names of projects and no titles, only ids and numbers"),
        value("--interval S", seconds, "look every S seconds (default 2)", 2.0),
    ),
    Subcommand(
        "usage",
        "show what was spent by day, project or model, over the logs of all programs",
        "ullage.cli.usage:usage",
        "see",
        choice("--by", GROUPINGS, "what a row is (default day)", "day"),
        text(
            "--since DATE",
            "the first day: 2026-11-20, today, or 7d, 4w, 3m, 1y for so much up to today (default 14d)",
        ),
        text("--until DATE", "the last day"),
        text(
            "--program NAME",
            "only what this program spent: claude-code, codex, opencode, ullage ...",
            type=client_name,
        ),
        text("--project PATH", "only sessions of this directory and those below it"),
        text(
            "--timezone ZONE",
            "whose days: Europe/Paris, UTC ... (default: this machine's)",
        ),
        JSON,
    ),
    Subcommand(
        "models",
        "show what is known of a model: its window, its largest output and its prices, with their sources",
        "ullage.cli.models:run",
        "see",
        operand(
            "name NAME", "a model, as provider:model or alone", nargs="?", default=""
        ),
        text("--filter TEXT", "list models whose provider:name contains TEXT"),
        flag(
            "--refresh",
            "replace the catalogue by the data of the installed genai-prices package",
        ),
        JSON,
    ),
    Subcommand(
        "install",
        "put the status line, hooks or a proxy's address into another program's configuration, or take them out",
        "ullage.cli.install:install",
        "other",
        operand(
            "client CLIENT",
            ", ".join(CLIENTS.values()),
            type=client_name,
            choices=list(CLIENTS.values()),
        ),
        flag("--remove", "take out what this command put there"),
        flag("--statusline", "only the status line"),
        flag("--hooks", "only the hooks"),
        text(
            "--proxy URL",
            "only the address that the program sends its requests to (without URL: that of `ullage proxy`)",
            nargs="?",
            const=USUAL_PROXY,
        ),
        flag("--project", "in this directory's configuration instead of the user's"),
        flag("--dry-run", "show what would be written and change nothing"),
        flag("--yes", "do not ask before it is written"),
    ),
    Subcommand(
        "mcp",
        "offer readings and explanations to other programs, as an MCP server on standard input",
        "ullage.cli.mcp_server:run",
        "other",
        text(
            "--agent MODULE:NAME",
            "offer this agent of a Python module as a tool, and nothing else",
        ),
        flag("--here", "only sessions that were begun in this directory"),
        flag("--no-content", "no titles, paths and commands, only ids and numbers"),
        flag(
            "--recall", "offer the text that left the window of this directory's session"
        ),
    ),
    Subcommand(
        "simulate",
        "serve strict simulators of the providers on this machine, for tests and demonstrations",
        "",
        "serve",
    ),
)
