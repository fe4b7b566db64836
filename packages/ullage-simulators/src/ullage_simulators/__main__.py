"""``python -m ullage_simulators``."""

import sys

from ullage_simulators.command import main

sys.exit(main())
