"""The commands and their options. Nothing heavy is imported here, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path

from ullage.cli.mistyped import CommandParser

ESTIMATORS = ("auto", "bpe", "pretoken", "quarter", "gemini-cli")

DRAIN_S = 20.0
"""Seconds for steps under way after SIGTERM: within the 30 s that Kubernetes gives a container."""

DISPATCHES = ("embedded", "lease", "restate")

INGRESS = "http://127.0.0.1:8080"
ADMIN = "http://127.0.0.1:9070"
"""Where a Restate server takes requests and registrations unless it is configured otherwise
(https://docs.restate.dev/server/configuration)."""

GROUPINGS = ("day", "week", "month", "project", "model", "program", "session")

_MULTIPLES = {"k": 1_000, "m": 1_000_000}


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


class _Commands:
    """The commands of ``ullage``, each added together with the function that performs it."""

    def __init__(self, parsers: argparse._SubParsersAction[CommandParser]) -> None:
        self._parsers = parsers

    def add(self, name: str, about: str, function: str) -> argparse.ArgumentParser:
        """One command. ``function`` takes the options and gives the exit code: ``module:name`` below ``ullage.cli``.

        It is a name, not the function, so that no command pays for the imports of another.
        """
        command = self._parsers.add_parser(
            name, help=about, description=_sentence(about), allow_abbrev=False
        )
        command.set_defaults(function=function)
        return command


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
    commands = _Commands(parsers)
    context = commands.add(
        "context", "show what fills the window of a recorded session", "context:context"
    )
    _describe_context(context)
    _add_sessions(commands)
    _add_usage(commands)
    about = "show what is known of a model: its window, its largest output and its prices, with their sources"
    models = commands.add("models", about, "models:run")
    models.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="a model, as provider:model or alone",
    )
    models.add_argument(
        "--filter",
        default="",
        metavar="TEXT",
        help="list models whose provider:name contains TEXT",
    )
    models.add_argument(
        "--refresh",
        action="store_true",
        help="replace the catalogue by the data of the installed genai-prices package",
    )
    models.add_argument("--json", action="store_true", help="print one JSON object")
    about = "show what was learnt about each model from logs, or what is stored"
    calibration = commands.add("calibration", about, "calibration:calibration")
    _describe_calibration(calibration)
    about = (
        "replay a recorded session call by call and show how far off the predictions are"
    )
    evaluate = commands.add("evaluate", about, "evaluate:perform")
    evaluate.add_argument(
        "file",
        metavar="FILE",
        help="a session log, or recorded calls as JSON lines, plain or .gz",
    )
    evaluate.add_argument(
        "--predictions", metavar="OUT", help="where to write one prediction a line"
    )
    _add_estimator(evaluate)
    about = "ask a model one question and show what the answer cost and what the window holds after it"
    ask = commands.add("ask", about, "ask:run")
    _describe_ask(ask)
    about = (
        "have an agent with tools carry out a request, in a session that can be resumed"
    )
    run = commands.add("run", about, "run:run")
    _describe_run(run)
    about = (
        "talk to an agent in the terminal: type while it works, see what fills the window"
    )
    chat = commands.add("chat", about, "chat.start:run")
    _describe_chat(chat)
    about = "watch an agent work on a small window, against a simulated provider: no key needed"
    demo = commands.add("demo", about, "demo:run")
    demo.add_argument(
        "--fast", action="store_true", help="without the pauses that make it readable"
    )
    demo.add_argument(
        "--seed",
        type=_whole,
        default=0,
        metavar="N",
        help="another conversation: other token counts (default 0)",
    )
    serve = commands.add(
        "serve",
        "serve sessions over HTTP, with a page to watch and steer them",
        "serve:run",
    )
    _describe_serve(serve)
    _add_worker(commands)
    _add_cluster(commands)
    _add_mcp(commands)
    _add_grants(commands)
    _add_token(commands)
    _add_quota(commands)
    _add_watch(commands)
    _add_top(commands)
    _add_other_programs(commands)
    _add_trust(commands)
    about = "serve strict simulators of the providers on this machine, for tests and demonstrations"
    # The package ullage-simulators reads its options.
    parsers.add_parser("simulate", help=about)
    return root


