"""langchain's agent with its SummarizationMiddleware as documented: a share of the window, 20 messages kept."""

from __future__ import annotations

from langchain.agents.middleware import SummarizationMiddleware  # type: ignore[import-not-found,unused-ignore]
from plugin_session import TRIGGER, drive
from plugin_with_langchain import LangChain, chat

MIDDLEWARE = SummarizationMiddleware(
    chat("nobody-knows-this"), trigger=("fraction", TRIGGER), keep=("messages", 20)
)

drive(LangChain([MIDDLEWARE]))
