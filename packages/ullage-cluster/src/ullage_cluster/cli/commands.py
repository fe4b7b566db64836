"""The commands of sessions on many machines."""

from __future__ import annotations

from typing import Final

from ullage.cli.option_values import positive
from ullage.cli.options import Action, OptionGroup, Subcommand, flag, operand, text, value
from ullage.cli.shared_options import LOG, LOG_FORMAT, no_token
from ullage_agent.cli.shared_options import TELLS_MORE, server_agent
from ullage_server.cli.shared_options import DRAIN, dispatching

ADMIN: Final = "http://127.0.0.1:9070"
"""Where a Restate server takes registrations unless it is configured otherwise
(https://docs.restate.dev/server/configuration)."""

QUOTA_STORE = text(
    "--store STORE", "the store's file or postgresql://… (default: your own)"
)

COMMANDS: Final = (
    Subcommand(
        "worker",
        "drive sessions of a store that servers share, without serving HTTP",
        "ullage_cluster.cli.worker:run",
        "admin",
        OptionGroup(
            "where",
            text(
                "--store PLACE",
                "the sessions' database: postgresql://…, or a file",
                None,
                required=True,
            ),
            *dispatching("lease"),
            text(
                "--listen HOST:PORT",
                "where Restate calls this worker, with --dispatch restate (default 127.0.0.1:9080); workers of one "
                "machine may share it",
                "127.0.0.1:9080",
            ),
            text(
                "--restate-admin URL",
                "Restate's admin API, or unix:PATH: the worker registers itself there, also after Restate lost its "
                f"data (default {ADMIN}; '': another program registers it)",
                ADMIN,
            ),
            text(
                "--advertise URL",
                "where Restate reaches the workers, as a balancer's address (default: --listen)",
            ),
            text(
                "--restate-key KEY",
                "Restate's public key, as its log says it: requests that Restate has not signed are refused",
            ),
            no_token(
                "take requests at --listen without a signature, and show --metrics,"
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
            DRAIN,
        ),
        LOG,
        LOG_FORMAT,
        server_agent(""),
        tells_more=TELLS_MORE,
    ),
    Subcommand(
        "cluster",
        "start PostgreSQL, Restate, two servers and two workers on this machine, for a trial",
        "ullage_cluster.cli.cluster:run",
        "admin",
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
        "quota",
        "what each tenant of a store may use in a day",
        "ullage_cluster.cli.quota:run",
        "admin",
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
                QUOTA_STORE,
            ),
            Action("list", "show all quotas and what is used today", QUOTA_STORE),
            Action(
                "remove",
                "let a tenant use as much as it wants",
                operand("tenant TENANT", "the tenant's name"),
                QUOTA_STORE,
            ),
        ],
    ),
)
