"""Started by Claude Code for its hooks: ``python -I -S …/claude_code/hooks.py``. A hook never disturbs the program."""

import os
import sys

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.dirname(os.path.dirname(folder)))
    try:
        from ullage_programs.claude_code.hook_events import main

        main()
    except Exception:  # noqa: BLE001 - what it prints would be shown as an error of the program
        sys.exit(0)
