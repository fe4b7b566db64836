"""Started as ``python -P -m ullage_proxy.relay``: the directory where it starts is the user's project."""

import sys

from ullage_proxy.relay.serving import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
