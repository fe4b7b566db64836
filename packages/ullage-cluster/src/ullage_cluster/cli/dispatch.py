"""``ullage admin dispatch``: tells a Restate server where the workers are."""

from __future__ import annotations

import argparse
import asyncio

from ullage.cli.exit_codes import DONE
from ullage.errors import SettingError
from ullage_cluster.restate.admin import register_workers
from ullage_cluster.restate.client import UNIX


def run(args: argparse.Namespace) -> int:
    """0 when Restate calls the workers. Raises ``SettingError``."""
    for url, also in ((args.workers, ()), (args.admin, (UNIX,))):
        if not url.startswith(("http://", "https://", *also)):
            raise SettingError(f"{url} is no URL: give it as http://HOST:PORT.")
    asyncio.run(register_workers(args.admin, args.workers))
    print(
        f"Restate at {args.admin} has sessions driven by the workers at {args.workers}."
    )
    return DONE
