"""Agents of smolagents, on OpenAI Chat: no plug-in, ``ullage.attach`` follows the client of OpenAI's SDK."""

from bench.plugins.framework import Contender, Framework

REQUIREMENTS = ("smolagents[openai]==1.26.0", "openai==3.52.0")

FRAMEWORK = Framework(
    "smolagents",
    (
        Contender(
            "openai SDK (Chat) with Compactor, smolagents' messages",
            "plugin_attached.py",
            "plain",
            requirements=REQUIREMENTS,
            arguments=("smolagents", "by-hand"),
        ),
        Contender(
            "ullage.attach, smolagents 1.26.0",
            "plugin_attached.py",
            requirements=REQUIREMENTS,
            arguments=("smolagents",),
        ),
    ),
    about="""It needs no plug-in: the client of OpenAI's SDK is attached. One version was run, on one window.
smolagents sends tool calls and their results as text, and the answer of a turn as a call of `final_answer` and its
result. That makes its sessions longer than those of the others, so the plain SDK beside it is given the same
messages.""",
    is_brief=True,
)
