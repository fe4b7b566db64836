"""Options of the processes that drive sessions."""

from __future__ import annotations

from typing import Final

from ullage.cli.option_values import patience, place_name
from ullage.cli.options import Option, choice, text, value

DRAIN_S: Final = 20.0
"""Seconds for steps under way after SIGTERM: within the 30 s that Kubernetes gives a container."""

INGRESS: Final = "http://127.0.0.1:8080"
"""Where a Restate server takes requests unless it is configured otherwise
(https://docs.restate.dev/server/configuration)."""

DRAIN = value(
    "--drain S",
    patience,
    f"seconds that model calls and tools may still take after SIGTERM (default {DRAIN_S:.0f}; after Ctrl-C none)",
    DRAIN_S,
)


def dispatching(default: str) -> tuple[Option, ...]:
    return (
        choice(
            "--dispatch",
            ("embedded", "lease", "restate"),
            "who says where a session is driven: this process (embedded), leases of the store (lease: a handful of "
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
    )


RESTATE = text(
    "--restate URL",
    f"where Restate takes requests, or unix:PATH, with --dispatch restate (default {INGRESS})",
    INGRESS,
)
