"""The state of an open session: its ledger, settings, tools and endpoint, and what all sessions of an agent share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ullage.checkpoint.checkpoint import Checkpoints
from ullage.context.costs import after as fold_after
from ullage.context.known_limits import KnownLimits
from ullage.display.text import quoted
from ullage.errors import ContextUnfixable, ProviderError, SettingError
from ullage.events import (
    Calibrated,
    EpochChanged,
    Event,
    Fingerprint,
    MessageAdded,
    MessageReplaced,
    SettingsChanged,
)
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.fold import Fold
from ullage.meter.forecast import Forecaster
from ullage.meter.reading import Reading
from ullage.store.grants import ProjectGrants
from ullage.store.recall_ledger import RecallLedger
from ullage.store.store import SessionStore
from ullage.tokens.text import counter_for
from ullage.turns.loop import Loop
from ullage.usage import Usage
from ullage.watching.status import reading_event
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint
from ullage_agent.file_history.history import FileHistory
from ullage_agent.loop.memory import LoopMemory, remember
from ullage_agent.runtime.call_slots import CallSlots
from ullage_agent.runtime.count_endpoints import CountEndpoints
from ullage_agent.runtime.guardrails import Guardrails
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.layers import Layer, read_layer
from ullage_agent.runtime.ledger import Ledger
from ullage_agent.runtime.output_type import OutputType
from ullage_agent.runtime.precedence import (
    Resolved,
    refuse_beyond,
    resolve,
)
from ullage_agent.runtime.quotas import Quotas
from ullage_agent.runtime.session_requests import SessionRequests
from ullage_agent.runtime.session_view import SessionView
from ullage_agent.runtime.setting_values import is_storable
from ullage_agent.runtime.settings import Settings
from ullage_agent.runtime.tool_names import NAMING, check_names
from ullage_agent.runtime.turn_instructions import InstructionWriter, WrittenInstructions
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.tool import AgentTool

BLOB_SOURCE: Final = "kept:"
"""The prefix of a part's source whose bytes are stored beside the session, under the handle that follows."""


