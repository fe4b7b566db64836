"""Agents of Agno, on OpenAI Chat: no plug-in, ``ullage.attach`` follows the client of OpenAI's SDK."""

from bench.plugins.framework import PLAIN_CHAT, Contender, Framework

FRAMEWORK = Framework(
    "Agno",
    (
        PLAIN_CHAT,
        Contender(
            "ullage.attach, agno 3.1.10",
            "plugin_attached.py",
            requirements=("agno==3.1.10", "openai==3.52.0"),
            arguments=("agno",),
        ),
    ),
    about="""It needs no plug-in: the client of OpenAI's SDK is attached. One version was run, on one window.""",
    is_brief=True,
)
