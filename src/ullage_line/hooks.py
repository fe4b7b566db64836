"""Started by Claude Code for its hooks: ``python -I -S …/ullage_line/hooks.py``. A hook never disturbs the program."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        from ullage_line.hook_events import main

        main()
    except Exception:  # noqa: BLE001 - what it prints would be shown as an error of the program
        sys.exit(0)
