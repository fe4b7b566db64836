"""Started by Gemini CLI after each turn: ``python -I -S …/gemini_cli/hook.py``."""

import os
import sys

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.dirname(os.path.dirname(folder)))
    try:
        from ullage_programs.gemini_cli.turn import main

        main()
    except Exception:  # noqa: BLE001 - a hook never disturbs the program
        sys.exit(0)
