"""Started by Gemini CLI after each turn: ``python -I -S …/ullage_line/gemini.py``."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        from ullage_line.gemini_turn import main

        main()
    except Exception:  # noqa: BLE001 - a hook never disturbs the program
        sys.exit(0)
