"""The commands and their options. Nothing heavy is imported here, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ullage.cli.client_names import CLIENTS, client_name, program_name
from ullage.cli.mistyped import CommandParser
from ullage.cli.option_values import (
    a_path,
    days,
    patience,
    period,
    place_name,
    port,
    positive,
    reserve,
    seconds,
    tokens,
    trigger,
    whole,
)
from ullage.cli.options import (
    Action,
    Alternatives,
    Option,
    OptionGroup,
    Subcommand,
    choice,
    flag,
    operand,
    text,
    value,
)

DRAIN_S = 20.0
"""Seconds for steps under way after SIGTERM: within the 30 s that Kubernetes gives a container."""

INGRESS = "http://127.0.0.1:8080"
ADMIN = "http://127.0.0.1:9070"
"""Where a Restate server takes requests and registrations unless it is configured otherwise
(https://docs.restate.dev/server/configuration)."""

GROUPINGS = ("day", "week", "month", "project", "model", "program", "session")

USUAL_PROXY = "usual"
"""What ``--proxy`` is without an address."""

# Options that several commands have.

_JSON = flag("--json", "print one JSON object")
_MODEL = text("--model NAME", "provider:model, as in anthropic:claude-haiku-4-5")
_RESUMED_SESSION = text("--session ID", "resume this session, or begin it")
_SCENARIO = text("--scenario FILE", "with --simulate: what the model answers")

_LOG = choice(
    "--log",
    ("debug", "info", "warning", "error"),
    "log to standard error from this level on; info has each estimate beside the reported input",
)

_ESTIMATOR = choice(
    "--estimator",
    ("auto", "bpe", "pretoken", "quarter", "gemini-cli"),
    "how text is counted: auto takes bpe where `ullage[bpe]` is installed, else pretoken",
    "auto",
)

_SESSION_LOG = (
    operand(
        "file FILE",
        "a session log, or the id of one that `ullage sessions` lists; without it, the newest",
        nargs="?",
    ),
    text(
        "--session ID",
        "the session, where FILE holds several; without FILE, as its id in the place of FILE",
    ),
)

_LIMITS = OptionGroup(
    "limits (tokens, also as 200k or 1M)",
    value("--window N", tokens, "the model's context window"),
    value("--reserve N", reserve, "kept free for the answer (default 16k)"),
    value(
        "--trigger X",
        trigger,
        "compact at this share of the window, or at X tokens (default 0.8)",
    ),
)

_ENDPOINT = (
    text("--system TEXT", "the system prompt"),
    text("--base-url URL", "another address, of a local server or a gateway"),
    text(
        "--wire WIRE", "messages, responses, chat or generateContent (default: the usual)"
    ),
    value("--window N", tokens, "the model's context window, where it is unknown"),
    value("--max-output N", tokens, "at most N tokens of output a call (also as 2k)"),
)
"""How the model is reached, and how much it may hold and say."""

_AGENT_MODEL = (
    *_ENDPOINT,
    text(
        "--strategy NAMES",
        "how it is compacted: hybrid (default), llm, prune, noop, or strategies in order, as in clear,summary",
    ),
    choice(
        "--count",
        ("auto", "always", "never"),
        "when the provider is asked to count a request; auto: where an estimate is weakest or decides something",
        None,
    ),
)
"""The same for agents, and how their windows are compacted and counted."""

_DRAIN = value(
    "--drain S",
    patience,
    f"seconds that model calls and tools may still take after SIGTERM (default {DRAIN_S:.0f}; after Ctrl-C none)",
    DRAIN_S,
)

_METERING = (
    OptionGroup(
        "what is stored",
        Alternatives(
            text(
                "--store FILE", "the sessions' database (default: proxy.db in your data)"
            ),
            flag("--no-store", "store nothing"),
        ),
        flag("--no-content", "sizes and digests instead of what was written"),
        value(
            "--keep-days N",
            days,
            "delete sessions N days after their last call (default 30; 0: never)",
            30.0,
        ),
    ),
    value(
        "--guard X",
        trigger,
        "refuse a request above X tokens, or above this share of the window, as its provider would",
    ),
)


def _tools(more: str, approval: str) -> tuple[Option, ...]:
    """Which tools an agent has, and what they may reach."""
    return (
        text(
            "--tools NAMES",
            f"built-in tools: read,write,edit,list,search,shell{more}; write, edit, shell and tools of MCP servers "
            f"need {approval}",
        ),
        text("--root DIR", "the directory that file tools are confined to", None),
        choice(
            "--sandbox",
            ("workspace", "workspace+network", "off"),
            "what commands may reach: the root and no network (workspace, the default), with the network, or "
            "everything the user may (off)",
        ),
    )


def _server_agent(where_approved: str) -> OptionGroup:
    return OptionGroup(
        "the agent, where ullage.toml does not say it",
        _MODEL,
        *_tools(
            " (default: none)",
            f"approval, {where_approved}unless the setting `approve` says otherwise",
        ),
        *_AGENT_MODEL,
    )


def _address(default: int, others: str = "") -> tuple[Option, ...]:
    about = f"default 127.0.0.1: this machine only{others}"
    return (
        text("--host ADDRESS", about, "127.0.0.1"),
        value("--port N", port, f"the port (default {default}; 0: a free one)", default),
    )


def _no_token(where: str) -> Option:
    return flag(
        "--no-token",
        f"{where} without a token: every user and program of this machine, and every command in the network sandbox",
    )


def _dispatching(default: str) -> tuple[Option, ...]:
    return (
        choice(
            "--dispatch",
            ("embedded", "lease", "restate"),
            "who says where a session is driven: this process (embedded), leases of the store (lease: two or three "
            f"servers), a Restate server (restate: workers alone drive). Default {default}",
            default,
        ),
        value(
            "--place NAME",
            place_name,
            "where the sessions' files are: only sessions of this place are driven here, and new ones belong to it "
            "(default: those without a place)",
            "",
        ),
        text(
            "--restate URL",
            f"where Restate takes requests, or unix:PATH, with --dispatch restate (default {INGRESS})",
            INGRESS,
        ),
    )


def _records(what: str) -> Option:
    return text("--store URL", f"{what}: postgresql://USER@HOST/DATABASE")


_TOKEN_FILE = Alternatives(
    text("--file FILE", "default: tokens.json in your data directory"),
    _records("of all servers of this database"),
)

_QUOTA_STORE = text(
    "--store STORE", "the store's file or postgresql://… (default: your own)"
)
_DATABASE = operand("database URL", "postgresql://USER@HOST/DATABASE")
_ANY_STORE = operand("store STORE", "the database: postgresql://…, or a file")

# The commands.

COMMANDS = (
    Subcommand(
        "context",
        "show what fills the window of a recorded session",
        "context:context",
        *_SESSION_LOG,
        OptionGroup(
            "what is shown",
            _JSON,
            value("--at STEP", whole, "the reading before call number STEP"),
            flag(
                "--advice",
                "instead of the rows: what could be left out, what that saves, and how",
            ),
            value("--top N", positive, "also the N largest single items, with their ids"),
            flag("--steps", "also a table of all calls: estimate, actual, error"),
            flag("--rows", "every row, down to single tools"),
            flag("--no-content", "no text of the conversation, only names and numbers"),
            _LOG,
        ),
        _LIMITS,
        _ESTIMATOR,
    ),
    Subcommand(
        "sessions",
        "list the sessions found in the usual places, newest first",
        "sessions:sessions",
        _JSON,
        value("-n --limit N", positive, "at most N sessions (default 20)", 20),
    ),
    Subcommand(
        "usage",
        "show what was spent by day, project or model, over the logs of all programs",
        "usage:usage",
        choice("--by", GROUPINGS, "what a row is (default day)", "day"),
        text(
            "--since DATE",
            "the first day: 2026-11-20, today, or 7d, 4w, 3m, 1y for so much up to today (default 14d)",
        ),
        text("--until DATE", "the last day"),
        text(
            "--program NAME",
            "only what this program spent: claude-code, codex, opencode, ullage ...",
        ),
        text("--project PATH", "only sessions of this directory and those below it"),
        text(
            "--timezone ZONE",
            "whose days: Europe/Paris, UTC ... (default: this machine's)",
        ),
        Alternatives(_JSON, flag("--csv", "print the rows as CSV")),
    ),
    Subcommand(
        "models",
        "show what is known of a model: its window, its largest output and its prices, with their sources",
        "models:run",
        operand(
            "name NAME", "a model, as provider:model or alone", nargs="?", default=""
        ),
        text("--filter TEXT", "list models whose provider:name contains TEXT"),
        flag(
            "--refresh",
            "replace the catalogue by the data of the installed genai-prices package",
        ),
        _JSON,
    ),
    Subcommand(
        "ask",
        "ask a model one question and show what the answer cost and what the window holds after it",
        "ask:run",
        operand("question QUESTION", "what to ask; - reads it from standard input"),
        Option(*_MODEL.names, **_MODEL.settings, required=True),
        *_ENDPOINT,
        flag("--no-stream", "wait for the whole answer"),
        flag("--raw", "show the exact request before it is sent, the key masked"),
        flag("--json", "print one JSON object: answer, usage, reading"),
    ),
    Subcommand(
        "run",
        "have an agent with tools carry out a request, in a session that can be resumed",
        "run:run",
        operand("request REQUEST", "what to do; - reads it from standard input"),
        _MODEL,
        _RESUMED_SESSION,
        *_tools(" (default: those of ullage.toml, else none)", "your approval"),
        flag("--yes", "allow every call that a person would be asked about"),
        *_AGENT_MODEL,
        value("--max-steps N", positive, "at most N model calls (default 100)"),
        flag("--json", "print one JSON object at the end: answer, reason, reading"),
        flag("--events", "print each event as a JSON line, the result as the last"),
        _LOG,
    ),
    Subcommand(
        "chat",
        "talk to an agent in the terminal: type while it works, see what fills the window",
        "chat.start:run",
        _MODEL,
        flag(
            "--simulate",
            "talk to a simulated model on this machine, with a store of its own: no key needed",
        ),
        _SCENARIO,
        OptionGroup(
            "sessions",
            _RESUMED_SESSION,
            flag("--continue", "resume the newest session", dest="go_on"),
            text(
                "--store PLACE",
                "where sessions live: a file, or postgresql://… (default: your own store)",
                None,
            ),
        ),
        OptionGroup(
            "the agent",
            *_tools(
                ", or none (default: those of ullage.toml, else read,list,search)",
                "your approval",
            ),
            flag("--yes", "line by line: allow every call that asks first"),
            *_AGENT_MODEL,
        ),
    ),
    Subcommand(
        "demo",
        "watch an agent work on a small window, against a simulated provider: no key needed",
        "demo:run",
        flag("--fast", "without the pauses that make it readable"),
        value(
            "--seed N", whole, "another conversation: other token counts (default 0)", 0
        ),
    ),
    Subcommand(
        "serve",
        "serve sessions over HTTP, with a page to watch and steer them",
        "serve:run",
        flag("--simulate", "use a simulated model with a separate store: no key needed"),
        _SCENARIO,
        OptionGroup(
            "where",
            *_address(8801),
            text(
                "--token TEXT",
                "a token that allows everything (better: the variable ULLAGE_TOKEN, or `ullage token add`); without "
                "any, that of this machine in server-token in your data",
            ),
            _no_token("let in who comes"),
            text(
                "--tokens FILE",
                "the file of `ullage token` (default: tokens.json in your data); those of a database count as well",
            ),
            text(
                "--public-url URL",
                "the address of the proxy in front of the server, as browsers use it",
            ),
            text(
                "--trusted-proxies ADDRESSES",
                "the addresses and networks of proxies, with commas, whose X-Forwarded-For and -Proto name the client "
                "(default: none)",
            ),
            text(
                "--store PLACE",
                "the sessions' database: a file, or postgresql://… (default: the user's own file)",
            ),
            Option(
                "--live",
                action=argparse.BooleanOptionalAction,
                help="show the running sessions of all programs of this machine, to tokens with the scope admin "
                "(default: on loopback without `ullage token`)",
            ),
            _DRAIN,
            Option(
                "--drive",
                action=argparse.BooleanOptionalAction,
                default=True,
                help="drive sessions here; with --no-drive the server only stores and shows, and workers drive",
            ),
            *_dispatching("embedded"),
        ),
        _LOG,
        _server_agent("on the page or over HTTP, "),
    ),
    Subcommand(
        "worker",
        "drive sessions of a store that servers share, without serving HTTP",
        "worker:run",
        OptionGroup(
            "where",
            text(
                "--store PLACE",
                "the sessions' database: postgresql://…, or a file",
                None,
                required=True,
            ),
            *_dispatching("lease"),
            text(
                "--listen HOST:PORT",
                "where Restate calls this worker, with --dispatch restate (default 127.0.0.1:9080); workers of one "
                "machine may share it",
                "127.0.0.1:9080",
            ),
            text(
                "--restate-key KEY",
                "Restate's public key, as its log says it: requests that Restate has not signed are refused",
            ),
            _no_token(
                "take requests at --listen that nobody signed, and show --metrics,"
            ),
            text(
                "--metrics HOST:PORT",
                "answer there to GET /healthz, /readyz, /drainz and, with a token, /metrics (default: nowhere); "
                "nothing of a session is told",
            ),
            value(
                "--drives N",
                positive,
                "sessions that it drives at once (default: any number)",
                0,
            ),
            _DRAIN,
        ),
        _LOG,
        _server_agent(""),
    ),
    Subcommand(
        "cluster",
        "start PostgreSQL, Restate, two servers and two workers on this machine, for a trial",
        "cluster:run",
        flag("--local", "all on this machine, until Ctrl-C"),
        text(
            "--model PROVIDER:MODEL",
            "the model (default: a simulated one, no key needed)",
        ),
        text(
            "--store URL",
            "a database of PostgreSQL to use (default: a new one, removed at the end)",
        ),
    ),
    Subcommand(
        "dispatch",
        "tell a Restate server where the workers are",
        "dispatch:run",
        actions=[
            Action(
                "register",
                "have Restate call the workers at an address; again changes nothing",
                operand(
                    "workers URL",
                    "where Restate reaches them, as http://workers.example.org:9080",
                ),
                text(
                    "--admin URL",
                    f"Restate's admin API, or unix:PATH (default {ADMIN})",
                    ADMIN,
                ),
            )
        ],
    ),
    Subcommand(
        "mcp",
        "offer readings, explanations and compaction to other programs, as an MCP server on standard input",
        "mcp_server:run",
        value(
            "--http PORT",
            int,
            "over HTTP at 127.0.0.1 (0: a free port), with a token: ULLAGE_TOKEN, one of `ullage token`, or that of "
            "this machine in server-token in your data",
        ),
        _no_token("answer with --http"),
        flag("--here", "only sessions that were begun in this directory"),
        flag("--no-content", "no titles, paths and commands, only ids and numbers"),
        flag(
            "--compact",
            "offer the tool that compacts sessions of your own store; it calls their models",
        ),
    ),
    Subcommand(
        "permissions",
        "list what projects may do without asking you, or take it back",
        "permissions:run",
        text(
            "--revoke ID",
            "take back this one, as the list names it; may be repeated",
            [],
            action="append",
        ),
        _records("those that all machines of this database share"),
        _JSON,
    ),
    Subcommand(
        "token",
        "make, list and revoke the tokens of `ullage serve`",
        "token:run",
        actions=[
            Action(
                "add",
                "make a token and show it once",
                operand("name NAME", "what it is called in lists and logs"),
                text(
                    "--scope SCOPES",
                    "read, write, approve, admin, with commas between them (default read); write and approve include "
                    "read, admin includes all",
                    [],
                    action="append",
                ),
                text(
                    "--tenant TENANT",
                    "whose sessions it is for: no token of another tenant sees them (default: the operator's)",
                    "default",
                ),
                text("--expires TIME", "30d, 12h, 1y or never (default 90d)", "90d"),
                _TOKEN_FILE,
            ),
            Action("list", "show the tokens, without their text", _TOKEN_FILE),
            Action(
                "revoke",
                "refuse a token from now on",
                operand("name NAME", "the token's name"),
                _TOKEN_FILE,
            ),
        ],
    ),
    Subcommand(
        "quota",
        "what each tenant of a store may use in a day",
        "quota:run",
        actions=[
            Action(
                "set",
                "set limits; those not named stay as they are",
                operand("tenant TENANT", "`default` is the operator's own"),
                text("--sessions N", "sessions begun in a UTC day, or none"),
                text(
                    "--tokens N",
                    "tokens of input and output, as 500k or 2M in a UTC day, or none",
                ),
                text("--usd N", "US dollars by list prices in a UTC day, or none"),
                _QUOTA_STORE,
            ),
            Action("list", "show all quotas and what is used today", _QUOTA_STORE),
            Action(
                "remove",
                "let a tenant use as much as it wants",
                operand("tenant TENANT", "the tenant's name"),
                _QUOTA_STORE,
            ),
        ],
    ),
    Subcommand(
        "watch",
        "follow the session of another agent and show its window as its log grows",
        "watch:watch",
        *_SESSION_LOG,
        flag("--json", "print one reading as a JSON line whenever it changes"),
        flag("--once", "print one reading and end"),
        value("--interval S", seconds, "seconds between two looks (default 0.25)", 0.25),
        _LIMITS,
        _ESTIMATOR,
    ),
    Subcommand(
        "top",
        "show all sessions of all agents that run on this machine, a line each, live",
        "top:top",
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
        "wrap",
        "run a client, with every call that it makes metered from its real body",
        "wrap:wrap",
        operand(
            "client CLIENT",
            ", ".join(CLIENTS),
            type=program_name,
            nargs="?",
            default="",
        ),
        flag("--quiet", "print nothing of our own"),
        *_METERING,
        usage="ullage wrap CLIENT [options] [-- ARGUMENTS]\n       ullage wrap [options] -- PROGRAM [ARGUMENTS]",
        epilog="Arguments behind -- are the client's own: ullage wrap claude -- --model opus. Any other program gets "
        "the variables that the providers' libraries read: ullage wrap -- python agent.py",
    ),
    Subcommand(
        "proxy",
        "pass the requests of any client on to its provider, and meter them",
        "proxy:proxy",
        OptionGroup(
            "where",
            *_address(4141, "; any other needs a token"),
            text(
                "--token-file FILE",
                "a file with the token that clients have to send (or the variable ULLAGE_PROXY_TOKEN)",
            ),
            text(
                "--upstream NAME=URL",
                "pass /NAME/… on to URL/…; adds a provider or replaces one",
                [],
                action="append",
            ),
        ),
        flag("--quiet", "print nothing but what goes wrong"),
        *_METERING,
    ),
    Subcommand(
        "statusline",
        "print Claude Code's status line: the next call's size and the room to compaction",
        "statusline:statusline",
        operand(
            "log LOG",
            "a session log of Claude Code, instead of its JSON on standard input",
            nargs="?",
            type=a_path,
        ),
        value(
            "--window N",
            positive,
            "the context window (default: Claude Code's own for the model)",
        ),
        is_listed=False,
    ),
    Subcommand(
        "install",
        "put the status line, hooks or a proxy's address into another program's configuration, or take them out",
        "install:install",
        operand(
            "client CLIENT",
            ", ".join(CLIENTS),
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
        "store",
        "copy, archive, delete and restore sessions",
        "store_commands:run",
        actions=[
            Action(
                "copy",
                "copy every session and compare it; again resumes a copy that was ended",
                operand("file FILE", "the database file of SQLite"),
                _DATABASE,
            ),
            Action(
                "prune",
                "archive or delete the sessions that nothing was written to for so long",
                _ANY_STORE,
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
                _ANY_STORE,
                operand("files FILE", "files that `ullage store prune` wrote", nargs="+"),
                text(
                    "--as ID",
                    "restore the one file under this id, where the store has a session of its own id",
                    dest="new_id",
                ),
            ),
        ],
    ),
)
"""All but ``simulate``, in the order of ``ullage --help``."""


class _ShowVersion(argparse.Action):
    """Prints the version, which is looked up only when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        from importlib.metadata import version

        print(f"ullage {version('ullage')}")
        parser.exit()


def parser() -> CommandParser:
    """The parser of ``ullage`` and its commands.

    In its result ``command`` is the command's name or ``None``, ``function`` what performs it.
    """
    root = CommandParser(
        prog="ullage",
        description="How much room is left in a model's context window, and what fills the rest.",
        epilog="`ullage COMMAND --help` says more about a command.",
        allow_abbrev=False,
    )
    root.add_argument(
        "--version", action=_ShowVersion, nargs=0, help="show the version and end"
    )
    parsers = root.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        command.add_to(parsers)
    about = "serve strict simulators of the providers on this machine, for tests and demonstrations"
    # The package ullage-simulators reads its options.
    parsers.add_parser("simulate", help=about)
    return root
