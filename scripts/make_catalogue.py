"""Write ``catalogue.json`` of ``ullage/models`` from the installed genai-prices, as ``ullage models --refresh`` would.

    uv run --with genai-prices==0.2.3 python -m scripts.make_catalogue

``--on`` is the day whose prices are taken (default: today).
"""

from __future__ import annotations

import argparse
import datetime

from ullage.cli.models import installed_catalogue
from ullage.models.catalogue import BUILT_IN, encode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--on",
        type=datetime.date.fromisoformat,
        default=datetime.datetime.now(datetime.UTC).date(),
    )
    BUILT_IN.write_bytes(encode(installed_catalogue(parser.parse_args().on)))


if __name__ == "__main__":
    main()
