"""What a request says of its client, its session and its purpose."""

from __future__ import annotations

import json

import pytest

from ullage_programs.marks import Marks, SeenPrompt, client_marks, mark_headers, marks_of
from ullage_programs.programs import PROGRAMS


def told(agent: str, system: str = "", last: str = "", **headers: str) -> Marks:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return marks_of({"user-agent": agent, **named}, {}, SeenPrompt(system, system, last))


def test_the_clients_have_the_names_of_their_limits() -> None:
    assert {client.name for client in client_marks()} == set(PROGRAMS)


def test_every_header_that_a_row_reads_is_listed() -> None:
    read = set()
    for client in client_marks():
        read |= {
            *client.session,
            client.subagent,
            client.parent,
            *(client.purposes or {}),
        }
    assert read - {""} <= mark_headers()
    assert not any("key" in name or "auth" in name for name in mark_headers())


@pytest.mark.parametrize(
    ("agent", "program"),
    [
        ("claude-cli/2.1.330 (external, sdk-cli)", "claude-code 2.1.330"),
        ("codex_exec/0.169.0 (Debian 12.0.0; x86_64)", "codex 0.169.0"),
        ("codex-tui/0.170.1 (Mac OS)", "codex 0.170.1"),
        ("opencode/1.18.33 ai-sdk/provider-utils/4.0.46", "opencode 1.18.33"),
        ("pi (linux 6.1; x64)", "pi"),
        ("GeminiCLI-tui/0.61.0/gemini-2.5-flash (linux)", "gemini-cli 0.61.0"),
        ("QwenCode/0.24.4 (linux; x64)", "qwen-code 0.24.4"),
        ("claude-cli/0.24.4 (external, cli)", "qwen-code 0.24.4"),
        ("OpenAI/Python 2.54.0", "openai-python 2.54.0"),
        ("AsyncAnthropic/Python 2.12.0", "asyncanthropic-python 2.12.0"),
        ("my-agent/3.1", "my-agent 3.1"),
        ("ai-sdk/openai-compatible/3.0.37 runtime", "ai-sdk-openai-compatible 3.0.37"),
        ("node-fetch", "node-fetch"),
        ("", "unnamed"),
        ("?" * 5_000, "unnamed"),
        ("a" * 5_000, "unnamed"),
    ],
)
def test_the_program_is_told_by_its_user_agent(agent: str, program: str) -> None:
    assert told(agent).program == program


def test_aider_is_told_by_its_prompt() -> None:
    prompt = (
        "Act as an expert software developer.\nAlways use best practices when coding."
    )
    assert told("litellm/1.81.10", prompt).program == "aider"
    assert told("litellm/1.81.10", f"Say: {prompt}").program == "litellm 1.81.10"
    for prompt, purpose in (
        ("You are an expert software engineer that generates concise, one-line", "other"),
        ("*Briefly* summarize this partial conversation about programming.", "summary"),
    ):
        marks = told("litellm/1.81.10", prompt)
        assert (marks.program, marks.purpose) == ("aider", purpose)


def test_copilot_is_told_by_its_prompt_or_its_own_headers() -> None:
    system = (
        "You are the GitHub Copilot CLI, a terminal assistant.\n"
        "<version_information>Version number: 1.0.102</version_information>"
    )
    assert told("Anthropic/JS 0.94.0", system).program == "copilot-cli 1.0.102"
    child = told("Anthropic/JS 0.94.0", x_interaction_type="conversation-subagent")
    assert (child.client, child.purpose) == ("copilot-cli", "child")


def test_claude_codes_session_is_in_a_header_and_in_the_metadata() -> None:
    agent = {"user-agent": "claude-cli/2.1.197"}
    for user in (json.dumps({"session_id": "5b1c"}), "user_ab_account__session_5b1c"):
        body = {"metadata": {"user_id": user}}
        assert marks_of(agent, body, SeenPrompt()).session == "5b1c"
    assert told("claude-cli/2.1.330", x_claude_code_session_id="5b1c").session == "5b1c"


def test_a_version_that_is_not_known_to_mark_subagents_is_not_trusted_to() -> None:
    assert told("claude-cli/2.1.330").tells_agents
    assert told("claude-cli/2.2").tells_agents
    assert not told("claude-cli/2.1.197").tells_agents
    assert told("opencode/1.18.33").tells_agents
    assert not told("pi (linux)").tells_agents


def test_a_title_of_codex_is_no_session_of_its_own() -> None:
    said = json.dumps({"thread_source": "thread_title", "request_kind": "turn"})
    headers = {"session_id": "01a2", "thread_id": "01a2", "x_codex_turn_metadata": said}
    marks = told("codex-tui/0.171.0", **headers)
    assert (marks.purpose, marks.session, marks.agent) == ("title", "", "")


def test_codex_says_what_a_request_is_for() -> None:
    ids = {"session_id": "s", "thread_id": "s"}
    for kind, purpose in (("turn", ""), ("compaction", "summary"), ("memory", "other")):
        metadata = json.dumps({"request_kind": kind})
        marks = told("codex_exec/0.169.0", x_codex_turn_metadata=metadata, **ids)
        assert (marks.purpose, marks.agent) == (purpose, "")
    thread = told("codex_exec/0.169.0", session_id="s", thread_id="t")
    assert (thread.session, thread.agent) == ("s", "t")


@pytest.mark.parametrize(
    ("agent", "purpose", "asking"),
    [
        (
            "claude-cli/2.1.330",
            "summary",
            "A result.\nCRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
        ),
        ("opencode/1.18.33", "title", "You are a title generator."),
        ("QwenCode/0.24.4", "other", "[SUGGESTION MODE: Suggest what the user might"),
        ("codex/1.0", "summary", "You are performing a CONTEXT CHECKPOINT COMPACTION. C"),
        ("qwencode/1", "", "You are the component that summarizes a conversation"),
        (
            "QwenCode/1.0",
            "summary",
            "You are the component that summarizes a conversation",
        ),
        ("pi (linux)", "", "He said: You are a context summarization assistant."),
    ],
)
def test_a_fixed_prompt_tells_the_purpose(agent: str, purpose: str, asking: str) -> None:
    assert told(agent, last=asking).purpose == purpose


@pytest.mark.parametrize(
    ("agent", "text", "cwd"),
    [
        (
            "claude-cli/2.1.330",
            "# Environment\n - Primary working directory: /a b\n",
            "/a b",
        ),
        (
            "claude-cli/2.1.330",
            "Files in the working directory: Edit them.\n- Working directory: C:\\work\n",
            "C:\\work",
        ),
        ("codex/1.0", "<environment_context>\n  <cwd>/shelf</cwd>", "/shelf"),
        ("opencode/1.0", "<env>\n  Working directory: /shelf\n", "/shelf"),
        ("pi (linux)", "<cwd>\n/shelf\n</cwd>", "/shelf"),
        (
            "QwenCode/1.0",
            "I'm currently working in the directory: /shelf\nHere",
            "/shelf",
        ),
        (
            "GeminiCLI/1.0",
            "- **Directory Structure:**\n\nShowing up to 200 items (files).\n\n/shelf/\n├───a",
            "/shelf",
        ),
        ("pi (linux)", "<cwd>" + "x" * 9_000 + "</cwd>", ""),
        ("my-agent/1", "Working directory: /shelf", ""),
    ],
)
def test_the_prompt_tells_the_working_directory(agent: str, text: str, cwd: str) -> None:
    assert told(agent, text).cwd == cwd


def test_an_id_that_is_too_long_is_none() -> None:
    assert told("claude-cli/2.1.330", x_claude_code_session_id="x" * 300).session == ""
