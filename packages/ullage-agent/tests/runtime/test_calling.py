"""The window of a model on the user's own server."""

import json
from pathlib import Path

from tests.wire.local_server import Asked, Reply, chat, serving
from ullage import Agent

JSON = {"content-type": "application/json"}


async def test_a_window_is_asked_for_once_the_model_is_loaded(tmp_path: Path) -> None:
    async with serving(Reply(chat("Hello."))) as server:

        def listed(_: Asked) -> Reply:
            is_loaded = any("/chat/completions" in one.path for one in server.asked)
            instance = {"id": "m", "config": {"context_length": 8_192}}
            model = {"key": "m", "loaded_instances": [instance] if is_loaded else []}
            return Reply([json.dumps({"models": [model]}).encode()], headers=JSON)

        nothing = Reply([b"{}"], headers=JSON)
        server.at = {"/v1/models": nothing, "/props": nothing, "/api/v1/models": listed}
        agent = Agent(
            "lmstudio:m",
            base_url=server.url,
            store=tmp_path / "s.db",
            environment={"ULLAGE_DATA": str(tmp_path / "data")},
            config=False,
            count="never",
        )
        windows = []
        async with agent.session("s") as session:
            for _ in range(3):
                await session.ask("Hello.")
                windows.append((await session.context()).window.tokens)
        asked = [one.path for one in server.asked].count("/api/v1/models")
    assert windows == [8_192, 8_192, 8_192]
    assert asked == 2