def _add_sessions(commands: _Commands) -> None:
    about = "list the sessions found in the usual places, newest first"
    sessions = commands.add("sessions", about, "sessions:sessions")
    sessions.add_argument("--json", action="store_true", help="print one JSON object")
    sessions.add_argument(
        "-n",
        "--limit",
        type=_positive,
        default=20,
        metavar="N",
        help="at most N sessions (default 20)",
    )


def _add_usage(commands: _Commands) -> None:
    about = "show what was spent by day, project or model, over the logs of all programs"
    usage = commands.add("usage", about, "usage:usage")
    usage.add_argument(
        "--by", choices=GROUPINGS, default="day", help="what a row is (default day)"
    )
    about = "the first day: 2026-11-20, today, or 7d, 4w, 3m, 1y for so much up to today (default 14d)"
    usage.add_argument("--since", default="", metavar="DATE", help=about)
    usage.add_argument("--until", default="", metavar="DATE", help="the last day")
    about = "only what this program spent: claude-code, codex, opencode, ullage ..."
    usage.add_argument("--program", default="", metavar="NAME", help=about)
    about = "only sessions of this directory and those below it"
    usage.add_argument("--project", default="", metavar="PATH", help=about)
    about = "whose days: Europe/Paris, UTC ... (default: this machine's)"
    usage.add_argument("--timezone", default="", metavar="ZONE", help=about)
    form = usage.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument("--csv", action="store_true", help="print the rows as CSV")


def _add_session_log(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a session log, or the id of one that `ullage sessions` lists; without it, the newest",
    )
    command.add_argument(
        "--session",
        default="",
        metavar="ID",
        help="the session, where FILE holds several; without FILE, as its id in the place of FILE",
    )


def _describe_context(context: argparse.ArgumentParser) -> None:
    _add_session_log(context)
    shown = context.add_argument_group("what is shown")
    shown.add_argument("--json", action="store_true", help="print one JSON object")
    shown.add_argument(
        "--at", type=_whole, metavar="STEP", help="the reading before call number STEP"
    )
    shown.add_argument(
        "--advice",
        action="store_true",
        help="instead of the rows: what could be left out, what that saves, and how",
    )
    shown.add_argument(
        "--top",
        type=_positive,
        metavar="N",
        help="also the N largest single items, with their ids",
    )
    shown.add_argument(
        "--steps",
        action="store_true",
        help="also a table of all calls: estimate, actual, error",
    )
    shown.add_argument(
        "--rows", action="store_true", help="every row, down to single tools"
    )
    shown.add_argument(
        "--no-content",
        action="store_true",
        help="no text of the conversation, only names and numbers",
    )
    _add_log(shown)
    _add_limits(context)
    _add_estimator(context)


def _describe_ask(ask: argparse.ArgumentParser) -> None:
    ask.add_argument(
        "question", metavar="QUESTION", help="what to ask; - reads it from standard input"
    )
    _add_model(ask, required=True)
    _add_endpoint(ask)
    ask.add_argument("--no-stream", action="store_true", help="wait for the whole answer")
    ask.add_argument(
        "--raw",
        action="store_true",
        help="show the exact request before it is sent, the key masked",
    )
    ask.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object: answer, usage, reading",
    )


def _add_model(group: argparse._ActionsContainer, *, required: bool = False) -> None:
    group.add_argument(
        "--model",
        required=required,
        default="",
        metavar="NAME",
        help="provider:model, as in anthropic:claude-haiku-4-5",
    )


def _add_endpoint(group: argparse._ActionsContainer) -> None:
    """How the model is reached, and how much it may hold and say."""
    group.add_argument("--system", default="", metavar="TEXT", help="the system prompt")
    group.add_argument(
        "--base-url",
        default="",
        metavar="URL",
        help="another address, of a local server or a gateway",
    )
    group.add_argument(
        "--wire",
        default="",
        metavar="WIRE",
        help="messages, responses, chat or generateContent (default: the usual)",
    )
    group.add_argument(
        "--window",
        type=_tokens,
        metavar="N",
        help="the model's context window, where it is unknown",
    )
    group.add_argument(
        "--max-output",
        type=_tokens,
        metavar="N",
        help="at most N tokens of output a call (also as 2k)",
    )


def _add_agent_model(group: argparse._ActionsContainer) -> None:
    """The same for agents, and how their windows are compacted and counted."""
    _add_endpoint(group)
    group.add_argument(
        "--strategy",
        default="",
        metavar="NAMES",
        help="how it is compacted: hybrid (default), llm, prune, noop, or strategies in order, as in clear,summary",
    )
    group.add_argument(
        "--count",
        choices=("auto", "always", "never"),
        help="when the provider is asked to count a request; auto: where an estimate is weakest or decides something",
    )


