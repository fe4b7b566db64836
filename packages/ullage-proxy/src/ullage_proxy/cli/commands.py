"""The commands that meter the calls of other programs."""

from __future__ import annotations

from typing import Final

from ullage.cli.client_names import CLIENTS, client_name
from ullage.cli.option_values import days
from ullage.cli.options import (
    Alternatives,
    OptionGroup,
    Subcommand,
    flag,
    operand,
    text,
    value,
)
from ullage.cli.shared_options import LOG_FORMAT, address

METERING = (
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
)

COMMANDS: Final = (
    Subcommand(
        "wrap",
        "run a client, with every call that it makes metered from its real body",
        "ullage_proxy.cli.wrap:wrap",
        "other",
        operand(
            "client CLIENT",
            ", ".join(CLIENTS.values()),
            type=client_name,
            nargs="?",
            default="",
        ),
        flag("--quiet", "print nothing of our own"),
        *METERING,
        usage="ullage wrap CLIENT [options] [-- ARGUMENTS]\n       ullage wrap [options] -- PROGRAM [ARGUMENTS]",
        epilog="Arguments behind -- are the client's own: ullage wrap claude-code -- --model opus. Any other program "
        "gets the variables that the providers' libraries read: ullage wrap -- python agent.py",
    ),
    Subcommand(
        "proxy",
        "pass the requests of any client on to its provider, and meter them",
        "ullage_proxy.cli.proxy:proxy",
        "other",
        OptionGroup(
            "where",
            *address(4141, "; any other needs a token"),
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
        LOG_FORMAT,
        *METERING,
    ),
)
