"""Kill 300 parts of clusters, and print what it came to.

    uv run python -m bench.kills [--kind restate|lease|sqlite] [--rounds 30] [--kills 10] [--seed storm]
        [--model openai:gpt-5] [--background]

Without ``--kind`` half of the rounds are under Restate, a third under leases, and the rest on SQLite. Tokens billed
twice are those of calls whose answer was lost and asked for again. With ``--background`` the provider keeps answers
(``openai:`` alone), and the next driver fetches them.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from typing import get_args

from tests.server.served import MODEL
from tests.sweeps.machines.cluster import Kind
from tests.sweeps.machines.storm import run


def main() -> None:
    logging.basicConfig(level="INFO", format="%(asctime)s %(message)s")
    logging.getLogger("httpx2").setLevel("WARNING")
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=get_args(Kind))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", default="storm")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--background", action="store_true")
    args = parser.parse_args()
    halves: dict[Kind, int] = {"restate": args.rounds // 2, "lease": args.rounds // 3}
    shares: dict[Kind, int] = {**halves, "sqlite": args.rounds - sum(halves.values())}
    if args.kind:
        shares = {args.kind: args.rounds}
    for kind, rounds in shares.items():
        with tempfile.TemporaryDirectory() as folder:
            seed = f"{args.seed}-{kind}-"
            for tally in run(
                kind,
                Path(folder),
                seed,
                rounds,
                args.kills,
                model=args.model,
                ULLAGE_BACKGROUND=str(args.background),
            ):
                print(f"{kind}: {tally}", flush=True)


if __name__ == "__main__":
    main()