def _describe_run(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "request", metavar="REQUEST", help="what to do; - reads it from standard input"
    )
    _add_model(run)
    run.add_argument(
        "--session", default="", metavar="ID", help="resume this session, or begin it"
    )
    run.add_argument(
        "--tools",
        default="",
        metavar="NAMES",
        help="built-in tools: read,write,edit,list,search,shell (default: those of ullage.toml, else none); write, "
        "edit, shell and tools of MCP servers need your approval",
    )
    _add_file_tools(run)
    run.add_argument(
        "--yes",
        action="store_true",
        help="allow every call that a person would be asked about",
    )
    _add_agent_model(run)
    run.add_argument(
        "--max-steps",
        type=_positive,
        metavar="N",
        help="at most N model calls (default 100)",
    )
    run.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object at the end: answer, reason, reading",
    )
    run.add_argument(
        "--events",
        action="store_true",
        help="print each event as a JSON line, the result as the last",
    )
    _add_log(run)


def _add_log(to: argparse._ActionsContainer) -> None:
    to.add_argument(
        "--log",
        default="",
        choices=("debug", "info", "warning", "error"),
        help="log to standard error from this level on; info has each estimate beside the reported input",
    )


def _add_scenario(to: argparse._ActionsContainer) -> None:
    to.add_argument(
        "--scenario",
        default="",
        metavar="FILE",
        help="with --simulate: what the model answers",
    )


def _add_file_tools(to: argparse._ActionsContainer) -> None:
    to.add_argument(
        "--root",
        default=None,
        metavar="DIR",
        help="the directory that file tools are confined to",
    )
    to.add_argument(
        "--sandbox",
        default="",
        choices=("workspace", "workspace+network", "off"),
        help="what commands may reach: the root and no network (workspace, the default), with the network, or "
        "everything the user may (off)",
    )


