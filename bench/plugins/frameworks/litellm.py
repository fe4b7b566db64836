"""Loops over LiteLLM's functions, and LiteLLM's proxy, on OpenAI Chat."""

from bench.plugins.framework import PLAIN_CHAT, Contender, Framework

OLDEST, NEWEST = "litellm[proxy]==1.106.0", "litellm[proxy]==1.109.1"
"""The newest of 2026-11-23."""
OVERRIDES = ("certifi==2026.10.18", "litellm-proxy-extras", "litellm-enterprise")
"""litellm 1.109.1 asks for versions that the index does not have; the bench's proxy has no database, which the second
is for, and uses nothing of the third."""

FRAMEWORK = Framework(
    "LiteLLM",
    (
        PLAIN_CHAT,
        Contender(
            "acompletion, litellm 1.106.0",
            "plugin_litellm.py",
            requirements=(OLDEST,),
            is_lowest=True,
            arguments=("acompletion",),
        ),
        Contender(
            "acompletion, litellm 1.109.1",
            "plugin_litellm.py",
            requirements=(NEWEST,),
            overrides=OVERRIDES,
            arguments=("acompletion",),
            is_quick=True,
        ),
        Contender(
            "completion, litellm 1.106.0",
            "plugin_litellm.py",
            requirements=(OLDEST,),
            is_lowest=True,
            arguments=("completion",),
        ),
        Contender(
            "completion, litellm 1.109.1",
            "plugin_litellm.py",
            requirements=(NEWEST,),
            overrides=OVERRIDES,
            arguments=("completion",),
        ),
        Contender(
            "proxy, litellm 1.106.0",
            "plugin_litellm.py",
            requirements=(OLDEST,),
            is_lowest=True,
            arguments=("proxy",),
        ),
        Contender(
            "proxy, litellm 1.109.1",
            "plugin_litellm.py",
            requirements=(NEWEST,),
            overrides=OVERRIDES,
            arguments=("proxy",),
        ),
        Contender(
            "trim_messages, litellm 1.109.1",
            "own_litellm.py",
            "own",
            requirements=(NEWEST,),
            overrides=OVERRIDES,
        ),
    ),
    about="""LiteLLM has no compaction that sums up; `trim_messages`, called before each request with the threshold as \
`max_tokens`, is what its documentation offers.""",
)
