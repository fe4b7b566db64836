"""pydantic-ai's agent with Ullage's capability."""

from __future__ import annotations

from plugin_session import FOLDER, TRIGGER, WINDOW, drive
from plugin_with_pydantic_ai import PydanticAI

from ullage.plugins.pydantic_ai import Ullage

PLUGIN = Ullage(window=WINDOW, trigger=TRIGGER, store=FOLDER / "ullage.db")


class WithUllage(PydanticAI):
    async def close(self) -> None:
        await PLUGIN.aclose()


drive(WithUllage([PLUGIN]))
