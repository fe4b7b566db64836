"""pydantic-ai agents, on OpenAI Chat."""

from bench.plugins.framework import PLAIN_CHAT, Contender, Framework

OLDEST = ("pydantic-ai-slim[openai]==2.62.0",)
NEWEST = ("pydantic-ai-slim[openai]==2.68.0",)
HARNESS = ("pydantic-ai-harness==0.62.0", "pydantic-ai-slim[openai]==2.62.0")

FRAMEWORK = Framework(
    "pydantic-ai",
    (
        PLAIN_CHAT,
        Contender(
            "Ullage, pydantic-ai 2.62.0",
            "plugin_pydantic_ai.py",
            requirements=OLDEST,
            is_lowest=True,
        ),
        Contender(
            "Ullage, pydantic-ai 2.68.0",
            "plugin_pydantic_ai.py",
            requirements=NEWEST,
            is_quick=True,
        ),
        Contender(
            "harness 0.62.0, tiered",
            "own_pydantic_ai.py",
            "own",
            requirements=HARNESS,
            arguments=("tiered",),
        ),
        Contender(
            "harness 0.62.0, summary",
            "own_pydantic_ai.py",
            "own",
            requirements=HARNESS,
            arguments=("summary",),
        ),
    ),
    summaries=("Write the summary under these exact",),
    about="""Its own compaction is that of pydantic-ai-harness: the tiers of its README (clear tool results but 3 pairs,
then summarise all but 20 messages), or the last of these alone. What is counted is the usage of pydantic-ai's own runs,
in which the summaries are.""",
)
