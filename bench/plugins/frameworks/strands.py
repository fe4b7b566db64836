"""Agents of Strands Agents, on OpenAI Chat: no plug-in, ``ullage.attach`` follows the client of OpenAI's SDK."""

from bench.plugins.framework import PLAIN_CHAT, Contender, Framework

FRAMEWORK = Framework(
    "Strands Agents",
    (
        PLAIN_CHAT,
        Contender(
            "ullage.attach, strands-agents 1.62.0",
            "plugin_attached.py",
            requirements=("strands-agents[openai]==1.62.0",),
            arguments=("strands",),
        ),
    ),
    about="""It needs no plug-in: the client of OpenAI's SDK is attached. One version was run, on one window.""",
    is_brief=True,
)
