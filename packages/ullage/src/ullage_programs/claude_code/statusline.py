"""Started by Claude Code for its status line: ``python -I -S …/claude_code/statusline.py``.

``-I -S`` leave out the environment's and the site's modules, which take longer to load than the rest takes to run.
"""

import os
import sys

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.dirname(os.path.dirname(folder)))
    try:
        from ullage_programs.claude_code.status import main

        main()
    except Exception as problem:  # noqa: BLE001 - a status line never disturbs the program it is shown in
        sys.stdout.write(f"ullage: no status ({type(problem).__name__})\n")