@dataclass(slots=True, kw_only=True)
class AgentRuntime:
    """The resources that all sessions of an agent share. Belongs to one event loop."""

    store: SessionStore
    client: Client
    owner: str
    arguments: Mapping[str, object]
    files: Sequence[Layer]
    environment: Mapping[str, str]
    settings: Settings
    """The agent's own settings: those of a session that sets nothing itself."""
    tools: Callable[[Settings], Mapping[str, AgentTool]]
    """The tools of a session with these settings, by name; those of MCP servers may change while it runs."""
    system: Callable[[Settings], tuple[SystemBlock, ...]]
    """The system prompt with these settings, its instruction files read."""
    counts: CountEndpoints
    """What is known of count endpoints."""
    hooks: Sequence[Hook] = ()
    guardrails: Guardrails = field(default_factory=Guardrails)
    clock: Callable[[], float] = time.time
    yields: bool = False
    """A session's own settings win over the arguments, within the operator's limits."""
    grants: ProjectGrants = field(default_factory=ProjectGrants)
    """The grants of projects."""
    servers: Callable[[], Sequence[McpServer]] = tuple
    """The MCP servers of the tools."""
    deps_type: object = None
    """The type of ``deps`` that the agent was made for; ``None``: any, or none."""
    writers: Sequence[InstructionWriter[Any]] = ()
    """Functions that write instructions when a turn begins."""
    place: str = ""
    """The place whose sessions are driven here; empty: those without one."""
    is_hosted: bool = False
    """People reach every session of the store over HTTP, also those of subagents."""
    name: str = ""
    """The agent's name, as its hand-overs use it."""
    description: str = ""
    """What the agent is for, in words of the program."""
    team: dict[str, AgentRuntime] = field(default_factory=dict)
    """The agents that a session of this one may be handed over to, by name."""
    histories: Callable[[Path], FileHistory | str] = lambda root: "the agent is not open"
    """The history of the files below a root, or why none is kept."""
    quotas: Quotas = field(init=False)
    """What the tenant of the store may use today."""
    slots: CallSlots = field(init=False)
    """The slots for calls within the rate limits of providers."""

    def __post_init__(self) -> None:
        self.quotas = Quotas(self.store)
        self.slots = CallSlots(self.store)

    def acting(self, loop: Loop) -> AgentRuntime | None:
        """The agent that continues the conversation; ``None`` if this program does not have it."""
        if loop.agent in ("", self.name):
            return self
        return self.team.get(loop.agent)

    def resolve_for(self, loop: Loop, *, changed: Collection[str] = ()) -> Resolved:
        """The settings of the agent and the model that continue the conversation. Raises ``SettingError``."""
        acting = self.acting(loop)
        if acting is None:
            known = ", ".join(sorted(self.team)) or "none with a name"
            raise SettingError(
                f"The conversation was handed over to the agent {quoted(loop.agent)}, which this program does not have "
                f"(its agents: {known}). Add it to `handoffs`, or hand over to another one with "
                "`session.hand_over(name)`."
            )
        own: Mapping[str, object] = loop.settings
        if loop.fallback:
            own = {**own, "model": loop.fallback}
            changed = {*changed, "model"}
        return acting.resolve(own, changed=changed)

    def resolve(
        self, session: Mapping[str, object], *, changed: Collection[str] = ()
    ) -> Resolved:
        """The settings of a session with these own ones, within the operator's. Raises ``SettingError``.

        ``changed`` names those that were changed since the session was opened: they win over the arguments.
        """
        first = session.keys() if self.yields else changed
        return resolve(
            self.arguments, session, self.files, self.environment, session_first=first
        )

    def commanded(
        self,
        changes: Mapping[str, object],
        own: Mapping[str, object] | None = None,
        *,
        changed: Collection[str] = (),
    ) -> Settings:
        """The settings after a command that changes these in a session with ``own`` ones; ``None`` unsets one.

        Raises ``SettingError`` for an impossible value, and for one beyond the operator's.
        """
        values = {name: value for name, value in changes.items() if value is not None}
        read_layer(Layer(place="session", values=values))
        for name, value in values.items():
            if not is_storable(value):
                raise SettingError(
                    f"{name} can't be set for one session: its ledger holds numbers and text in UTF-8, no objects and "
                    "no lone surrogates. Give another value, or give it to Agent(…)."
                )
        kept = {name: value for name, value in (own or {}).items() if name not in changes}
        after = {**kept, **values}
        resolved = self.resolve(after, changed={*changed, *changes})
        refuse_beyond(resolved, changes)
        self.check_tool_names(resolved, keys=values)
        return resolved.settings

    def check_tool_names(
        self,
        resolved: Resolved,
        acting: AgentRuntime | None = None,
        *,
        keys: Collection[str] = NAMING,
        begins_turn: bool = False,
    ) -> None:
        """Raise ``SettingError`` where a setting of the ``acting`` agent names a tool that there is not.

        While a server has not offered its tools yet, a name may be one of them; but with ``begins_turn`` it may not.
        """
        acting = acting or self
        missing = [server for server in acting.servers() if server.is_missing]
        others: set[str] = set()
        for member in (self, *self.team.values()) if self.team else ():
            others.update(member.tools(member.settings))
        check_names(
            resolved,
            [key for key in NAMING if key in keys],
            acting.tools(resolved.settings),
            others,
            missing,
            begins_turn=begins_turn,
        )


def answering(loop: Loop) -> tuple[str, str]:
    """Who answers next: the agent by its name, and the fallback model; each empty for the first."""
    return loop.agent, loop.fallback


class ResolvedFrom(NamedTuple):
    """Settings, and what they were resolved from: the session's own settings, and who answers."""

    own: Mapping[str, object]
    answering: tuple[str, str]
    result: Resolved


class CountedTool(NamedTuple):
    """The tokens of a tool's declaration, by the estimators of one model."""

    tool: Tool
    forecaster: Forecaster
    tokens: float


