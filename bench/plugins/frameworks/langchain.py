"""LangChain and LangGraph agents, on OpenAI Chat."""

from bench.plugins.framework import PLAIN_CHAT, Contender, Framework

OLDEST = ("langchain==1.2.11", "langchain-openai==1.1.10")
"""langchain 1.2.10 asks for a langgraph that the langgraph-prebuilt of today can't be imported beside."""
NEWEST = ("langchain==1.5.0", "langchain-openai==1.7.4")
"""The newest of 2026-11-23."""
OVERRIDES = ("certifi==2026.10.18",)
"""langchain-core 1.8 asks for a certifi that the index does not have; nothing is verified with it on loopback."""

FRAMEWORK = Framework(
    "LangChain",
    (
        PLAIN_CHAT,
        Contender(
            "UllageMiddleware, langchain 1.2.11",
            "plugin_langchain.py",
            requirements=OLDEST,
            is_lowest=True,
        ),
        Contender(
            "UllageMiddleware, langchain 1.5.0",
            "plugin_langchain.py",
            requirements=NEWEST,
            overrides=OVERRIDES,
            is_quick=True,
        ),
        Contender(
            "SummarizationMiddleware, langchain 1.5.0",
            "own_langchain.py",
            "own",
            requirements=NEWEST,
            overrides=OVERRIDES,
        ),
    ),
    summaries=("Messages to summarize:",),
    about="""Its own compaction is SummarizationMiddleware as documented: a share of the window, 20 messages kept.""",
)
