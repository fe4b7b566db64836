"""The clients of the bench: where their settings are documented stands above each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import ClassVar

from bench.clients.client import Arguments, Client, Lane, Place, ToolCall, Turn
from bench.clients.from_pypi import Aider, MiniSweAgent

ALLOWED = ("--allowedTools", "Bash,Read,Agent")
LOOK: Arguments = {"description": "Look"}
AROUND: Arguments = {"description": "look around", "subagent_type": "general-purpose"}
KEY = "any-key"
NO_FREE_TEXT = "it declares no tools with free text as input"


class ClaudeCode(Client):
    """``claude -p``; a session continues with ``-c``. Its log: ``~/.claude/projects/<directory>/<session>.jsonl``.

    Environment variables: https://code.claude.com/docs/en/settings.
    """

    name = "claude-code"
    title = "Claude Code"
    package = "@anthropic-ai/claude-code"
    version = "2.1.332"
    program = "claude"
    newer_node = False
    model = "claude-opus-5-5"
    other_model = "claude-sonnet-4-5"
    lacks: ClassVar[Mapping[str, str]] = {"custom tool": NO_FREE_TEXT}
    refused_rightly: ClassVar[Mapping[str, str]] = {
        "prefix_changed": "thinking kept behind a summary; the client sends it again without the thinking: "
        "https://platform.claude.com/docs/en/build-with-claude/extended-thinking"
    }
    summary_prompt = "Your task is to create a detailed summary"
    shell_tool = ("Bash", "command")
    shell_more = LOOK
    read_tool = ("Read", "file_path")
    agent_tool = "Agent"
    agent_more = AROUND

    def prepare(self, place: Place) -> dict[str, str]:
        variables = {
            "ANTHROPIC_BASE_URL": f"{place.address}/anthropic",
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }
        if place.at_terminal:
            trusted = {str(place.project): {"hasTrustDialogAccepted": True}}
            keys = {"approved": [KEY], "rejected": []}
            place.write(
                ".claude.json",
                {
                    "hasCompletedOnboarding": True,
                    "customApiKeyResponses": keys,
                    "projects": trusted,
                },
            )
        if place.small_window:
            # The smallest that it takes. It compacts at about 67,000.
            variables["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
        return variables

    def arguments(self, turn: Turn) -> list[str]:
        again = self.again(turn, "-c")
        text = "/compact" if turn.deed == "compact" else turn.text
        model = self.model_of(turn)
        return ["-p", *again, "--model", model, *ALLOWED, "--", text]

    def at_terminal(self) -> list[str]:
        return ["--model", self.model, *ALLOWED]


CONFIG = """model_provider = "simulator"
check_for_update_on_startup = false
{more}
[model_providers.simulator]
name = "simulator"
base_url = "{address}/openai/v1"
env_key = "SIMULATOR_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""

BUILT_IN = """openai_base_url = "{address}/openai/v1"
check_for_update_on_startup = false
web_search = "disabled"
{more}
[analytics]
enabled = false
"""
"""Its own provider, which tries a WebSocket first. OpenAI's own search costs 9,500 tokens there (``tokens/tools.py``),
and nothing at a simulator."""

PATCH = """*** Begin Patch
*** Add File: patched.txt
+one line
*** End Patch
"""


class Codex(Client):
    """``codex exec``; a session continues with ``resume --last``. Its log: ``~/.codex/sessions/…/rollout-*.jsonl``.

    Settings: https://github.com/openai/codex, ``docs/config.md``.
    """

    name = "codex"
    title = "Codex"
    package = "@openai/codex"
    version = "0.171.0"
    program = "codex"
    newer_node = False
    model = "gpt-5.5"
    other_model = "gpt-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "subagent": "its tools for subagents are found by a tool search, which the simulators don't have",
        "compact": "`codex exec` takes no commands; /compact is of its terminal screen",
    }
    summary_prompt = "CONTEXT CHECKPOINT COMPACTION"
    side_prompts = ("Generate a concise, single-line task title",)
    shell_tool = ("exec_command", "cmd")

    def prepare(self, place: Place) -> dict[str, str]:
        more = "model_auto_compact_token_limit = 14000\n" if place.small_window else ""
        trust = f'[projects."{place.project}"]\ntrust_level = "trusted"\n'
        trust += f'[notice.model_migrations]\n"{self.model}" = "gpt-6-sol"\n'
        # Its own provider has OpenAI make the summaries, which the simulators don't.
        is_local = place.small_window or place.at_terminal
        is_built_in = place.by_proxy and not is_local
        config = BUILT_IN if is_built_in else CONFIG
        text = config.format(address=place.address, more=more) + trust
        place.write(".codex/config.toml", text)
        place.write(".codex/auth.json", {"OPENAI_API_KEY": KEY})
        return {"CODEX_HOME": str(place.home / ".codex"), "SIMULATOR_KEY": KEY}

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["resume", "--last"]
        model = self.model_of(turn)
        free = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return ["exec", *again, *free, "--json", "-m", model, turn.text]

    def at_terminal(self) -> list[str]:
        return ["--dangerously-bypass-approvals-and-sandbox", "-m", self.model]

    def read(self, path: Path) -> ToolCall:
        return self.shell(f"cat {quote(str(path))}")

    def patch(self) -> ToolCall:
        return ToolCall("apply_patch", {}, custom=PATCH)