class SyncedTo(NamedTuple):
    """What the recorded settings and tools were worked out from.

    ``looked_up`` are the deferrable tools that the model has found or called, ``window`` is in tokens. ``told`` are the
    messages in view that told the model of a changed system prompt.
    """

    own: Mapping[str, object]
    offered: Mapping[str, AgentTool]
    looked_up: tuple[str, ...]
    window: int | None
    answering: tuple[str, str]
    output: OutputType[Any] | None
    instructions: WrittenInstructions | None
    told: tuple[str, ...]
    is_compacted: bool


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class SessionRuntime:
    """One session at work."""

    first: AgentRuntime
    """Of the agent that the session was opened with."""
    ledger: Ledger
    settings: Settings
    """The settings that the ledger was last brought up to; see ``resolve_settings``."""
    tools: Mapping[str, AgentTool]
    memory: LoopMemory = field(default_factory=LoopMemory)
    limits: KnownLimits = field(default_factory=KnownLimits)
    """Limits on images and bytes that are known from refusals. No event records them."""
    stuck: ContextUnfixable | None = None
    """Why the last compaction could not help, where the request can't be sent."""
    synced: SyncedTo | None = None
    """What the ledger was last brought up to."""
    tool_tokens: dict[str, CountedTool] = field(default_factory=dict)
    deferrable: frozenset[str] = frozenset()
    """Names of the tools that are declared only while they are in use."""
    resolved: ResolvedFrom | None = None
    reached: tuple[Settings, Endpoint] | None = None
    noticed: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """What was told of each MCP server last: its problem and its notes."""
    asked_limits: str = ""
    """The model whose endpoint was asked for its limits."""
    was_unloaded: bool = False
    """The endpoint had not loaded the model yet, so it does not know the window."""
    count_asked: Fingerprint | None = None
    """The request whose count was asked for last, whatever came of it."""
    counting: asyncio.Task[None] | None = None
    """Counts of system prompt and tools in the background."""
    media: dict[str, bytes] = field(default_factory=dict)
    """Bytes of images and files that were in view, by their source."""
    usage_seen: Usage | None = None
    """The usage that the current call has reported so far."""
    waits_to_retry: bool = False
    """Whether the current call was refused and waits for its next attempt: it has cost nothing."""
    first_chunk_at: float = 0.0
    """When the answer of the current call began to stream, in seconds since 1970."""
    response_id: str = ""
    """The provider's id of the current call's answer."""
    lost_response: str = ""
    """The answer that the provider held and that could not be fetched."""
    requests: SessionRequests = field(default_factory=SessionRequests)
    replaced_requests: SessionRequests = field(default_factory=SessionRequests)
    """Those that hooks put in the place of the ledger's."""
    hooked: set[str] = field(default_factory=set)
    """The parts of the tool calls that hooks were asked about."""
    wanted: list[str] | None = None
    """Sources in view whose bytes are not loaded yet; ``None`` before the view was searched for them."""
    changed: set[str] = field(default_factory=set)
    """Settings that were changed since this process opened the session."""
    is_closing: bool = False
    """This process stops its work on the session, which another one continues."""
    learns: bool = False
    """Something was learnt about a model since the session was opened."""
    checkpointed: int = 0
    """The last event that a checkpoint covers."""
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    deps: object = None
    """What the program gave for the tools when it opened the session. Not stored."""
    output: OutputType[Any] | None = None
    """The type of the answers that the program asks for. Not stored."""
    recalled: RecallLedger = field(default_factory=RecallLedger)
    """What left the window, once it was asked for."""
    instructions: WrittenInstructions | None = None
    """What the program's functions wrote for the newest turn; ``None`` before this process began or resumed one."""

    @property
    def lacks_instructions(self) -> bool:
        """Whether the program's functions are to write instructions for the turn, before its next call."""
        loop, now = self.ledger.loop, self.instructions
        if not loop.turn or loop.cancel or not self.shared.writers:
            return False
        return now is None or (now.turn, now.agent) != (loop.turn, loop.agent)

    @property
    def fold(self) -> Fold:
        """The fold behind the session's readings, for reading only."""
        return self.ledger.meter._fold

    @property
    def shared(self) -> AgentRuntime:
        """Of the agent that continues the conversation."""
        return self.first.acting(self.ledger.loop) or self.first

    def note(self, event: Event) -> None:
        """Note the parts of an event that later steps need."""
        self.memory = remember(self.memory, event)
        self.requests.note(event)
        self.learns = self.learns or isinstance(event, Calibrated)
        if isinstance(event, SettingsChanged) and event.source == "session":
            self.changed |= event.settings.keys()
        if self.wanted is not None and isinstance(event, MessageAdded | MessageReplaced):
            self.wanted += sources_of(event.message)

    def new_epoch(self, reason: str, changes: Sequence[Event] = ()) -> EpochChanged:
        """The event for a request that does not extend the last one: the provider's cache of the prefix is lost.

        ``changes`` are the events that are the reason for it, if they are not yet in the ledger.
        """
        fold = fold_after(self.fold, changes)
        return EpochChanged(
            epoch=self.memory.epoch + 1,
            reason=reason,
            rewritten=self.reading.used.tokens,
            reasoning_lost=fold.reasoning_lost,
        )

    def resolve_settings(self) -> Resolved:
        """The settings in effect after everything that is folded. Raises ``SettingError``.

        They are resolved again only after the session's own settings have changed: the fold then holds another mapping.
        Arguments, files and the environment are read once, when the agent is made.
        """
        loop = self.ledger.loop
        own, now = loop.settings, answering(loop)
        known = self.resolved
        if known is None or known.own is not own or known.answering != now:
            resolved = self.first.resolve_for(loop, changed=self.changed)
            self.resolved = ResolvedFrom(own, now, resolved)
            return resolved
        return known.result

    def check_tool_names(self) -> None:
        """Raise ``SettingError`` where the settings in effect name a tool that there is not: no call may go unasked."""
        self.first.check_tool_names(
            self.resolve_settings(), self.shared, begins_turn=True
        )

    def endpoint(self, settings: Settings | None = None) -> Endpoint:
        """The endpoint of the session's model, by these settings or the current ones. Looked up once for each.

        Raises ``BadKey``, ``SettingError``.
        """
        settings = settings or self.settings
        if self.reached is None or self.reached[0] is not settings:
            endpoint, _ = settings.endpoint(self.shared.environment)
            self.reached = settings, endpoint
        return self.reached[1]

    def view(self) -> SessionView:
        """The session as hooks may describe it."""
        try:
            address = self.endpoint().base_url
        except (ProviderError, SettingError):
            address = ""
        return SessionView(
            agent=self.shared.name,
            description=self.shared.description,
            tenant=self.shared.quotas.tenant,
            provider=self.fold.provider,
            model=self.fold.model,
            address=address,
            options=self.settings.options,
            has_output_type=self.output is not None,
            is_compacted=any(
                message.origin == "summary" for message in self.ledger.meter.messages
            ),
            tools=self.tools,
            open_calls=self.ledger.loop.open,
            first_chunk_at=self.first_chunk_at,
            response_id=self.response_id,
        )

    @property
    def root(self) -> Path:
        return self.settings.root or Path.cwd()

    def reading_events(self) -> list[Event]:
        """What the last call taught and the current reading, as events, as far as they are not recorded.

        They come with the events of the next step: a transaction of their own would cost as much as both.
        """
        events: list[Event] = []
        call, started = self.memory.unlearnt, self.memory.started
        last = self.fold.track.last
        is_unlearnt = last is not None and last.call == call and bool(call)
        if is_unlearnt and started and last and last.actual is not None:
            ratio = last.actual / last.estimated if last.estimated else 1.0
            learnt = Calibrated(
                model=started.fingerprint.model if started.fingerprint else "",
                call=call,
                estimated=last.estimated,
                actual=last.actual,
                error=last.estimated - last.actual,
                ratio=ratio,
            )
            events.append(learnt)
        reading, taken = self.reading, self.memory.taken
        if taken is None or taken.snapshot != reading.snapshot_id:
            count = len(self.ledger.meter)
            events.append(reading_event(reading, messages=count, last=taken))
        return events

    async def record_reading(self) -> Reading:
        """The reading that is displayed and decided on, recorded if it is new."""
        events = self.reading_events()
        if events:
            await self.ledger.write(events)
        return self.reading

    @property
    def reading(self) -> Reading:
        return self.ledger.meter.reading()

    def usage_of_cut(self, partial: Message | None) -> Usage | None:
        """The usage of an interrupted call: as far as the provider reported it, with the rest estimated.

        ``None`` if the provider has refused the call so far.
        """
        if self.waits_to_retry:
            return None
        seen = self.usage_seen or Usage()
        written = ""
        if partial is not None:
            written = "".join(_written(part) for part in partial.parts)
        estimated_output = round(counter_for("pretoken").count(written, "o200k"))
        output = max(seen.output or 0, estimated_output)
        if seen.input:
            return replace(
                seen,
                output=output,
                final=False,
                placeholder=True,
                flags=(*seen.flags, "output estimated"),
            )
        started = self.memory.started
        estimate = None if started is None else started.estimate
        return Usage(
            input=None if estimate is None else estimate.tokens,
            output=output,
            final=False,
            verified=False,
            placeholder=True,
            flags=("estimated",),
        )

    def usage_of_aside(self, call: str) -> Usage | None:
        """The usage of an interrupted side call: its estimated request and no answer."""
        size = self.memory.asides.get(call)
        if size is None:
            return None
        return Usage(
            input=size,
            output=0,
            final=False,
            verified=False,
            placeholder=True,
            flags=("estimated",),
        )


def _written(part: Part) -> str:
    match part:
        case TextPart() | ReasoningPart():
            return part.text
        case ToolCallPart():
            return part.name + part.arguments
        case _:
            return ""


def sources_of(message: Message) -> list[str]:
    """The sources of a message's images and files whose bytes are stored beside the session."""
    found: list[str] = []
    for part in message.parts:
        contents = part.content if isinstance(part, ToolResultPart) else (part,)
        for content in contents:
            if isinstance(content, ImagePart | FilePart) and content.source.startswith(
                BLOB_SOURCE
            ):
                found.append(content.source)
    return found
