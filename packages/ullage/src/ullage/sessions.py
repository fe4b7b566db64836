"""What an agent and its sessions take and give: docs/agent.md.

``AgentSettings`` and ``SessionSettings`` are the keyword arguments of ``Agent`` and ``Agent.session``, for wrappers of
your own. The rest are types that signatures of ``Agent``, ``Session`` and ``Result`` name.
"""

from ullage.installation import explained

try:
    from ullage.codec.blocks import CacheMarks, Options
    from ullage.context.lineage import Whereabouts
    from ullage.context.preview import CompactionPreview, PreviewedMessage
    from ullage.context.surgery import Surgery
    from ullage.context.values import LostValue
    from ullage.turns.grants import Grant
    from ullage.turns.loop import OpenCall
    from ullage_agent.file_history.report import FileChanges, FileDiff, NotCovered
    from ullage_agent.runtime.agent import GivenTool
    from ullage_agent.runtime.approvals import Question, ScopedGrant
    from ullage_agent.runtime.copying import Fork
    from ullage_agent.runtime.layers import Layer
    from ullage_agent.runtime.message_input import MessageInput, NamedFile
    from ullage_agent.runtime.outcome import CancelAnswer, Result, WaitingMessage
    from ullage_agent.runtime.overriding import Override
    from ullage_agent.runtime.session import Session
    from ullage_agent.runtime.session_view import SessionView, Viewed
    from ullage_agent.runtime.settings_types import AgentSettings, SessionSettings
    from ullage_agent.runtime.subagent import Task
    from ullage_agent.runtime.sync_session import SyncSession, SyncTextStream
    from ullage_agent.runtime.text_stream import TextStream
    from ullage_agent.runtime.turn_instructions import (
        InstructionWriter,
        TurnContext,
    )
except ModuleNotFoundError as problem:
    raise explained(problem) from problem

__all__ = [
    "AgentSettings",
    "CacheMarks",
    "CancelAnswer",
    "CompactionPreview",
    "FileChanges",
    "FileDiff",
    "Fork",
    "GivenTool",
    "Grant",
    "InstructionWriter",
    "Layer",
    "LostValue",
    "MessageInput",
    "NamedFile",
    "NotCovered",
    "OpenCall",
    "Options",
    "Override",
    "PreviewedMessage",
    "Question",
    "Result",
    "ScopedGrant",
    "Session",
    "SessionSettings",
    "SessionView",
    "Surgery",
    "SyncSession",
    "SyncTextStream",
    "Task",
    "TextStream",
    "TurnContext",
    "Viewed",
    "WaitingMessage",
    "Whereabouts",
]
