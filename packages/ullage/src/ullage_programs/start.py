"""Started by other programs, for a status line or a hook: ``python -I -S …/start.py claude_code.status``.

``-I -S`` leave out the environment's and the site's modules, which take longer to load than the rest takes to run.
Nothing that goes wrong disturbs the program.
"""

import os
import sys

if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.append(os.path.dirname(folder))
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        from importlib import import_module

        import_module(f"ullage_programs.{name}").main()
    except Exception as problem:  # noqa: BLE001 - what a hook prints would be shown as an error of the program
        if name.endswith(".status"):
            sys.stdout.write(f"ullage: no status ({type(problem).__name__})\n")
