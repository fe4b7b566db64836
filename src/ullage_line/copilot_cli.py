"""Started by Copilot CLI for its status line: ``python -I -S …/ullage_line/copilot_cli.py``."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        from ullage_line.other_programs import copilot_cli, print_line
        from ullage_line.status import read_input

        print_line(copilot_cli(read_input()))
    except Exception as problem:  # noqa: BLE001 - a status line never disturbs the program it is shown in
        sys.stdout.write(f"ullage: no status ({type(problem).__name__})\n")
