"""Started as ``python -I -S …/ullage_relay/__main__.py``: without the environment's and the site's modules."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from ullage_relay.serving import main

    sys.exit(main(sys.argv[1:]))