def _describe_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--simulate",
        action="store_true",
        help="use a simulated model with a separate store: no key needed",
    )
    _add_scenario(serve)
    where = serve.add_argument_group("where")
    where.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="default 127.0.0.1: this machine only",
    )
    where.add_argument(
        "--port",
        type=_port,
        default=8801,
        metavar="N",
        help="the port (default 8801; 0: a free one)",
    )
    where.add_argument(
        "--token",
        default="",
        metavar="TEXT",
        help="a token that allows everything (better: the variable ULLAGE_TOKEN, or `ullage token add`)",
    )
    where.add_argument(
        "--tokens",
        default="",
        metavar="FILE",
        help="the file of `ullage token` (default: tokens.json in your data); those of a database count as well",
    )
    where.add_argument(
        "--public-url",
        default="",
        metavar="URL",
        help="the address of the proxy in front of the server, as browsers use it",
    )
    where.add_argument(
        "--trusted-proxies",
        default="",
        metavar="ADDRESSES",
        help="the addresses and networks of proxies, with commas, whose X-Forwarded-For and -Proto name the client "
        "(default: none)",
    )
    where.add_argument(
        "--store",
        default="",
        metavar="PLACE",
        help="the sessions' database: a file, or postgresql://… (default: the user's own file)",
    )
    where.add_argument(
        "--live",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show the running sessions of all programs of this machine, to tokens with the scope admin (default: "
        "on loopback without `ullage token`)",
    )
    where.add_argument(
        "--drain",
        type=_patience,
        default=DRAIN_S,
        metavar="S",
        help=f"seconds that model calls and tools may still take after SIGTERM (default {DRAIN_S:.0f}; after Ctrl-C "
        "none)",
    )
    where.add_argument(
        "--drive",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="drive sessions here; with --no-drive the server only stores and shows, and workers drive",
    )
    _add_dispatch(where, default="embedded")
    _add_log(serve)
    agent = serve.add_argument_group("the agent, where ullage.toml does not say it")
    _add_model(agent)
    agent.add_argument(
        "--tools",
        default="",
        metavar="NAMES",
        help="built-in tools: read,write,edit,list,search,shell (default: none); write, edit, shell and tools of MCP "
        "servers need approval, on the page or over HTTP, unless the setting `approve` says otherwise",
    )
    _add_file_tools(agent)
    _add_agent_model(agent)


def _add_dispatch(where: argparse._ArgumentGroup, *, default: str) -> None:
    where.add_argument(
        "--dispatch",
        choices=DISPATCHES,
        default=default,
        help="who says where a session is driven: this process (embedded), leases of the store (lease: two or three "
        f"servers), a Restate server (restate: workers alone drive). Default {default}",
    )
    where.add_argument(
        "--place",
        type=_place_name,
        default="",
        metavar="NAME",
        help="where the sessions' files are: only sessions of this place are driven here, and new ones belong to it "
        "(default: those without a place)",
    )
    where.add_argument(
        "--restate",
        default=INGRESS,
        metavar="URL",
        help=f"where Restate takes requests, with --dispatch restate (default {INGRESS})",
    )
    where.add_argument(
        "--bus",
        default="",
        metavar="URL",
        help="NATS servers that carry live news between the processes of a PostgreSQL store, as nats://HOST:4222 "
        "(default: PostgreSQL carries it)",
    )


def _add_worker(commands: _Commands) -> None:
    about = "drive sessions of a store that servers share, without serving HTTP"
    worker = commands.add("worker", about, "worker:run")
    where = worker.add_argument_group("where")
    where.add_argument(
        "--store",
        required=True,
        metavar="PLACE",
        help="the sessions' database: postgresql://…, or a file",
    )
    _add_dispatch(where, default="lease")
    where.add_argument(
        "--listen",
        default="127.0.0.1:9080",
        metavar="HOST:PORT",
        help="where Restate calls this worker, with --dispatch restate (default 127.0.0.1:9080); workers of one "
        "machine may share it. Whoever reaches it can have sessions driven: keep it in a private network",
    )
    where.add_argument(
        "--metrics",
        default="",
        metavar="HOST:PORT",
        help="answer there to GET /healthz, /readyz, /drainz and /metrics (default: nowhere); nothing of a session is "
        "told, and no token is asked for",
    )
    where.add_argument(
        "--drives",
        type=_positive,
        default=0,
        metavar="N",
        help="sessions that it drives at once (default: any number)",
    )
    where.add_argument(
        "--drain",
        type=_patience,
        default=DRAIN_S,
        metavar="S",
        help=f"seconds that model calls and tools may still take after SIGTERM (default {DRAIN_S:.0f}; after Ctrl-C "
        "none)",
    )
    _add_log(worker)
    agent = worker.add_argument_group("the agent, where ullage.toml does not say it")
    _add_model(agent)
    agent.add_argument(
        "--tools",
        default="",
        metavar="NAMES",
        help="built-in tools: read,write,edit,list,search,shell (default: none); write, edit, shell and tools of MCP "
        "servers need approval, unless the setting `approve` says otherwise",
    )
    _add_file_tools(agent)
    _add_agent_model(agent)


def _add_cluster(commands: _Commands) -> None:
    cluster = commands.add(
        "cluster",
        "start PostgreSQL, Restate, two servers and two workers on this machine, for a trial",
        "cluster:run",
    )
    cluster.add_argument(
        "--local", action="store_true", help="all on this machine, until Ctrl-C"
    )
    cluster.add_argument(
        "--model",
        default="",
        metavar="PROVIDER:MODEL",
        help="the model (default: a simulated one, no key needed)",
    )
    cluster.add_argument(
        "--store",
        default="",
        metavar="URL",
        help="a database of PostgreSQL to use (default: a new one, removed at the end)",
    )
    dispatch = commands.add(
        "dispatch", "tell a Restate server where the workers are", "dispatch:run"
    )
    actions = dispatch.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    register = actions.add_parser(
        "register",
        help="have Restate call the workers at an address; again changes nothing",
        allow_abbrev=False,
    )
    register.add_argument(
        "workers",
        metavar="URL",
        help="where Restate reaches them, as http://workers.example.org:9080",
    )
    register.add_argument(
        "--admin",
        default=ADMIN,
        metavar="URL",
        help=f"Restate's admin API (default {ADMIN})",
    )


def _add_token(commands: _Commands) -> None:
    token = commands.add(
        "token", "make, list and revoke the tokens of `ullage serve`", "token:run"
    )
    actions = token.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    add = actions.add_parser(
        "add", help="make a token and show it once", allow_abbrev=False
    )
    add.add_argument("name", metavar="NAME", help="what it is called in lists and logs")
    add.add_argument(
        "--scope",
        action="append",
        default=[],
        metavar="SCOPES",
        help="read, write, approve, admin, with commas between them (default read); write and approve include read, "
        "admin includes all",
    )
    add.add_argument(
        "--tenant",
        default="default",
        metavar="TENANT",
        help="whose sessions it is for: no token of another tenant sees them (default: the operator's)",
    )
    add.add_argument(
        "--expires",
        default="90d",
        metavar="TIME",
        help="30d, 12h, 1y or never (default 90d)",
    )
    listing = actions.add_parser(
        "list", help="show the tokens, without their text", allow_abbrev=False
    )
    revoke = actions.add_parser(
        "revoke", help="refuse a token from now on", allow_abbrev=False
    )
    revoke.add_argument("name", metavar="NAME", help="the token's name")
    for action in (add, listing, revoke):
        where = action.add_mutually_exclusive_group()
        where.add_argument(
            "--file",
            default="",
            metavar="FILE",
            help="default: tokens.json in your data directory",
        )
        _add_records(where, "of all servers of this database")


def _add_quota(commands: _Commands) -> None:
    quota = commands.add(
        "quota", "what each tenant of a store may use in a day", "quota:run"
    )
    actions = quota.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    change = actions.add_parser(
        "set", help="set limits; those not named stay as they are", allow_abbrev=False
    )
    change.add_argument(
        "tenant", metavar="TENANT", help="`default` is the operator's own"
    )
    for name, what in (
        ("sessions", "sessions begun"),
        ("tokens", "tokens of input and output, as 500k or 2M"),
        ("usd", "US dollars by list prices"),
    ):
        change.add_argument(
            f"--{name}", default="", metavar="N", help=f"{what} in a UTC day, or none"
        )
    listing = actions.add_parser(
        "list", help="show all quotas and what is used today", allow_abbrev=False
    )
    remove = actions.add_parser(
        "remove", help="let a tenant use as much as it wants", allow_abbrev=False
    )
    remove.add_argument("tenant", metavar="TENANT", help="the tenant's name")
    for action in (change, listing, remove):
        action.add_argument(
            "--store",
            default="",
            metavar="STORE",
            help="the store's file or postgresql://… (default: your own)",
        )


def _describe_chat(chat: argparse.ArgumentParser) -> None:
    _add_model(chat)
    chat.add_argument(
        "--simulate",
        action="store_true",
        help="talk to a simulated model on this machine, with a store of its own: no key needed",
    )
    _add_scenario(chat)
    sessions = chat.add_argument_group("sessions")
    sessions.add_argument(
        "--session", default="", metavar="ID", help="resume this session, or begin it"
    )
    sessions.add_argument(
        "--continue", action="store_true", dest="go_on", help="resume the newest session"
    )
    sessions.add_argument(
        "--store",
        default=None,
        metavar="PLACE",
        help="where sessions live: a file, or postgresql://… (default: your own store)",
    )
    agent = chat.add_argument_group("the agent")
    agent.add_argument(
        "--tools",
        default="",
        metavar="NAMES",
        help="built-in tools: read,write,edit,list,search,shell, or none (default: those of ullage.toml, else "
        "read,list,search); write, edit, shell and tools of MCP servers need your approval",
    )
    _add_file_tools(agent)
    agent.add_argument(
        "--yes",
        action="store_true",
        help="line by line: allow every call that asks first",
    )
    _add_agent_model(agent)


def _add_mcp(commands: _Commands) -> None:
    about = "offer readings, explanations and compaction to other programs, as an MCP server on standard input"
    mcp = commands.add("mcp", about, "mcp_server:run")
    mcp.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="over HTTP at 127.0.0.1 (0: a free port); ULLAGE_TOKEN and `ullage token` ask for a token",
    )
    mcp.add_argument(
        "--here",
        action="store_true",
        help="only sessions that were begun in this directory",
    )
    mcp.add_argument(
        "--no-content",
        action="store_true",
        help="no titles, paths and commands, only ids and numbers",
    )
    mcp.add_argument(
        "--compact",
        action="store_true",
        help="offer the tool that compacts sessions of your own store; it calls their models",
    )


