"""Agents of the OpenAI Agents SDK, on Responses."""

from bench.plugins.framework import PLAIN_RESPONSES, Contender, Framework

NEWEST = ("openai-agents==0.24.0",)
MODELS = ("gpt-nobody-knows-this", "gpt-nor-this-one")
"""The SDK's own compaction takes no model that is not named like one of OpenAI's."""

FRAMEWORK = Framework(
    "OpenAI Agents",
    (
        PLAIN_RESPONSES,
        Contender(
            "instrument, openai-agents 0.24.0",
            "plugin_openai_agents.py",
            requirements=NEWEST,
            arguments=("responses",),
            is_quick=True,
        ),
        Contender(
            "OpenAIResponsesCompactionSession, openai-agents 0.24.0",
            "own_openai_agents.py",
            "own",
            requirements=NEWEST,
            arguments=("responses", MODELS[0]),
        ),
    ),
    models=MODELS,
    about="""Its own compaction is OpenAIResponsesCompactionSession with its defaults: after a run, from 10 items on
that are not the user's, through POST /responses/compact. Nothing is compacted inside a run. Only one version is
supported so far: the lowest is the newest.""",
)
