"""langchain's agent with Ullage's middleware."""

from __future__ import annotations

from plugin_session import FOLDER, TRIGGER, WINDOW, drive
from plugin_with_langchain import LangChain

from ullage.plugins.langchain import UllageMiddleware

MIDDLEWARE = UllageMiddleware(window=WINDOW, trigger=TRIGGER, store=FOLDER / "ullage.db")


class WithUllage(LangChain):
    """Counts by what the middleware has counted, not by langchain's own callback."""

    counts_all = True

    def counted(self) -> tuple[int, int]:
        spent = MIDDLEWARE.reading("bench").spend.all
        return spent.input or 0, spent.output or 0

    async def close(self) -> None:
        await MIDDLEWARE.aclose()


drive(WithUllage([MIDDLEWARE]))
