"""The commands that run agents."""

from __future__ import annotations

from typing import Final

from ullage.cli.option_values import period, positive, whole
from ullage.cli.options import (
    Action,
    Alternatives,
    OptionGroup,
    Subcommand,
    flag,
    operand,
    text,
    value,
)
from ullage.cli.shared_options import JSON, LOG, records
from ullage_agent.cli.shared_options import (
    AGENT_MODEL,
    MODEL,
    RESUMED_SESSION,
    SCENARIO,
    TELLS_MORE,
    tool_options,
)

DATABASE = operand("database URL", "postgresql://USER@HOST/DATABASE")

ANY_STORE = operand("store STORE", "the database: postgresql://…, or a file")

COMMANDS: Final = (
    Subcommand(
        "run",
        "ask a question, or have an agent with tools carry out a request, in a session that can be resumed",
        "ullage_agent.cli.run:run",
        "agent",
        operand("request REQUEST", "what to do; - reads it from standard input"),
        MODEL,
        RESUMED_SESSION,
        *tool_options(" (default: those of ullage.toml, else none)", "your approval"),
        flag("--yes", "allow every call that a person would be asked about"),
        *AGENT_MODEL,
        value("--max-steps N", positive, "at most N model calls (default 100)"),
        flag("--json", "print one JSON object at the end: answer, reason, reading"),
        flag("--events", "print each event as a JSON line, the result as the last"),
        LOG,
        tells_more=TELLS_MORE,
    ),
    Subcommand(
        "chat",
        "talk to an agent in the terminal: type while it works, see what fills the window",
        "ullage_agent.chat.start:run",
        "agent",
        MODEL,
        flag(
            "--simulate",
            "talk to a simulated model on this machine, with a store of its own: no key needed",
        ),
        SCENARIO,
        OptionGroup(
            "sessions",
            RESUMED_SESSION,
            flag("--continue", "resume the newest session", dest="go_on"),
            text(
                "--store PLACE",
                "where sessions live: a file, or postgresql://… (default: your own store)",
                None,
            ),
        ),
        OptionGroup(
            "the agent",
            *tool_options(
                ", or none (default: those of ullage.toml, else read,list,search)",
                "your approval",
            ),
            flag("--yes", "line by line: allow every call that asks first"),
            *AGENT_MODEL,
        ),
        tells_more=TELLS_MORE,
    ),
    Subcommand(
        "approve",
        "list the sessions that need a person, or answer the tool calls of one that need approval",
        "ullage_agent.cli.approve:run",
        "admin",
        operand("session SESSION", "whose calls are shown and asked about", nargs="?"),
        text(
            "--store PLACE",
            "where sessions live: a file, or postgresql://… (default: your own store)",
        ),
        flag("--yes", "allow every call of the session that needs approval"),
        JSON,
    ),
    Subcommand(
        "demo",
        "watch an agent work on a small window, against a simulated provider: no key needed",
        "ullage_agent.cli.demo:run",
        "agent",
        flag("--fast", "without the pauses that make it readable"),
        value(
            "--seed N", whole, "another conversation: other token counts (default 0)", 0
        ),
    ),
    Subcommand(
        "permissions",
        "list what projects may do without asking you, or take it back",
        "ullage_agent.cli.permissions:run",
        "agent",
        text(
            "--revoke ID",
            "take back this one, as the list names it; may be repeated",
            [],
            action="append",
        ),
        records("those that all machines of this database share"),
        JSON,
    ),
    Subcommand(
        "store",
        "copy, archive, delete and restore sessions",
        "ullage_agent.cli.store_commands:run",
        "admin",
        actions=[
            Action(
                "copy",
                "copy every session, at rest; again resumes a copy that was ended",
                operand("file FILE", "the database file of SQLite"),
                DATABASE,
            ),
            Action(
                "prune",
                "archive or delete the sessions that nothing was written to for so long",
                ANY_STORE,
                value(
                    "--unchanged TIME",
                    period,
                    "how long nothing was written to them, such as 90d",
                    required=True,
                ),
                text("--tenant TENANT", "only sessions of this tenant"),
                Alternatives(
                    text(
                        "--archive DIRECTORY",
                        "write each to a compressed file there, read that back, and delete the session",
                    ),
                    flag("--delete", "delete them for good"),
                    flag("--dry-run", "only list them; nothing is changed"),
                    required=True,
                ),
            ),
            Action(
                "restore",
                "bring archived sessions back, at rest",
                ANY_STORE,
                operand(
                    "files FILE", "files that `ullage admin store prune` wrote", nargs="+"
                ),
                text(
                    "--as ID",
                    "restore the one file under this id, where the store has a session of its own id",
                    dest="new_id",
                ),
            ),
        ],
    ),
)
