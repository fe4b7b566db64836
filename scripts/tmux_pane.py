"""A terminal of its own, by tmux, in which a program is run and looked at."""

from __future__ import annotations

import subprocess
import time


class TmuxPane:
    """The one pane of the tmux server of this name. ``patience_s`` is how long words are waited for."""

    def __init__(self, name: str, program: str, patience_s: float) -> None:
        self._name = name
        self._program = program
        self._patience_s = patience_s

    def tmux(self, *words: str) -> str:
        """What a command of tmux prints."""
        done = subprocess.run(
            ["tmux", "-L", self._name, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def wait_for(self, words: str) -> None:
        """Until the pane shows these words. Ends the script when it does not."""
        until = time.monotonic() + self._patience_s
        while words not in (shown := self.tmux("capture-pane", "-p")):
            if time.monotonic() > until:
                raise SystemExit(f"{self._program} did not show {words!r}:\n{shown}")
            time.sleep(0.2)
