"""The OpenAI Agents SDK with its own ``OpenAIResponsesCompactionSession``, over an SQLite session.

It compacts after a run, by a count of items (10 unless it is told otherwise), through POST /responses/compact. Its
model must be named like one of OpenAI's.
"""

from __future__ import annotations

import sys
from typing import Any

from agents import OpenAIResponsesCompactionSession, Runner, SQLiteSession
from plugin_session import FOLDER, MOST_STEPS, Step, drive
from plugin_with_openai_agents import CLIENT, OpenAIAgents


class WithSession(OpenAIAgents):
    """The session keeps the history; the usage of the runs holds the compactions."""

    def __init__(self, api: str) -> None:
        super().__init__(api)
        self.counts = [0, 0]
        self.session: Any = OpenAIResponsesCompactionSession(
            "bench",
            SQLiteSession("bench", FOLDER / "session.db"),
            client=CLIENT,
            model=sys.argv[4],
            compaction_mode="input",
        )

    async def turn(self, step: Step) -> None:
        agent = self.agent(step.model)
        stream = Runner.run_streamed(
            agent,
            step.said,
            run_config=self.config,
            max_turns=MOST_STEPS,
            session=self.session,
        )
        try:
            pieces = 0
            async for event in stream.stream_events():
                pieces += event.type == "raw_response_event"
                if pieces == step.stop_after and pieces:
                    stream.cancel()
        finally:
            used = stream.context_wrapper.usage
            self.counts[0] += used.input_tokens
            self.counts[1] += used.output_tokens

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]


drive(WithSession(sys.argv[3]))
