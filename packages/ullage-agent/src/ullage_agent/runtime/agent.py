"""An agent: a model, tools and settings, and the sessions that use them.

agent = ullage.Agent("anthropic:claude-haiku-4-5", tools=[look_up], system="You are brief.")
print(agent.run_sync("What does the cask hold?").text)

async with agent.session("notes") as s:
    await s.ask("And now?")
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import os
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Self,
    TypeAlias,
    Unpack,
    overload,
)

import msgspec

from ullage.context.shorten import READER
from ullage.directories import data_directory
from ullage.errors import (
    BadKey,
    CommandRefused,
    SessionBusy,
    SessionNotFound,
    SettingError,
    UllageError,
    WrongType,
)
from ullage.events import (
    Calibrated,
    Event,
    FirstCall,
    OverheadLearnt,
    SessionStarted,
    SettingsChanged,
)
from ullage.isolation import current_test, environment_of
from ullage.loop_thread import SHARED, LoopInUse
from ullage.messages import Request, SystemBlock, clean_text
from ullage.meter.meter import Meter
from ullage.meter.policy import FIRST_CALLS_GIVEN
from ullage.provider import Provider
from ullage.store.calibration import CalibrationStore
from ullage.store.counts import CountStore
from ullage.store.grants import ProjectGrants
from ullage.store.leases import new_owner
from ullage.store.memory import MemoryStore
from ullage.store.overhead import OverheadStore
from ullage.store.places import (
    UNSET,
    StorePlace,
    Unset,
    checked_place,
    default_place,
    place_of_agent,
    shown_store,
    store_at,
)
from ullage.store.records import Records
from ullage.store.refusals import check_new_id
from ullage.store.store import MOST_LISTED, SessionRow
from ullage.store.tenants import TenantStore
from ullage.store.urls import is_database_url
from ullage.tokens.calibration import Calibration
from ullage.wire.client import Client, Timeouts
from ullage_agent.runtime.authority import is_hidden
from ullage_agent.runtime.children import answer_within
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.count_endpoints import CountEndpoints
from ullage_agent.runtime.exported import function_of, mcp_server_of
from ullage_agent.runtime.file_steps import Histories
from ullage_agent.runtime.guardrails import Guardrail, Guardrails
from ullage_agent.runtime.handovers import (
    arguments_within,
    check_name,
    handover_tools,
    team_of,
)
from ullage_agent.runtime.hooks import Hook, check_hook
from ullage_agent.runtime.layers import Layer, refuse_arguments, unknown_setting
from ullage_agent.runtime.message_input import MessageInput
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.output_type import OutputType, check_retries
from ullage_agent.runtime.overriding import Override, Substitutes, in_force
from ullage_agent.runtime.own_providers import with_names
from ullage_agent.runtime.policy import LONGEST_INSTRUCTIONS, OUTPUT_RETRIES
from ullage_agent.runtime.precedence import Resolved, resolve
from ullage_agent.runtime.quotas import new_session, new_session_id
from ullage_agent.runtime.sandboxing import confined_server, sandbox_of, warnings_of
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.session_runtime import AgentRuntime
from ullage_agent.runtime.settings import KEYS, Settings
from ullage_agent.runtime.settings_types import AgentSettings, SessionSettings
from ullage_agent.runtime.sync_session import SyncSession, SyncTextStream
from ullage_agent.runtime.text_stream import TextStream
from ullage_agent.runtime.tooling import page_room
from ullage_agent.runtime.turn_instructions import InstructionWriter, read_instructions
from ullage_agent.tools.builtin import builtin_tools, check_builtin
from ullage_agent.tools.functions import as_tools
from ullage_agent.tools.mcp import McpServer, open_all, tools_of
from ullage_agent.tools.other_names import METHODS, lacks
from ullage_agent.tools.paths import NarrowRoot, walk_to
from ullage_agent.tools.result_budget import read_result
from ullage_agent.tools.sandbox import Sandbox
from ullage_agent.tools.tool import AgentTool, ToolContext, ToolError
from ullage_agent.tools.type_variables import AnyT, DepsT, OutputT

log = logging.getLogger("ullage.agent")

NOTHING = Calibration()

_OF_A_CALL = ("session", "deps", "output_type", "check")
"""The keyword arguments of a call that gives a message."""


GivenTool: TypeAlias = AgentTool | Callable[..., object] | McpServer | str


class Agent(Generic[OutputT, DepsT]):
    """A model, tools and settings, and the sessions that use them.

    Opens nothing before its first session. Any thread may call ``run_sync``, ``stream_sync`` and ``session_sync``; the
    other methods are for one event loop at a time. Settings are a ceiling: a session can only narrow tools, root,
    budgets and the like (docs/security.md).

    Args:
        model: ``PROVIDER:NAME``, such as ``anthropic:claude-haiku-4-5``, or a ``Provider`` of your own
            (docs/providers.md); left out, that of files or the environment.
        tools: Functions, ``AgentTool``s, MCP servers, and names of built-in tools (docs/tools.md). ``"none"`` alone
            means no built-in tool, even if files or the environment name some.
        instructions: What the model is told before all messages: a text, a function that writes one when a turn
            begins from its ``TurnContext``, or a list of both. They are the program's, and nothing else changes them.
            Most agents need these alone.
        system: A text in front of the instructions that is a setting: where the program gives none, the environment,
            ``ullage.toml`` or a session may.
        output_type: The type that answers are read into (docs/agent.md): a dataclass, ``TypedDict``, msgspec or
            pydantic model, list or number. By default answers are text.
        output_retries: How often the model is asked again for an answer that does not fit.
        deps_type: The type of ``deps`` that tools and instructions get; sessions are then opened with one.
        hooks: Objects that see and change what sessions do, in this order (docs/hooks.md).
        input_guardrails: Functions that see the text of a message before it is stored: each lets it pass, changes it
            or refuses it.
        output_guardrails: Functions that see an answer before the caller gets it: each lets it pass, changes it,
            refuses it, or has the model asked again.
        handoffs: Agents that the model may hand the conversation over to; the list may be extended until the first
            session. They need a ``name``.
        name: The agent's name for other agents and in traces: at most 40 letters, digits, ``_`` and ``-``.
        description: What it is for, as other agents are told.
        store: Where its sessions are stored: a path, a URL ``postgresql://…``, ``":memory:"``, a ``Store`` of your
            own, ``None`` for nowhere, and by default the user's own database (docs/store.md); ``stored_in`` and
            ``repr`` tell.
        environment: Variables for keys and settings; by default those of this process. Keys come from here alone.
        config: Whether ``ullage.toml`` of the user and the project are read, or layers that were read already.
        yields: A session's own model, window and other harmless settings win over the agent's, as a server needs it.
        learns: Whether what sessions learn about a model is stored for later ones; by default unless its endpoint is
            a simulator of a cloud provider on this machine.
        settings: Every other keyword is a setting (``ullage.sessions.AgentSettings``, docs/settings.md) and wins over
            all other places. ``None`` leaves one as it is.

    Raises:
        SettingError: Something is not known, not possible or not there: a name, a value, a model, a tool, the root.
        WrongType: An argument is of a type that can't be used.
    """

    _is_copy = False
    """Whether it was made of another agent: overrides count for the agents of the program."""

    _place = ""
    """The place whose sessions it drives, where a host or a parent has one."""
    _is_hosted = False

    _shared: AgentRuntime | None
    _resources: AsyncExitStack | None
    _open: Counter[str]
    _opening: asyncio.Lock
    _servers: tuple[McpServer, ...]
    _made: dict[tuple[object, ...], Mapping[str, AgentTool]]

    def __init__(
        self,
        model: str | Provider = "",
        *,
        tools: Iterable[GivenTool] = (),
        system: str = "",
        hooks: Sequence[Hook] = (),
        input_guardrails: Sequence[Guardrail[str, DepsT]] | None = None,
        # From a default of `()` pyright would infer an unknown type of answers.
        output_guardrails: Sequence[Guardrail[OutputT, DepsT]] | None = None,
        store: StorePlace | Unset | None = UNSET,
        environment: Mapping[str, str] | None = None,
        config: bool | Sequence[Layer] = True,
        yields: bool = False,
        learns: bool | None = None,
        name: str = "",
        description: str = "",
        handoffs: Sequence[Agent[Any]] = (),
        instructions: str
        | InstructionWriter[DepsT]
        | Sequence[str | InstructionWriter[DepsT]] = (),
        deps_type: type[DepsT] | None = None,
        output_type: type[OutputT] | None = None,
        output_retries: int = OUTPUT_RETRIES,
        **settings: Unpack[AgentSettings],
    ) -> None:
        _check_names("Agent", settings, Agent.__init__.__kwdefaults__ or ())
        check_retries(output_retries)
        self._output: OutputType[Any] | None = None
        if output_type is not None and output_type is not str:
            self._output = OutputType(output_type)
        self._output_retries = output_retries
        arguments: dict[str, object] = {
            name: value for name, value in settings.items() if value is not None
        }
        if model:
            arguments["model"] = model
        if system:
            arguments["system"] = system
        self._instructions = read_instructions(instructions)
        self._deps_type = deps_type
        self._take_tools(_listed("tools", tools), arguments)
        check_name(name)
        self.name, self.description = name, description
        self.handoffs: list[Agent[Any]] = list(_listed("handoffs", handoffs))
        team_of(self)
        self._is_member = False
        self._arguments = arguments = with_names(arguments)
        self._may_learn = learns
        self._environment = environment_of(environment)
        self._files: Sequence[Layer] = (
            read_configs(Path.cwd(), self._environment)
            if config is True and not current_test()
            else ()
            if isinstance(config, bool)
            else config
        )
        self._hooks = _hooks_among(hooks)
        self._guardrails = Guardrails(
            _listed("input_guardrails", input_guardrails or ()),
            _listed("output_guardrails", output_guardrails or ()),
        )
        self._yields = yields
        self._data = data_directory(self._environment)
        self._given_store = place_of_agent(store)
        self._has_told_store = False
        self._given_client: Client | None = None
        self._on_call: Callable[[Request], None] | None = None
        self._records: Records | None = None
        """Where the store's machines keep what they learn; ``None``: in ``_data``."""
        self._in_use = LoopInUse("The agent")
        self._forget_opened()
        self._guest: Self | None = None
        self._in_background: Self | None = None
        """See ``_background``."""
        _check_root(self._resolve())
        check_builtin(self.settings.tools)
        if self.settings.model:
            self.settings.destination()

    def _take_tools(
        self, given: Sequence[GivenTool], arguments: dict[str, object]
    ) -> None:
        if named := tuple(one for one in given if isinstance(one, str)):
            arguments["tools"] = () if named == ("none",) else named
        self._own_tools = as_tools(
            one for one in given if not isinstance(one, str | McpServer)
        )
        self._given_servers = tuple(one for one in given if isinstance(one, McpServer))

    def override(
        self,
        *,
        model: str | Provider | None = None,
        store: StorePlace | Unset | None = UNSET,
        tools: Iterable[GivenTool] | None = None,
        hooks: Sequence[Hook] = (),
        all_agents: bool = False,
    ) -> Override[Self]:
        """This agent with something else while a block runs: ``with agent.override(model=ScriptedModel([…])):``.

        Counts for every call and session that is begun inside the block, also through ``run_sync``, in ``with`` and in
        ``async with``. Overrides may be nested; other threads, and tasks that ran before, are not touched.

        Args:
            model: The only model that is called: fallback models and the summary model are replaced too.
            store: Where sessions are stored; ``None``: nowhere.
            tools: All tools in the place of those that the agent was made with.
            hooks: Hooks behind the agent's own.
            all_agents: Every other agent that works inside the block is changed too, such as those it hands over to
                and its sub-agents. Otherwise they use what is theirs; those without a model share this agent's.

        Raises:
            AssertionError: At the end of the block, where a ``ScriptedModel`` has answers left.
        """
        substitutes = Substitutes(
            model=model,
            store=store,
            tools=None if tools is None else _listed("tools", tools),
            hooks=_hooks_among(hooks),
        )
        return Override(self, substitutes, all_agents=all_agents)

    def _current(self) -> Self:
        """The agent itself, or what stands in its place here by an override."""
        return self if self._is_copy else in_force(self)

    def _with(self, substitutes: Substitutes) -> Self:
        given = self._given_store if substitutes.store is UNSET else substitutes.store
        changed = self._copied(checked_place(given), None)
        arguments = substitutes.arguments(self._arguments)
        if substitutes.tools is not None:
            changed._take_tools(substitutes.tools, arguments)
        changed._arguments = with_names(arguments)
        changed._hooks = (*self._hooks, *substitutes.hooks)
        changed._on_call = substitutes.on_call or self._on_call
        changed._resolve()
        return changed

    def _resolve(self) -> Resolved:
        resolved = resolve(self._arguments, {}, self._files, self._environment)
        self.settings = resolved.settings
        return resolved

    def __repr__(self) -> str:
        parts = [repr(self.settings.model)]
        if self.name:
            parts.append(f"name={self.name!r}")
        tools = [*self.settings.tools, *(tool.name for tool in self._own_tools)]
        tools += [f"mcp {server.name}" for server in self._given_servers]
        if tools:
            parts.append(f"tools={tools}")
        parts.append(f"store={self.stored_in!r}")
        return f"Agent({', '.join(parts)})"

    if not TYPE_CHECKING:  # a type checker finds the name itself

        def __class_getitem__(cls, kinds: Any) -> Any:
            """``Agent[Invoice]``, also where annotations are evaluated: the second type has a default."""
            given = kinds if isinstance(kinds, tuple) else (kinds, Any)
            return super().__class_getitem__(given)

        def __getattr__(self, name: str) -> object:
            raise lacks(self, "An Agent", name, METHODS)

    @property
    def stored_in(self) -> str:
        """Where its sessions are stored: a path, a URL without its password, ``memory``, ``nowhere``, or your store."""
        return shown_store(self._store_place)

    @property
    def _store_place(self) -> StorePlace | None:
        given = self._current()._given_store
        return default_place(self._data) if given is UNSET else given

    # -- sessions --

    def session(
        self,
        id: str = "",
        *,
        resume: bool = True,
        deps: DepsT = None,  # type: ignore[assignment]
        **settings: Unpack[SessionSettings],
    ) -> Session[OutputT]:
        """The session with this id, created if it does not exist. Use as ``async with``.

        Resumes an interrupted turn and queued messages.

        Args:
            id: The name of the session in the store; without one, a new session with an id of its own.
            resume: Whether it is driven on its own; with ``False`` nothing runs until a message is sent or ``resume``
                called.
            deps: What tools and instructions get as ``context.deps``. It is not stored, and a session whose tools
                need it is not driven without it (``SettingError`` on entering).
            settings: The session's own settings, stored if it is created here (``ullage.sessions.SessionSettings``).

        Raises:
            SettingError: A keyword is no setting.
        """
        _check_names("agent.session", settings, ("id", "resume", "deps"))
        return Session(
            self._current(),
            id or new_session_id(),
            resume=resume,
            settings=dict(settings),
            deps=deps,
            output=self._output,
            output_retries=self._output_retries,
        )

    @overload
    async def ask(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT | None = ...,
        check: bool = ...,
        within: ToolContext | None = ...,
        output_type: type[AnyT],
    ) -> Result[AnyT]: ...

    @overload
    async def ask(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT | None = ...,
        check: bool = ...,
        within: ToolContext | None = ...,
        output_type: None = ...,
    ) -> Result[OutputT]: ...

    async def ask(
        self,
        *pieces: MessageInput,
        session: str = "",
        deps: DepsT | None = None,
        check: bool = True,
        within: ToolContext | None = None,
        output_type: Any = None,
        **others: object,
    ) -> Result[Any]:
        """Send a message to a session and wait until it rests. A cancel cancels the turn and keeps what was written.

        Args:
            pieces: The message: text, bytes or ``Path``s of images and files, or parts of ``ullage.messages``.
            session: The id of the session that continues; without one, a new session.
            deps: What tools and instructions get as ``context.deps``.
            check: Whether a failed turn raises its error; with ``False`` that is ``result.error``.
            output_type: The type that this answer is read into, by default the agent's.
            within: The context of a tool that asks: the agent is its subagent then, in a session of its own below the
                tool's (``ullage.subagent``). A tool that is ``idempotent`` gets the same answers when it runs again
                after a crash.
            others: None: a keyword of another library is answered with what it is called here.

        Raises:
            ProviderError: The turn failed.
            AnswerInvalid: The answer does not fit ``output_type``.
            InputError: The message can't be sent; nothing was stored.
        """
        refuse_arguments("agent.ask", others, _OF_A_CALL)
        if within is not None:
            found = await answer_within(
                self, pieces, within, deps=deps, output_type=output_type
            )
            return found.or_raise() if check else found
        async with self.session(session, deps=deps) as opened:  # type: ignore[arg-type]  # the session refuses None
            result: Result[Any] = await opened.ask(
                *pieces, check=check, output_type=output_type
            )
            return result

    @overload
    def stream(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT = None,  # type: ignore[assignment]
        output_type: type[AnyT],
    ) -> TextStream[AnyT]: ...

    @overload
    def stream(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT = None,  # type: ignore[assignment]
        output_type: None = ...,
    ) -> TextStream[OutputT]: ...

    def stream(
        self,
        *pieces: MessageInput,
        session: str = "",
        deps: DepsT = None,  # type: ignore[assignment]
        output_type: Any = None,
        **others: object,
    ) -> TextStream[Any]:
        """``ask``, whose answer is read while it is written: ``async for text in agent.stream("…")``.

        ``async for partial in agent.stream("…", output_type=T).partials()`` gives values of the type that grow. The
        session is open while the stream is read. Leaving it early, by ``break`` or by a cancel, cancels the turn.

        Args:
            pieces: As in ``ask``.
            session: As in ``ask``.
            deps: As in ``ask``.
            output_type: As in ``ask``.
            others: As in ``ask``.
        """
        refuse_arguments("agent.stream", others, _OF_A_CALL[:3])
        output = None if output_type is None else OutputType[Any](output_type)
        opening = self.session(session, deps=deps)
        return TextStream(opening, pieces, owns=True, output=output)

    @overload
    def run_sync(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT = None,  # type: ignore[assignment]
        check: bool = ...,
        output_type: type[AnyT],
    ) -> Result[AnyT]: ...

    @overload
    def run_sync(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT = None,  # type: ignore[assignment]
        check: bool = ...,
        output_type: None = ...,
    ) -> Result[OutputT]: ...

    def run_sync(
        self,
        *pieces: MessageInput,
        session: str = "",
        deps: DepsT = None,  # type: ignore[assignment]
        check: bool = True,
        output_type: Any = None,
        **others: object,
    ) -> Result[Any]:
        """``ask`` for a program without an event loop. Any number of threads may call it at the same time.

        All synchronous calls of the process do their work in one event loop in the background, where async tools and
        hooks run too. An event loop of the caller stands still until the answer. Ctrl-C stops the call as a crash
        would, without loss.

        Args:
            pieces: As in ``ask``.
            session: As in ``ask``.
            deps: As in ``ask``.
            check: As in ``ask``.
            output_type: As in ``ask``.
            others: As in ``ask``.

        Raises:
            CommandRefused: It was called inside that background loop, as by an async tool.
            ProviderError: As in ``ask``, with the others.
        """
        refuse_arguments("agent.run_sync", others, _OF_A_CALL)

        agent = self._background()
        return SHARED.run(
            lambda: agent.ask(
                *pieces,
                session=session,
                deps=deps,
                check=check,
                output_type=output_type,
            )
        )

    @overload
    def stream_sync(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT = None,  # type: ignore[assignment]
        output_type: type[AnyT],
    ) -> SyncTextStream[AnyT]: ...

    @overload
    def stream_sync(
        self,
        *pieces: MessageInput,
        session: str = ...,
        deps: DepsT = None,  # type: ignore[assignment]
        output_type: None = ...,
    ) -> SyncTextStream[OutputT]: ...

    def stream_sync(
        self,
        *pieces: MessageInput,
        session: str = "",
        deps: DepsT = None,  # type: ignore[assignment]
        output_type: Any = None,
        **others: object,
    ) -> SyncTextStream[Any]:
        """``stream`` for a program without an event loop: ``for text in agent.stream_sync("…")``; see ``run_sync``.

        Args:
            pieces: As in ``ask``.
            session: As in ``ask``.
            deps: As in ``ask``.
            output_type: As in ``ask``.
            others: As in ``ask``.
        """
        refuse_arguments("agent.stream_sync", others, _OF_A_CALL[:3])
        stream = self._background().stream(
            *pieces, session=session, deps=deps, output_type=output_type
        )
        return SyncTextStream(stream, SHARED.run)

    def session_sync(
        self,
        id: str = "",
        *,
        resume: bool = True,
        deps: DepsT = None,  # type: ignore[assignment]
        **settings: Unpack[SessionSettings],
    ) -> SyncSession[OutputT]:
        """``session`` for a program without an event loop: ``with agent.session_sync("id") as session``.

        Its methods are those of ``Session``, and wait for their answer. Any thread may call them; see ``run_sync``.

        Args:
            id: As in ``session``.
            resume: As in ``session``.
            deps: As in ``session``.
            settings: As in ``session``.
        """
        background = self._background()
        return SyncSession(background.session(id, resume=resume, deps=deps, **settings))

    def _background(self) -> Self:
        """The copy of this agent whose sessions live in the event loop of all synchronous calls."""
        current = self._current()

        async def made() -> Self:
            if current._in_background is None:
                current._in_background = current._copied(
                    current._given_store, current._given_client
                )
            return current._in_background

        return current._in_background or SHARED.run(made)

    @overload
    def as_tool(
        self, *, name: str = ..., description: str = ..., sync: Literal[False] = ...
    ) -> Callable[[str], Coroutine[Any, Any, str]]: ...

    @overload
    def as_tool(
        self, *, name: str = ..., description: str = ..., sync: Literal[True]
    ) -> Callable[[str], str]: ...

    def as_tool(
        self, *, name: str = "", description: str = "", sync: bool = False
    ) -> Callable[[str], Any]:
        """The agent as a function of a ``task``, for agents of other frameworks; among ``tools`` here it is a subagent.

        It has the signature, annotations and docstring of one that is written by hand, and returns the answer: one of
        an ``output_type`` as JSON. Each call is a session of its own. It raises what ``ask`` raises.

        Args:
            name: The function's name; by default the agent's.
            description: What it does, for the model; by default the agent's.
            sync: A function that is not ``async``, for frameworks that call tools in threads.
        """
        return function_of(self, name, description, is_sync=sync)

    def serve_mcp(self, *, name: str = "", description: str = "") -> None:
        """Offers the agent as a tool over MCP, on standard input and output, until the input ends.

        On the command line: ``ullage mcp --agent module:agent``. Each call is a session of its own.

        Args:
            name: The tool's name; by default the agent's.
            description: What it does, for the model; by default the agent's.

        Raises:
            MissingExtra: The MCP SDK is not installed.
            SettingError: There is no name or no description.
        """
        mcp_server_of(self, name, description).run("stdio")

    async def sessions(self, *, limit: int = 100) -> list[SessionRow]:
        """The store's sessions, the last changed first.

        Args:
            limit: The most to give.

        Raises:
            StoreUnavailable: The store can't be read.
        """
        current = self._current()
        shared = await current._enter()
        try:
            return await shared.store.sessions(limit=limit)
        finally:
            await current._leave()

    def sessions_sync(self, *, limit: int = 100) -> list[SessionRow]:
        """``sessions`` for a program without an event loop.

        Args:
            limit: As in ``sessions``.
        """
        agent = self._background()
        return SHARED.run(lambda: agent.sessions(limit=limit))

    def warnings(self) -> tuple[str, ...]:
        """Warnings for a person before the first turn: commands without a sandbox. The first call runs a program."""
        return warnings_of(self._tools(self.settings))

    # -- what sessions share --

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        """Holds open what sessions share. Raises ``StoreUnavailable``, and ``SettingError`` for settings with which no
        session could work."""
        shared = await self._enter()
        try:
            await shared.store.sessions(limit=1)
            self._check_settings(self.settings, {})
            yield
        finally:
            await self._leave()

    async def _enter(self, session: str = "") -> AgentRuntime:
        """The resources that all sessions share, opened with the first one. Each ``_enter`` requires a ``_leave``.

        ``session`` is the one that they are for.
        """
        if self._in_use.enter():
            self._forget_opened()
        try:
            async with self._opening:
                if self._shared is None:
                    self._shared = await self._begin()
                self._shared.place = self._place
                self._shared.is_hosted = self._is_hosted
                self._open[session] += 1
                return self._shared
        except BaseException:
            self._in_use.leave()
            raise

    def _forget_opened(self) -> None:
        """Nothing of it is open in this event loop."""
        self._shared, self._resources, self._open = None, None, Counter()
        self._opening, self._servers, self._made = asyncio.Lock(), (), {}

    def _within(self, store: StorePlace, client: Client, place: str = "") -> Self:
        """A copy of the agent at a place that uses this store and this client and closes neither.

        The same two give the same copy, so that its sessions share resources.
        """
        current = self._current()
        guest = current._guest
        if (
            guest is None
            or guest._given_store is not store
            or guest._given_client is not client
        ):
            guest = current._copied(store, client)
            guest._place = place
            current._guest = guest
        return guest

    def _copied(self, store: StorePlace | Unset | None, client: Client | None) -> Self:
        """A copy for this store and this client. In a tenant's store it has a root of that tenant alone."""
        guest = copy.copy(self)
        guest._is_copy = True
        if isinstance(store, TenantStore):
            root = tenant_root(self.settings, store.tenant)
            guest._arguments = {**self._arguments, "root": str(root)}
            guest._resolve()
        guest._given_store, guest._given_client, guest._guest = store, client, None
        guest._in_use, guest._in_background = LoopInUse("The agent"), None
        guest._forget_opened()
        return guest

    async def _begin_team(self, first: AgentRuntime, stack: AsyncExitStack) -> None:
        """Open the other agents of a session and make them known to the ``first`` one. Raises ``SettingError``."""
        if self._is_member:
            return
        for name, other in team_of(self).items():
            assert isinstance(other, Agent)
            member = other._current()._copied(first.store, first.client)
            member._is_member = True
            opened = await member._enter()
            stack.push_async_callback(member._leave)
            arguments = arguments_within(
                member._arguments, self._arguments, has_model=bool(other.settings.model)
            )
            joined = replace(
                opened,
                arguments=arguments,
                owner=first.owner,
                hooks=first.hooks,
                yields=first.yields,
                grants=first.grants,
                name=name,
            )
            first.team[name] = joined

    async def _leave(self, session: str = "") -> None:
        """Close the shared resources after the last session. One that is stored nowhere is gone when it is closed."""
        try:
            async with self._opening:
                self._open[session] -= 1
                self._open += Counter()  # drops those that are open no more
                if self._given_store is None and session and session not in self._open:
                    await self._forget(session)
                if self._open or self._resources is None:
                    return
                resources, self._resources, self._shared = self._resources, None, None
                await resources.aclose()
        finally:
            self._in_use.leave()

    async def _forget(self, session: str) -> None:
        """Delete a session and those of its tool calls."""
        assert self._shared is not None
        store = self._shared.store
        for row in await store.sessions(limit=MOST_LISTED):
            if f"{row.id}/".startswith(f"{session}/"):
                with contextlib.suppress(SessionBusy, SessionNotFound):
                    await store.delete(row.id)

    async def _begin(self) -> AgentRuntime:
        settings = self.settings
        async with AsyncExitStack() as stack:
            place = self._store_place
            store = store_at(MemoryStore() if place is None else place)
            if not self._has_told_store:
                self._has_told_store = True
                log.info("Sessions are stored in: %s", self.stored_in)
            if store is not place:
                stack.push_async_callback(store.close)
            self._records = store.records()
            grants = ProjectGrants(self._data, records=self._records)
            counts = CountStore(self._data, records=self._records)
            if self._records is not None:
                with contextlib.suppress(UllageError):  # the first call waits
                    await asyncio.to_thread(grants.all)
            client = self._given_client
            if client is None:
                client = await stack.enter_async_context(
                    Client(timeouts=Timeouts.of(settings.timeout), on_call=self._on_call)
                )
            named = servers_of(settings, self._environment, self._sandbox(settings))
            self._servers = (*self._given_servers, *named)
            for server in self._servers:
                server.on_state(self._forget_tools)
                stack.push_async_exit(server)
            await open_all(self._servers)
            self._forget_tools()
            owner = new_owner()
            stored_in = self._records.shown if self._records else self.stored_in
            histories = Histories(
                self._data / "files",
                store="" if isinstance(store, MemoryStore) else stored_in,
                owner=owner,
                sandbox=self._sandbox(settings),
            )
            stack.callback(histories.close)
            shared = AgentRuntime(
                histories=histories,
                name=self.name,
                description=self.description,
                deps_type=self._deps_type,
                writers=self._instructions.writers,
                store=store,
                client=client,
                owner=owner,
                arguments=self._arguments,
                yields=self._yields,
                files=self._files,
                environment=self._environment,
                settings=self.settings,
                tools=self._tools,
                servers=lambda: self._servers,
                system=self._system,
                hooks=self._hooks,
                guardrails=self._guardrails,
                grants=grants,
                counts=CountEndpoints(
                    client, time.time, counts if self._learns(settings) else None
                ),
            )
            await self._begin_team(shared, stack)
            self._resources = stack.pop_all()
        return shared

    async def _create_if_new(self, session: str, settings: Mapping[str, object]) -> str:
        """Create the session in the store if it does not exist. Returns its place.

        Raises ``SettingError`` and ``BadKey`` for settings that could not work, ``CommandRefused`` for an id that
        can't be one, ``QuotaReached``; nothing is stored.
        """
        assert self._shared is not None
        store, place = self._shared.store, self._shared.place
        with contextlib.suppress(SessionNotFound):
            return (await store.about(session)).place
        check_new_id(session)
        resolved = self._shared.commanded(settings)
        events = await self._first_events(resolved, settings)
        self._check_settings(resolved, settings)
        resolved.endpoint(self._environment)
        with contextlib.suppress(CommandRefused):  # another process has just created it
            async with new_session(store, session):
                await store.create(session, events, place=place)
                return place
        return (await store.about(session)).place

    async def _first_events(
        self, resolved: Settings, own: Mapping[str, object]
    ) -> list[Event]:
        """The first events of a session, with what earlier ones have learnt. Raises ``SettingError``."""
        if not self._learns(resolved):
            return first_events(resolved, own)
        learnt, calls = await asyncio.to_thread(self._learnt, resolved)
        return first_events(resolved, own, learnt, calls)

    def _check_settings(self, settings: Settings, own: Mapping[str, object]) -> None:
        """Raises ``SettingError`` for an unknown tool, or an instruction file that can't be read.

        ``own`` are the session's own settings. The agents that it may be handed over to are checked with it.
        """
        assert self._shared is not None
        self._tools(settings)
        self._system(settings)
        for agent in (self._shared, *self._shared.team.values()):
            self._shared.check_tool_names(agent.resolve(own), agent)

    def _learns(self, settings: Settings) -> bool:
        """Whether to store what a session with these settings learns: not from a provider's simulator."""
        if self._may_learn is not None or not settings.model:
            return bool(self._may_learn) and bool(settings.model)
        try:
            endpoint, _ = settings.endpoint(self._environment)
        except BadKey:
            return False
        if endpoint.source is not None:
            return endpoint.source.learns
        return settings.destination().provider.is_own_server or not endpoint.is_local

    def _learnt(self, settings: Settings) -> tuple[Calibration, tuple[FirstCall, ...]]:
        """What earlier sessions have learnt about the model, and the first calls of agents with it whose system prompt
        and tools are known; nothing if it can't be read."""
        provider, model = settings.destination()
        key = f"{provider.name}/{model}"
        learnt = NOTHING
        try:
            known = CalibrationStore(self._data, records=self._records).read().models
            if key in known:
                learnt = Calibration(models={key: known[key]})
        except UllageError as problem:
            log.warning("%s Going on without it.", problem)
        calls = [
            call
            for call in self._first_calls()
            if call.content and f"{call.provider}/{call.model}" == key
        ]
        return learnt, tuple(calls[:FIRST_CALLS_GIVEN])

    def _first_calls(self) -> tuple[FirstCall, ...]:
        """What earlier sessions' first calls held beyond their estimates."""
        try:
            return OverheadStore(self._data, records=self._records).read()
        except UllageError as problem:
            log.warning("%s", problem)
            return ()

    async def _remember(self, meter: Meter) -> None:
        """Store what a session has learnt for later ones. Logs a warning if it can't be written."""
        if not self._learns(self.settings):
            return
        try:
            if meter.calibration.models:
                store = CalibrationStore(self._data, records=self._records)
                await asyncio.to_thread(store.add, meter.calibration)
            if meter.first_call is not None:
                calls = OverheadStore(self._data, records=self._records)
                await asyncio.to_thread(calls.add, meter.first_call)
        except UllageError as problem:
            log.warning("%s", problem)

    def _tools(self, settings: Settings) -> Mapping[str, AgentTool]:
        """The tools of a session with these settings; the same mapping until they change."""
        confined = (settings.sandbox, settings.sandbox_read, settings.sandbox_write)
        key = (settings.tools, settings.root, *confined)
        if key not in self._made:
            narrow = self._narrow(settings)
            sandbox = replace(self._sandbox(settings), is_narrow=narrow is not None)
            made = builtin_tools(
                settings.tools, root=narrow or settings.root, sandbox=sandbox
            )
            own = as_tools([*made, *self._own_tools, *handover_tools(self)])
            served = tools_of(self._servers, [READER, *(tool.name for tool in own)])
            named = {tool.name: tool for tool in (*own, *served)}
            if named:
                reader = read_result(page_room)
                named.setdefault(reader.name, reader)
            self._made[key] = named
        return self._made[key]

    def _narrow(self, settings: Settings) -> NarrowRoot | None:
        """The root of a session that has a narrower one than the operator's."""
        if settings.root is None or settings.root == self.settings.root:
            return None
        return NarrowRoot(self.settings.root or Path.cwd(), settings.root)

    def _sandbox(self, settings: Settings) -> Sandbox:
        place = getattr(
            self._given_store, "path", self._given_store
        )  # a store that is a file says where it lies
        store = None
        if isinstance(place, str | Path) and not is_database_url(place):
            store = Path(place)
        return sandbox_of(settings, self._environment, store)

    def _forget_tools(self) -> None:
        """Called when a server offers other tools or fails: the next decision makes the tools again."""
        self._made.clear()

    def _system(self, settings: Settings) -> tuple[SystemBlock, ...]:
        blocks = (
            [SystemBlock(text=clean_text(settings.system).text)]
            if settings.system
            else []
        )
        blocks += self._instructions.fixed
        root = self._narrow(settings) or settings.root or Path.cwd()
        for name in settings.instruction_files:
            if text := instruction_file(root, name):
                blocks.append(SystemBlock(text=text, kind="instructions", name=name))
        return tuple(blocks)


