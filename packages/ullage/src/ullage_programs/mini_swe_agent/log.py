"""mini-swe-agent's trajectories: ``last_mini_run.traj.json``, or where ``-o`` says.

Source: https://github.com/SWE-agent/mini-swe-agent, ``src/minisweagent/agents/default.py`` (``serialize``) and
``models/litellm_model.py``. Messages are those of Chat or items of Responses, as LiteLLM sends them; ``extra`` holds
the whole response. An answer that called no tool is left out: its response stands on the message that says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import ullage.importers.fields as f
from ullage.codec.wires.chat.reports import LITELLM
from ullage.importers.conversation import ConversationReader
from ullage.importers.fields import JsonObject
from ullage.importers.reader import LogFormat


class MiniReader(ConversationReader):
    """Reads a trajectory."""

    format = "mini-swe-agent"
    dialect = LITELLM.name

    def read(self, entry: JsonObject) -> None:
        info = f.mapping(entry, "info")
        config = f.mapping(info, "config")
        model = f.text(f.mapping(config, "model"), "model_name")
        version = f.text(info, "mini_version")
        self.rows.program = f"mini-swe-agent {version}".strip()
        self.rows.cwd = f.text(f.mapping(config, "environment"), "cwd")
        for message in f.objects(entry, "messages"):
            self.messages += _plain(message, model)


def _plain(message: JsonObject, named: str) -> Iterator[JsonObject]:
    """The message as it is sent; the last one, of the role ``exit``, is not."""
    extra = f.mapping(message, "extra")
    response = f.mapping(extra, "response") or message
    usage = f.mapping(response, "usage")
    plain = {name: value for name, value in message.items() if name != "extra"}
    plain["timestamp"] = extra.get("timestamp")
    if usage:
        provider, _, model = named.rpartition("/")
        plain |= {"usage": usage, "provider": provider, "model": model, "id": ""}
    items = f.objects(message, "output")
    if not items and f.text(message, "role") != "exit":
        yield plain
    for place, item in enumerate(items, 1):
        yield {**plain, **item} if place == len(items) and usage else item


def fits(entry: JsonObject) -> bool:
    """Whether an object is a trajectory of mini-swe-agent."""
    return f.text(entry, "trajectory_format").startswith("mini-swe-agent")


FORMAT = LogFormat(
    "mini-swe-agent",
    fits,
    "no object with a trajectory_format of mini-swe-agent",
    MiniReader,
)