def _add_grants(commands: _Commands) -> None:
    grants = commands.add(
        "grants",
        "list what tools may do in projects without asking, or take it back",
        "grants:run",
    )
    grants.add_argument(
        "action",
        nargs="?",
        choices=("list", "revoke"),
        default="list",
        help="list (default), or revoke",
    )
    grants.add_argument(
        "ids", nargs="*", metavar="ID", help="which to revoke, as the list names them"
    )
    _add_records(grants, "those that all machines of this database share")
    grants.add_argument("--json", action="store_true", help="print one JSON object")


def _add_records(command: argparse._ActionsContainer, what: str) -> None:
    command.add_argument(
        "--store",
        default="",
        metavar="URL",
        help=f"{what}: postgresql://USER@HOST/DATABASE",
    )


def _add_trust(commands: _Commands) -> None:
    about = "show what a project's ullage.toml asks for, and ask whether it counts as long as it stays as it is"
    trust = commands.add("trust", about, "trusting:trust")
    trust.add_argument(
        "directory",
        nargs="?",
        metavar="DIR",
        help="the project's directory (default: this one)",
    )
    trust.add_argument(
        "--yes",
        action="store_true",
        help="show what the file asks for and allow it: for scripts",
    )
    trust.add_argument(
        "--list", action="store_true", help="list the projects you were asked about"
    )
    untrust = commands.add(
        "untrust",
        "forget what you answered about a project's ullage.toml",
        "trusting:untrust",
    )
    untrust.add_argument(
        "directory",
        nargs="?",
        metavar="DIR",
        help="the project's directory (default: this one)",
    )
    adopt = commands.add(
        "adopt",
        "take over a store that another user made, or that you moved",
        "stores:run",
    )
    adopt.add_argument("store", metavar="STORE", help="the database file")
    adopt.add_argument(
        "--unfinished",
        action="store_true",
        help="resume unfinished work and approved calls as well: only for a store of your own that you moved",
    )
    store = commands.add(
        "store",
        "bring a PostgreSQL store up to date; copy, archive, delete and restore sessions",
        "store_commands:run",
    )
    actions = store.add_subparsers(
        dest="action", metavar="ACTION", title="actions", required=True
    )
    migrate = actions.add_parser(
        "migrate",
        help="make the tables, or bring them to this version",
        allow_abbrev=False,
    )
    copy = actions.add_parser(
        "copy",
        help="copy every session and compare it; again resumes a copy that was ended",
        allow_abbrev=False,
    )
    copy.add_argument("file", metavar="FILE", help="the database file of SQLite")
    _add_retention(actions)
    for action in (migrate, copy):
        action.add_argument(
            "database", metavar="URL", help="postgresql://USER@HOST/DATABASE"
        )


