"""Started by Copilot CLI for its status line: ``python -I -S …/copilot_cli/statusline.py``."""

import os
import sys

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.dirname(os.path.dirname(folder)))
    try:
        from ullage_programs.copilot_cli.status import main

        main()
    except Exception as problem:  # noqa: BLE001 - a status line never disturbs the program it is shown in
        sys.stdout.write(f"ullage: no status ({type(problem).__name__})\n")