@cache
def program_name() -> str:
    """This program and its version; looking it up takes milliseconds."""
    return f"ullage {version('ullage')}"


def first_events(
    settings: Settings,
    own: Mapping[str, object],
    learnt: Calibration = NOTHING,
    overhead: tuple[FirstCall, ...] = (),
) -> list[Event]:
    """The first events of a session. Raises ``SettingError`` for a model without a provider."""
    if not settings.model:
        raise SettingError(
            "No model is set: name one, as in model='anthropic:claude-haiku-4-5' (on the command line --model)."
        )
    provider, model = settings.destination()
    started = SessionStarted(
        model=model,
        wire=provider.wire,
        provider=provider.name,
        cwd=str(settings.root or Path.cwd()),
        program=program_name(),
    )
    events: list[Event] = [started]
    if learnt.models:
        state = msgspec.Raw(learnt.as_json())
        events.append(
            Calibrated(
                model=model,
                call="",
                estimated=0,
                actual=0,
                error=0,
                ratio=1.0,
                state=state,
            )
        )
    if overhead:
        events.append(OverheadLearnt(calls=overhead))
    if own:
        events.append(SettingsChanged(settings=dict(own)))
    return events


def servers_of(
    settings: Settings, environment: Mapping[str, str], sandbox: Sandbox
) -> list[McpServer]:
    """The MCP servers that the settings name. Raises ``SettingError`` for a variable that is not set."""
    servers: list[McpServer] = []
    for name, server in settings.mcp.items():
        if not server.enabled:
            continue
        filled = server.with_environment(environment)
        cwd = (settings.root or Path.cwd()) / filled.cwd if filled.command else None
        servers.append(
            McpServer(
                name,
                command=filled.command,
                args=filled.args,
                env=filled.env,
                cwd=cwd,
                url=filled.url,
                headers=filled.headers,
                timeout_s=settings.timeout,
                sandbox=confined_server(filled, sandbox),
            )
        )
    return servers


