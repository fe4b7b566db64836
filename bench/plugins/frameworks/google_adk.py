"""Agents of Google's Agent Development Kit, on generateContent."""

from bench.plugins.framework import PLAIN_GEMINI, Contender, Framework

VERSION = ("google-adk==2.13.0",)
"""The lowest supported one, and the newest of 2026-11-23."""

FRAMEWORK = Framework(
    "Google ADK",
    (
        PLAIN_GEMINI,
        Contender(
            "UllagePlugin, google-adk 2.13.0",
            "plugin_google_adk.py",
            requirements=VERSION,
            is_quick=True,
        ),
        Contender(
            "EventsCompactionConfig, google-adk 2.13.0",
            "own_google_adk.py",
            "own",
            requirements=VERSION,
            arguments=("compaction",),
        ),
        Contender(
            "ContextFilterPlugin, google-adk 2.13.0",
            "own_google_adk.py",
            "own",
            requirements=VERSION,
            arguments=("filter",),
        ),
    ),
    wire="gemini",
    like="gemini-2.5-flash",
    summaries=("The following is a conversation history between a user",),
    about="""Its own compactions: `EventsCompactionConfig` with the threshold as `token_threshold` and the last 20 \
events kept, and `ContextFilterPlugin` with the last 5 invocations kept, which summarises nothing. The first one's
summary is a turn of the model. Where a function call is the first event kept, it comes behind that turn, and the
simulator refuses the request and all after it, by Gemini's rule that a function call follows a turn of the user or a
function's answer (its words are in https://github.com/google-gemini/gemini-cli/issues/11814; the API itself was not
asked).""",
)