def _add_retention(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    prune = actions.add_parser(
        "prune",
        help="archive or delete the sessions that nothing was written to for so long",
        allow_abbrev=False,
    )
    restore = actions.add_parser(
        "restore", help="bring archived sessions back, at rest", allow_abbrev=False
    )
    for action in (prune, restore):
        action.add_argument(
            "store", metavar="STORE", help="the database: postgresql://…, or a file"
        )
    prune.add_argument(
        "--unchanged",
        type=_period,
        required=True,
        metavar="TIME",
        help="how long nothing was written to them, such as 90d",
    )
    prune.add_argument(
        "--tenant", default="", metavar="TENANT", help="only sessions of this tenant"
    )
    how = prune.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--archive",
        default="",
        metavar="DIRECTORY",
        help="write each to a compressed file there, read that back, and delete the session",
    )
    how.add_argument("--delete", action="store_true", help="delete them for good")
    how.add_argument(
        "--dry-run", action="store_true", help="only list them; nothing is changed"
    )
    restore.add_argument(
        "files", nargs="+", metavar="FILE", help="files that `ullage store prune` wrote"
    )


USUAL_PROXY = "usual"
"""What ``--proxy`` is without an address."""

CLIENTS = (
    "claude-code",
    "codex",
    "copilot-cli",
    "gemini-cli",
    "opencode",
    "pi",
    "qwen-code",
)


def _add_install(commands: _Commands) -> None:
    about = "put the status line, hooks or a proxy's address into another program's configuration"
    install = commands.add("install", about, "install:install")
    about = "take back what `ullage install` changed"
    uninstall = commands.add("uninstall", about, "install:uninstall")
    install.add_argument(
        "--proxy",
        nargs="?",
        default="",
        const=USUAL_PROXY,
        metavar="URL",
        help="the address that the program sends its requests to (without URL: that of `ullage proxy`)",
    )
    install.add_argument(
        "--project",
        action="store_true",
        help="in this directory's configuration instead of the user's",
    )
    uninstall.add_argument("--proxy", action="store_true", help="only the proxy")
    for command in (install, uninstall):
        command.add_argument(
            "client", choices=CLIENTS, metavar="CLIENT", help=", ".join(CLIENTS)
        )
        command.add_argument(
            "--statusline", action="store_true", help="only the status line"
        )
        command.add_argument("--hooks", action="store_true", help="only the hooks")
        command.add_argument(
            "--dry-run",
            action="store_true",
            help="show the differences and change nothing",
        )


