"""``ullage proxy``: works out where requests go, says how clients are pointed here, and becomes the relay."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from ullage.cli.upstreams import default_upstreams, read_upstreams
from ullage.directories import data_directory
from ullage.log_lines import JSON_LINES
from ullage.user_file import user_endpoints
from ullage_programs.settings import PROXY_FILE
from ullage_proxy.cli.relaying import metering_settings, relay_command

ADDRESS: Final = "{address}"
"""The relay fills it in once it listens."""

OWN_SERVER: Final = "ollama=http://127.0.0.1:11434/v1"

CLIENTS: Final = (
    (
        "Claude Code",
        f"ANTHROPIC_BASE_URL={ADDRESS}/anthropic ENABLE_TOOL_SEARCH=true claude",
    ),
    ("Codex", f"codex -c openai_base_url={ADDRESS}/openai/v1"),
    ("Gemini CLI", f"GOOGLE_GEMINI_BASE_URL={ADDRESS}/gemini gemini"),
    ("qwen-code", f"OPENAI_BASE_URL={ADDRESS}/openai/v1 qwen"),
    ("OpenCode", "ullage install opencode --proxy"),
    ("pi", "ullage install pi --proxy"),
    ("Copilot CLI", f"COPILOT_PROVIDER_BASE_URL={ADDRESS}/anthropic copilot"),
    ("OpenAI's SDKs", f"OPENAI_BASE_URL={ADDRESS}/openai/v1"),
)
"""How each is pointed at the proxy for one run."""


def proxy(options: argparse.Namespace) -> int:
    """Never comes back where everything is as it should be. Raises ``SettingError``."""
    upstreams = default_upstreams(user_endpoints())
    upstreams.update(read_upstreams(options.upstream))
    is_text = options.log_format != JSON_LINES
    shows_lines = sys.stderr.isatty() and is_text and not options.quiet
    metering = metering_settings(options, upstreams, lines=shows_lines)
    command = relay_command(
        upstreams,
        metering,
        host=options.host,
        port=options.port,
        token_file=options.token_file or "",
        log_format=options.log_format or "",
        ready_message="" if options.quiet else welcome(options, list(upstreams)),
    )
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - this package's own program


def welcome(options: argparse.Namespace, upstreams: list[str]) -> str:
    """What is printed once the relay listens."""
    lines = [
        f"Ullage's proxy listens at {ADDRESS} until Ctrl-C.",
        "",
        "  ullage wrap claude-code   one run of a client, with a proxy for it alone",
        "",
        "A client is pointed here with",
        "",
    ]
    for title, way in CLIENTS:
        lines.append(f"  {title:<14} {way}")
    lines += ["", f"Upstreams, as {ADDRESS}/NAME: {', '.join(upstreams)}"]
    lines += [f"Another: ullage proxy --upstream {OWN_SERVER}", ""]
    lines += [
        _stored(options),
        "`ullage context --follow`, `ullage top` and `ullage serve` show sessions as they run.",
    ]
    return "\n".join(lines)


def _stored(options: argparse.Namespace) -> str:
    if options.no_store:
        return "Nothing is stored."
    place = options.store or str(data_directory() / PROXY_FILE)
    what = (
        "sizes without content"
        if options.no_content
        else "requests and answers, without keys"
    )
    days = (
        f"for {options.keep_days:g} days"
        if options.keep_days
        else "until you delete them"
    )
    return f"Stored in {place}: {what}, {days}."
