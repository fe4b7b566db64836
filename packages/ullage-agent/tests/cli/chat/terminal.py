"""A real terminal for tests: tmux, its keys and its screen. Each has a server of its own and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.programs import needed

HIDDEN = ("TMUX", "ULLAGE", "NO_COLOR", "ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE")
"""Variables of whoever runs the tests that the program must not see."""

PATIENCE_S = 60.0
"""How long something may take to appear; on a machine that does nothing else it is below a second."""


class NotSeen(AssertionError):
    """Something did not appear on the screen in time."""


class Terminal:
    """One program in a terminal of a size; use as ``with``."""

    def __init__(
        self,
        place: Path,
        *arguments: str,
        width: int = 80,
        height: int = 24,
        **environment: str,
    ) -> None:
        tmux = needed("tmux")
        self._tmux = [tmux, "-S", str(place / "tmux.sock"), "-f", "/dev/null"]
        self._size = ("-x", str(width), "-y", str(height))
        self._pid_file = place / "pid"
        self._environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("TMUX", "ULLAGE", "NO_COLOR"))
            },
            "ULLAGE_DATA": str(place / "data"),
            "XDG_CONFIG_HOME": str(place / "config"),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TERM": "screen-256color",
            **environment,
        }
        self._place = place
        self._arguments = arguments

    def __enter__(self) -> Terminal:
        self.start(*self._arguments)
        return self

    def __exit__(self, *problem: object) -> None:
        self.close_window()

    def close_window(self) -> None:
        """End the terminal, whatever runs in it."""
        self._run("kill-server", check=False)

    def start(self, *arguments: str) -> None:
        """Run ``ullage`` with these arguments in a shell that says when and how it ended."""
        program = self._place / "run.sh"
        words = " ".join(
            f"'{word}'" for word in (sys.executable, "-m", "ullage", *arguments)
        )
        noted = f'sh -c \'echo $$ > "{self._pid_file}"; exec "$@"\' - {words}'
        lines = (
            f"cd '{self._place}'",
            f"export TERM='{self._environment['TERM']}'",
            noted,
            'echo "ended with $?"',
        )
        program.write_text("\n".join([*lines, "exec sh"]) + "\n")
        self._pid_file.unlink(missing_ok=True)
        self._run("kill-session", "-t", "test", check=False)
        outlives = (
            ";",
            "set-option",
            "-s",
            "exit-empty",
            "off",
        )  # else the next start may meet a server that ends
        self._run(
            "new-session", "-d", "-s", "test", *self._size, "sh", str(program), *outlives
        )
        self._run("set-option", "-t", "test", "remain-on-exit", "on", check=False)

    def _run(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            [*self._tmux, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done.stdout

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names: ``Enter``, ``Escape``, ``C-c``, ``Up``."""
        self._run("send-keys", "-t", "test", *names)

    def type(self, text: str) -> None:
        """Type this text, and nothing after it."""
        self._run("send-keys", "-t", "test", "-l", text)

    def say(self, text: str) -> None:
        """Type this text and press Enter."""
        self.type(text)
        self.keys("Enter")

    def paste(self, text: str) -> None:
        """Paste, as a terminal does it: between the marks of a bracketed paste."""
        buffer = self._place / "buffer.txt"
        buffer.write_text(text, encoding="utf-8")
        self._run("load-buffer", str(buffer))
        self._run("paste-buffer", "-p", "-t", "test")

    def resize(self, width: int, height: int) -> None:
        """Another size of the window."""
        self._run("resize-window", "-t", "test", "-x", str(width), "-y", str(height))

    def screen(self, *, colours: bool = False) -> str:
        """What is on the screen."""
        return self._run("capture-pane", "-p", "-t", "test", *(["-e"] if colours else []))

    def wait_for(self, *texts: str) -> str:
        """The screen, once all of these are on it. Raises ``NotSeen``."""
        return self._wait(texts, lambda screen: all(text in screen for text in texts))

    def press_until(self, key: str, *seen: str) -> str:
        """Press a key until these are on the screen."""
        return self._press(key, lambda screen: all(text in screen for text in seen), seen)

    def answer(self, key: str, *seen: str) -> str:
        """Press a key until its choices are gone: a question takes no answer in its first half second. Then wait."""
        self._press(key, lambda screen: "y yes" not in screen, ("no choices",))
        return self.wait_for(*seen)

    def _press(
        self, key: str, is_so: Callable[[str], bool], texts: tuple[str, ...]
    ) -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            self.keys(key)
            for _ in range(20):
                time.sleep(0.05)
                screen = self.screen()
                if is_so(screen):
                    return screen
        raise NotSeen(f"{texts!r} on\n{self.screen()}")

    def wait_until_gone(self, *texts: str) -> str:
        """The screen, once none of these is on it."""
        return self._wait(texts, lambda screen: not any(text in screen for text in texts))

    def _wait(self, texts: tuple[str, ...], is_so: Callable[[str], bool]) -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self.screen()
            if is_so(screen):
                return screen
            time.sleep(0.03)
        raise NotSeen(f"{texts!r} on\n{self.screen()}")

    @property
    def pid(self) -> int:
        """The program's process."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self._pid_file.exists() and (text := self._pid_file.read_text().strip()):
                return int(text)
            time.sleep(0.05)
        raise NotSeen("the process")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the program."""
        os.kill(self.pid, how)
        self.wait_for("ended with")


def scenario(
    place: Path,
    *answers: dict[str, Any],
    delay_s: float = 0.05,
    window: int | None = None,
) -> str:
    """A script for the simulator as a file; gives its name. ``window`` makes the model a small one."""
    script: dict[str, Any] = {"server": {"delay_s": delay_s}, "answers": list(answers)}
    if window is not None:
        script["models"] = [
            {
                "name": "claude-sonnet-4-6",
                "like": "claude-sonnet-4-6",
                "window": window,
                "max_output": 8_000,
            }
        ]
    path = place / "scenario.json"
    path.write_text(json.dumps(script))
    return str(path)


STORY = " ".join(f"Sentence {number} of the story is told." for number in range(1, 120))
"""Takes a while to be told."""