class GeminiCli(Client):
    """``gemini -p``; a session continues with ``--resume latest``. Log: ``~/.gemini/tmp/…/chats/session-*.jsonl``.

    Settings: https://github.com/google-gemini/gemini-cli, ``docs/get-started/configuration.md``.
    """

    name = "gemini-cli"
    title = "Gemini CLI"
    package = "@google/gemini-cli"
    version = "0.61.0"
    program = "gemini"
    model = "gemini-2.5-flash"
    other_model = "gemini-2.5-pro"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": NO_FREE_TEXT,
        "compact": "with -p, /compress is of its terminal screen",
    }
    refused_rightly: ClassVar[Mapping[str, str]] = {
        "result_count": "a resumed session repeats tool results: "
        "https://github.com/google-gemini/gemini-cli/issues/16437"
    }
    unlogged: ClassVar[Mapping[Lane, str]] = {
        "child": "its log has the subagent's answer and none of its calls",
        "summary": "its log has none of the calls that compress it",
    }
    summary_prompt = "<state_snapshot>"
    compact_command = "/compress"
    shell_tool = ("run_shell_command", "command")
    read_tool = ("read_file", "file_path")
    agent_tool = "invoke_agent"
    agent_more: ClassVar[Arguments] = {"agent_name": "generalist"}

    def prepare(self, place: Place) -> dict[str, str]:
        settings: dict[str, object] = {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
        if place.small_window:
            settings["model"] = {"compressionThreshold": 0.02}
        place.write(".gemini/settings.json", settings)
        return {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": f"{place.address}/gemini",
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["--resume", "latest"]
        model = self.model_of(turn)
        return [*again, "-m", model, "--yolo", "-p", turn.text]

    def at_terminal(self) -> list[str]:
        return ["-m", self.model, "--yolo"]


WINDOW = 200_000
SMALL = 50_000


class OpenCode(Client):
    """``opencode run``; a session continues with ``-c``. Its log: ``~/.local/share/opencode/opencode.db``.

    Settings: https://opencode.ai/docs/config.
    """

    name = "opencode"
    title = "OpenCode"
    package = "opencode-ai"
    version = "1.18.33"
    program = "opencode"
    newer_node = False
    model = "anthropic/claude-sonnet-4-5"
    other_model = "openai/gpt-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": NO_FREE_TEXT,
        "compact": "`opencode run` has no such command; /compact is of its terminal screen",
    }
    summary_prompt = "Do not mention the summary process or that context was compacted"
    shell_more = LOOK
    read_tool = ("read", "filePath")
    agent_tool = "task"
    agent_more: ClassVar[Arguments] = {**AROUND, "subagent_type": "general"}

    def prepare(self, place: Place) -> dict[str, str]:
        window = SMALL if place.small_window else WINDOW
        limit = {"limit": {"context": window, "output": 8_000}}
        address = place.address
        claude = {"baseURL": f"{address}/anthropic/v1", "apiKey": KEY}
        gpt = {"baseURL": f"{address}/openai/v1", "apiKey": KEY}
        providers = {
            "anthropic": {"options": claude, "models": {"claude-sonnet-4-5": limit}},
            "openai": {"options": gpt, "models": {"gpt-5": limit}},
        }
        config = {"autoupdate": False, "share": "disabled", "provider": providers}
        place.write(".config/opencode/opencode.json", config)
        return {}

    def arguments(self, turn: Turn) -> list[str]:
        again = self.again(turn, "-c")
        model = self.model_of(turn)
        return ["run", *again, "-m", model, turn.text]


class Pi(Client):
    """``pi -p``; a session continues with ``-c``. Its log: ``~/.pi/agent/sessions/<directory>/*.jsonl``.

    Settings: ``docs/settings.md`` and ``docs/models.md`` of its npm package.
    """

    name = "pi"
    title = "pi"
    package = "@earendil-works/pi-coding-agent"
    version = "1.6.0"
    program = "pi"
    model = "anthropic/claude-opus-4-8"
    other_model = "openai/gpt-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": NO_FREE_TEXT,
        "subagent": "it has none",
        "compact": "with -p, /compact is sent to the model as text",
    }
    summary_prompt = "summar"

    def prepare(self, place: Place) -> dict[str, str]:
        address = place.address
        providers = {
            "anthropic": {"baseUrl": f"{address}/anthropic"},
            "openai": {"baseUrl": f"{address}/openai/v1"},
            "google": {"baseUrl": f"{address}/gemini/v1beta"},
        }
        place.write(".pi/agent/models.json", {"providers": providers})
        compaction = {"keepRecentTokens": 2_000}
        if place.small_window:
            # It compacts above its window (1,000,000 for this model) less the reserve.
            compaction["reserveTokens"] = 985_000
        place.write(".pi/agent/settings.json", {"compaction": compaction})
        return {
            "ANTHROPIC_API_KEY": KEY,
            "OPENAI_API_KEY": KEY,
            "PI_OFFLINE": "1",
            "PI_TELEMETRY": "0",
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = self.again(turn, "-c")
        provider, _, model = self.model_of(turn).partition("/")
        return ["-p", *again, "--provider", provider, "--model", model, turn.text]

    def at_terminal(self) -> list[str]:
        provider, _, model = self.model.partition("/")
        return ["--provider", provider, "--model", model]


class QwenCode(Client):
    """``qwen -p``; a session continues with ``-c``. Its log: ``~/.qwen/projects/<directory>/chats/<session>.jsonl``.

    Settings: https://github.com/QwenLM/qwen-code, ``docs/users/configuration``.
    """

    name = "qwen-code"
    title = "qwen-code"
    package = "@qwen-code/qwen-code"
    version = "0.24.4"
    program = "qwen"
    model = "deepseek-chat"
    other_model = "deepseek-reasoner"
    lacks: ClassVar[Mapping[str, str]] = {"custom tool": NO_FREE_TEXT}
    summary_prompt = "state_snapshot"
    compact_command = "/compress"
    side_prompts = ("Managed memory has TWO directories", "[SUGGESTION MODE")
    shell_tool = ("run_shell_command", "command")
    shell_more: ClassVar[Arguments] = {"is_background": False}
    read_tool = ("read_file", "file_path")
    agent_tool = "agent"
    agent_more = AROUND

    def prepare(self, place: Place) -> dict[str, str]:
        settings: dict[str, object] = {"general": {"enableAutoUpdate": False}}
        if place.small_window:
            window = {"contextWindowSize": 60_000}
            settings["model"] = {"generationConfig": window}
        place.write(".qwen/settings.json", settings)
        return {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{place.address}/deepseek",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }

    def arguments(self, turn: Turn) -> list[str]:
        again = self.again(turn, "-c")
        model = self.model_of(turn)
        text = "/compress" if turn.deed == "compact" else turn.text
        return [*again, "--auth-type", "openai", "-m", model, "-y", "-p", text]

    def at_terminal(self) -> list[str]:
        return ["--auth-type", "openai", "-m", self.model, "-y"]


class CopilotCli(Client):
    """``copilot -p``; a session continues with ``--continue``. Log: ``~/.copilot/session-state/<id>/events.jsonl``.

    Its own provider: ``copilot help providers``.
    """

    name = "copilot-cli"
    title = "Copilot CLI"
    package = "@github/copilot"
    version = "1.0.102"
    program = "copilot"
    model = "claude-sonnet-4-5"
    other_model = "claude-haiku-4-5"
    lacks: ClassVar[Mapping[str, str]] = {
        "custom tool": "with a provider of one's own it declares no such tool"
    }
    summary_prompt = "Please create a detailed summary of the conversation so far"
    shell_more = LOOK
    read_tool = ("view", "path")
    agent_tool = "task"
    agent_more: ClassVar[Arguments] = {
        "description": "look around",
        "agent_type": "general-purpose",
        "name": "looker",
    }

    def prepare(self, place: Place) -> dict[str, str]:
        variables = {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": f"{place.address}/anthropic",
            "COPILOT_PROVIDER_API_KEY": KEY,
        }
        place.write(".copilot/config.json", {"trusted_folders": [str(place.project)]})
        if place.small_window:
            variables["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"] = "40000"
        return variables

    def arguments(self, turn: Turn) -> list[str]:
        again = [] if turn.first else ["--continue"]
        model = self.model_of(turn)
        text = "/compact" if turn.deed == "compact" else turn.text
        return [*again, "--model", model, "--allow-all-tools", "-p", text]

    def at_terminal(self) -> list[str]:
        return ["--model", self.model, "--allow-all-tools"]

    def read_large(self, path: Path) -> ToolCall:
        whole = {"view_range": [1, 900], "forceReadLargeFiles": True}
        return ToolCall("view", {"path": str(path), **whole})


_ALL: tuple[Client, ...] = (
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    OpenCode(),
    Pi(),
    QwenCode(),
    CopilotCli(),
    MiniSweAgent(),
    Aider(),
)

CLIENTS: Mapping[str, Client] = {client.name: client for client in _ALL}
