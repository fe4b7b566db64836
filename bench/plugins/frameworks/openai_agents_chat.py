"""Agents of the OpenAI Agents SDK, on Chat."""

from bench.plugins.framework import PLAIN_CHAT, Contender, Framework
from bench.plugins.frameworks.openai_agents import NEWEST

FRAMEWORK = Framework(
    "OpenAI Agents, Chat",
    (
        PLAIN_CHAT,
        Contender(
            "instrument, openai-agents 0.24.0",
            "plugin_openai_agents.py",
            requirements=NEWEST,
            arguments=("chat",),
            is_quick=True,
        ),
    ),
    about="""The SDK has no compaction of its own on Chat.""",
)
