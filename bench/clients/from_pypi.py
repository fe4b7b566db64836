"""Clients of the bench that PyPI has: where their settings are documented stands above each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import ClassVar

from bench.clients.client import Client, Place, ToolCall, Turn
from bench.clients.scenarios import PATCH

KEY = "any-key"
ONE_RUN = "each of its runs is a session of its own"
NO_TOOLS = "it has no tools: files come with its messages"


class MiniSweAgent(Client):
    """``mini``. Its log: a trajectory, ``~/.config/mini-swe-agent/*.traj.json``.

    Settings: https://mini-swe-agent.com/latest/advanced/global_configuration.
    """

    name = "mini-swe-agent"
    title = "mini-swe-agent"
    package = "mini-swe-agent"
    version = "2.4.6"
    program = "mini"
    on_pypi = True
    newer_node = False
    model = "anthropic/claude-sonnet-4-5"
    other_model = "anthropic/claude-haiku-4-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "it declares no tools with free text as input",
        "subagent": "it has none",
        **dict.fromkeys(("resume", "model switch", "interrupt"), ONE_RUN),
        **dict.fromkeys(("compact", "automatic compaction"), "it never compacts"),
        "at a terminal": "it never compacts",
        "two at once": "both would write one log",
    }
    summary_prompt = "it never asks for one"
    last_command = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

    def prepare(self, place: Place) -> dict[str, str]:
        return {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": f"{place.address}/anthropic",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_SILENT_STARTUP": "1",
        }

    def arguments(self, turn: Turn) -> list[str]:
        log = f"../.config/mini-swe-agent/{turn.text.split()[0]}.traj.json"
        free = ["-y", "--exit-immediately", "-o", log]
        return ["-t", turn.text, "-m", self.model_of(turn), *free]

    def read(self, path: Path) -> ToolCall:
        return self.shell(f"cat {quote(str(path))}")


EDIT = """alpha.txt
```
<<<<<<< SEARCH
The first file has one line.
=======
The first file has one changed line.
>>>>>>> REPLACE
```
"""


class Aider(Client):
    """``aider --message``; a session continues with ``--restore-chat-history``.

    Settings: https://aider.chat/docs/config/options.html.
    """

    name = "aider"
    title = "Aider"
    package = "aider-chat"
    version = "0.86.2"
    program = "aider"
    on_pypi = True
    newer_node = False
    model = "anthropic/claude-sonnet-4-5"
    other_model = "anthropic/claude-haiku-4-5"
    no_log = "its log has no whole request"
    lacks: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("tools", "parallel tools", "subagent", "big result"), NO_TOOLS),
        "compact": "it has no command that compacts, and does so by itself",
    }
    summary_prompt = "# USER\n"
    side_prompts = ("generates concise, one-line Git commit messages",)
    compact_command = PATCH
    """What was said before a commit is summed up behind it."""
    shell_tool = ("", "")
    edit = EDIT

    def prepare(self, place: Place) -> dict[str, str]:
        place.write(".gitconfig", "[user]\nname = Ullage\nemail = bench@localhost\n")
        kept = 40 if place.small_window or place.at_terminal else 100_000
        return {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": f"{place.address}/anthropic",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "AIDER_ANALYTICS": "false",
            "AIDER_CHECK_UPDATE": "false",
            "AIDER_SHOW_MODEL_WARNINGS": "false",
            "AIDER_SHOW_RELEASE_NOTES": "false",
            "AIDER_YES_ALWAYS": "true",
            "AIDER_WEAK_MODEL": self.other_model,
            "AIDER_MAX_CHAT_HISTORY_TOKENS": str(kept),
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = self.again(turn, "--restore-chat-history")
        model = self.model_of(turn)
        return [*again, "--model", model, "--message", turn.text, "alpha.txt"]

    def at_terminal(self) -> list[str]:
        return ["--model", self.model, "alpha.txt"]