def _add_other_programs(commands: _Commands) -> None:
    _add_proxy(commands)
    _add_statusline(commands)
    _add_install(commands)


WRAPPED = "claude, codex, opencode, gemini, qwen, copilot, pi"


def _add_proxy(commands: _Commands) -> None:
    about = "run a client, with every call that it makes metered from its real body"
    wrap = commands.add("wrap", about, "wrap:wrap")
    wrap.usage = "ullage wrap CLIENT [options] [-- ARGUMENTS]\n       ullage wrap [options] -- PROGRAM [ARGUMENTS]"
    wrap.epilog = (
        "Arguments behind -- are the client's own: ullage wrap claude -- --model opus. Any other program gets the "
        "variables that the providers' libraries read: ullage wrap -- python agent.py"
    )
    wrap.add_argument(
        "client",
        nargs="?",
        default="",
        metavar="CLIENT",
        help=WRAPPED,
    )
    wrap.add_argument("--quiet", action="store_true", help="print nothing of our own")
    _add_metering(wrap)
    about = "pass the requests of any client on to its provider, and meter them"
    proxy = commands.add("proxy", about, "proxy:proxy")
    where = proxy.add_argument_group("where")
    where.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="default 127.0.0.1: this machine only; any other needs a token",
    )
    where.add_argument(
        "--port",
        type=_port,
        default=4141,
        metavar="N",
        help="the port (default 4141; 0: a free one)",
    )
    where.add_argument(
        "--token-file",
        default="",
        metavar="FILE",
        help="a file with the token that clients have to send (or the variable ULLAGE_PROXY_TOKEN)",
    )
    where.add_argument(
        "--upstream",
        action="append",
        default=[],
        metavar="NAME=URL",
        help="pass /NAME/… on to URL/…; adds a provider or replaces one",
    )
    proxy.add_argument(
        "--quiet", action="store_true", help="print nothing but what goes wrong"
    )
    _add_metering(proxy)


def _add_metering(command: argparse.ArgumentParser) -> None:
    stored = command.add_argument_group("what is stored")
    place = stored.add_mutually_exclusive_group()
    place.add_argument(
        "--store",
        default="",
        metavar="FILE",
        help="the sessions' database (default: proxy.db in your data)",
    )
    place.add_argument("--no-store", action="store_true", help="store nothing")
    stored.add_argument(
        "--no-content",
        action="store_true",
        help="sizes and digests instead of what was written",
    )
    stored.add_argument(
        "--keep-days",
        type=_days,
        default=30.0,
        metavar="N",
        help="delete sessions N days after their last call (default 30; 0: never)",
    )
    command.add_argument(
        "--guard",
        type=_trigger,
        metavar="X",
        help="refuse a request above X tokens, or above this share of the window, as its provider would",
    )


def _add_statusline(commands: _Commands) -> None:
    about = (
        "print Claude Code's status line: the next call's size and the room to compaction"
    )
    statusline = commands.add("statusline", about, "statusline:statusline")
    statusline.add_argument(
        "log",
        nargs="?",
        type=Path,
        metavar="LOG",
        help="a session log of Claude Code, instead of its JSON on standard input",
    )
    statusline.add_argument(
        "--window",
        type=_positive,
        metavar="N",
        help="the context window (default: Claude Code's own for the model)",
    )


def _add_top(commands: _Commands) -> None:
    about = "show all sessions of all agents that run on this machine, a line each, live"
    top = commands.add("top", about, "top:top")
    top.add_argument(
        "--since",
        type=_period,
        default=3_600.0,
        metavar="TIME",
        help="sessions that were written to within 30m, 8h or 2d (default 60m)",
    )
    top.add_argument("--all", action="store_true", help="all sessions, however old")
    top.add_argument(
        "--sort",
        choices=("activity", "fullness", "cost"),
        default="activity",
        help="what comes first (default activity)",
    )
    top.add_argument(
        "--once", action="store_true", help="show it once and end, as on a pipe"
    )
    top.add_argument(
        "--json", action="store_true", help="print one JSON line for each look"
    )
    top.add_argument(
        "--no-content",
        action="store_true",
        help="no names of projects and no titles, only ids and numbers",
    )
    top.add_argument(
        "--interval",
        type=_seconds,
        default=2.0,
        metavar="S",
        help="look every S seconds (default 2)",
    )


