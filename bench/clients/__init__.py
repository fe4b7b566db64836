"""Real clients, run headless against the simulators: is each request accepted, and is each log read right?

uv run python -m bench.clients --help

``clients.py`` has how each client is installed, configured and called, and where it keeps its log; ``scenarios.py``
what they are asked to do; ``comparison.py`` holds Ullage's reading of the log beside the simulator's bills, and
``table.py`` makes the tables of ``docs/clients.md``.
"""