def _check_root(resolved: Resolved) -> None:
    root = resolved.settings.root
    if root is not None and not root.is_dir():
        source = resolved.source_of("root")
        raise SettingError(
            f"root ({source}): {root} is no directory. Make it, or name another one."
        )


def tenant_root(settings: Settings, tenant: str) -> Path:
    """The directory of a tenant's files: the one of its name in the agent's root, made where tools may need it.

    Raises ``SettingError``.
    """
    root = (settings.root or Path.cwd()) / tenant
    if not (settings.tools or settings.mcp):
        return root
    try:
        root.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise SettingError(
            f"root: the directory {root} of the tenant {tenant} can't be made ({problem.strerror}). Make it, or name "
            "another root."
        ) from problem
    return root


def instruction_file(root: Path | NarrowRoot, name: str) -> str:
    """The text of an instruction file below ``root``; empty if it does not exist.

    A link may only lead to another visible file below the root. Raises ``SettingError``.
    """
    try:
        with walk_to(root, name) as place:
            if is_hidden(place.shown) and Path(place.shown) != Path(name):
                raise SettingError(
                    f"The instruction file {name} is a link to the hidden file {place.shown}. Name another file."
                )
            with os.fdopen(place.open_file(), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(LONGEST_INSTRUCTIONS + 1)
    except ToolError as problem:
        if isinstance(problem.__cause__, (FileNotFoundError, NotADirectoryError)):
            return ""
        raise SettingError(
            f"The instruction file {name} can't be read: {problem} Name another one in `instruction_files`."
        ) from problem
    if len(data) > LONGEST_INSTRUCTIONS:
        raise SettingError(
            f"The instruction file {name} has {size:,} bytes, which would fill the window of many "
            f"models; the most is {LONGEST_INSTRUCTIONS:,}. Name a shorter one in `instruction_files`."
        )
    return clean_text(data).text


def _check_names(call: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``SettingError`` for the first of the keyword arguments that is no setting."""
    for key in given:
        if key not in KEYS:
            raise SettingError(f"{call}: {unknown_setting(key, known)}")


def _hooks_among(given: Sequence[Hook]) -> tuple[Hook, ...]:
    hooks = _listed("hooks", given)
    for hook in hooks:
        check_hook(hook)
    return hooks


def _listed(name: str, given: Iterable[AnyT]) -> tuple[AnyT, ...]:
    """What an argument lists. Raises ``WrongType`` for a single one, or what is no list."""
    if isinstance(given, Iterable) and not isinstance(given, str | Mapping):
        return tuple(given)
    raise WrongType(
        f"`{name}` takes a list, and not {type(given).__name__}: write {name}=[…], with one of them too."
    )