def _add_watch(commands: _Commands) -> None:
    about = "follow the session of another agent and show its window as its log grows"
    watch = commands.add("watch", about, "watch:watch")
    _add_session_log(watch)
    watch.add_argument(
        "--json",
        action="store_true",
        help="print one reading as a JSON line whenever it changes",
    )
    watch.add_argument("--once", action="store_true", help="print one reading and end")
    watch.add_argument(
        "--interval",
        type=_seconds,
        default=0.25,
        metavar="S",
        help="seconds between two looks (default 0.25)",
    )
    _add_limits(watch)
    _add_estimator(watch)


def _describe_calibration(calibration: argparse.ArgumentParser) -> None:
    calibration.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="session logs; without any, what is stored",
    )
    calibration.add_argument("--json", action="store_true", help="print one JSON object")
    calibration.add_argument(
        "--save", action="store_true", help="store what these logs teach"
    )
    calibration.add_argument(
        "--forget",
        nargs="?",
        const="",
        metavar="NAME",
        help="delete what is stored of a model or program, or all of it",
    )
    _add_records(calibration, "what all machines of this database learnt")
    _add_estimator(calibration)


def _add_limits(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("limits (tokens, also as 200k or 1M)")
    limits.add_argument(
        "--window", type=_tokens, metavar="N", help="the model's context window"
    )
    limits.add_argument(
        "--reserve",
        type=_reserve,
        metavar="N",
        help="kept free for the answer (default 16k)",
    )
    limits.add_argument(
        "--trigger",
        type=_trigger,
        metavar="X",
        help="compact at this share of the window, or at X tokens (default 0.8)",
    )


def _add_estimator(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        default="auto",
        help="how text is counted: auto takes bpe where `ullage[bpe]` is installed, else pretoken",
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _count(text: str) -> int:
    """Tokens as written by a person: ``200000``, ``200,000``, ``200k``, ``1M``."""
    written = text.strip().lower().replace(",", "").replace("_", "")
    multiple = _MULTIPLES.get(written[-1:], 1)
    value = multiple * float(written[:-1] if multiple > 1 else written)
    if not math.isfinite(value):
        raise ValueError(text)
    return round(value)


def _tokens(text: str) -> int:
    try:
        tokens = _count(text)
    except ValueError:
        tokens = 0
    if tokens < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of tokens: give one like 200000 or 200k"
        )
    return tokens


def _reserve(text: str) -> int:
    return 0 if text.strip() == "0" else _tokens(text)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def _place_name(text: str) -> str:
    from ullage.store.store import PLACE_PATTERN

    if text and re.search(PLACE_PATTERN, text) is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name of a place: give at most 40 of a-z, 0-9, - and _, a letter or digit first"
        )
    return text


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no port: give one from 1 to 65535, or 0 for a free one"
        )
    return int(text)


def _days(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of days: give one like 30, or 0 to keep everything"
        )
    return value


_PERIODS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _period(text: str) -> float:
    """Seconds of a time such as ``30m``, ``8h`` or ``2d``."""
    count = text[:-1]
    unit = _PERIODS.get(text[-1:].lower(), 0)
    is_whole = count.isascii() and count.isdigit() and len(count) < 7
    if not unit or not is_whole or int(count) < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time: write one like 30m, 8h or 2d"
        )
    return float(int(count) * unit)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not math.isfinite(value) or value < 0.01:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds: give one like 0.25"
        )
    return value


def _patience(text: str) -> float:
    return 0.0 if text == "0" else _seconds(text)


def _trigger(text: str) -> float:
    """A share up to 1 (``0.8``, ``80%``), or tokens above 1."""
    is_percent = text.endswith("%")
    try:
        value = (
            float(text[:-1]) / 100
            if is_percent
            else float(_count(text) if text[-1:].isalpha() else text)
        )
    except ValueError:
        value = 0
    if not math.isfinite(value) or value <= 0 or (is_percent and value > 1):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no trigger: give a share like 0.8 or 80%, or tokens like 150k"
        )
    return value
