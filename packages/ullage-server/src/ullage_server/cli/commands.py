"""The commands of the HTTP server."""

from __future__ import annotations

import argparse
from typing import Final

from ullage.cli.options import (
    Action,
    Option,
    OptionGroup,
    Subcommand,
    flag,
    operand,
    text,
)
from ullage.cli.shared_options import LOG, LOG_FORMAT, address, no_token, records
from ullage_agent.cli.shared_options import SCENARIO, TELLS_MORE, server_agent
from ullage_server.cli.shared_options import DRAIN, RESTATE, dispatching

TOKENS_OF = records("of all servers of this database")

COMMANDS: Final = (
    Subcommand(
        "serve",
        "serve sessions over HTTP, with a page to watch and steer them",
        "ullage_server.cli.serve:run",
        "serve",
        flag("--simulate", "use a simulated model with a separate store: no key needed"),
        SCENARIO,
        OptionGroup(
            "where",
            *address(8801),
            text(
                "--token TEXT",
                "a token that allows everything (better: the variable ULLAGE_TOKEN, or `ullage admin token add`); "
                "without any, that of this machine in server-token in your data",
            ),
            no_token("let in who comes"),
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
                "(default: on loopback without `ullage admin token`)",
            ),
            text(
                "--webhook URL",
                "where a signed message is posted when a session comes to need a person; its key is in the variable "
                "ULLAGE_WEBHOOK_SECRET",
            ),
            text("--webhook-secret FILE", "a file with that key"),
            text(
                "--notify-command COMMAND",
                "a program that is run then, with a title and a text behind its arguments: notify-send",
            ),
            DRAIN,
            Option(
                "--drive",
                action=argparse.BooleanOptionalAction,
                default=True,
                help="drive sessions here; with --no-drive the server only stores and shows, and workers drive",
            ),
            *dispatching("embedded"),
            RESTATE,
        ),
        LOG,
        LOG_FORMAT,
        server_agent("on the page or over HTTP, "),
        tells_more=TELLS_MORE,
    ),
    Subcommand(
        "token",
        "make, list and revoke the tokens of `ullage serve`",
        "ullage_server.cli.token:run",
        "admin",
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
                TOKENS_OF,
            ),
            Action("list", "show the tokens, without their text", TOKENS_OF),
            Action(
                "revoke",
                "refuse a token from now on",
                operand("name NAME", "the token's name"),
                TOKENS_OF,
            ),
        ],
    ),
)
