"""``useChat`` of the Vercel AI SDK and AG-UI over HTTP. A page that leaves changes nothing: the turn continues."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from litestar import Response, get, post
from litestar.datastructures import State as AppState
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.response import Stream

from ullage.errors import CommandRefused, SessionNotFound, UllageError
from ullage.events import DraftPiece, Event, MessageAdded, SessionEvent
from ullage.messages import Message
from ullage.store.store import SessionStore
from ullage_agent.runtime.hosting import TenantHost
from ullage_agent.runtime.outcome import INTERRUPTED_NOTE
from ullage_agent.runtime.session import Session, is_at_rest
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_server.conversation import LARGEST_MESSAGE, refuse_taken
from ullage_server.event_stream import (
    EVENT_STREAM,
    HEADERS,
    FrameBuffer,
    StreamPosition,
    read_into,
    slot_for,
    streamed,
)
from ullage_server.guard import unescaped
from ullage_server.problems import AnyRequest, told
from ullage_server.requests import TheHost, usable_id
from ullage_server.scopes import bearer_of, check_bearer
from ullage_server.ui.ag_ui import AgUiRun
from ullage_server.ui.ai_sdk import UI_HEADERS, UiStream, ui_messages
from ullage_server.ui.bodies import (
    PageTurn,
    RunRequest,
    UiRequest,
    asked_by_run,
    asked_by_ui,
)
from ullage_server.ui.steps import Rested, TurnSteps, is_said, transcript

READ_AT_ONCE: Final = 500
"""Events that are read at a time on the way back through a ledger."""

MOST_MESSAGES: Final = 1_000
"""Messages of a history or a snapshot. A page that shows more asks for its session's events."""

AGAIN: Final = "~"
"""Stands in the id of a message that is sent again behind the page's id for it."""


PageWriter = UiStream | AgUiRun
"""Writes the steps of a turn in the words of a page's protocol."""


@post(
    "/v1/ai-sdk",
    status_code=200,
    summary="A turn of `useChat` (Vercel AI SDK): a message, or answers to calls; streams the answer",
    media_type=EVENT_STREAM,
    request_max_body_size=LARGEST_MESSAGE,
)
async def chat_with_ai_sdk(
    request: AnyRequest,
    host: TheHost,
    state: AppState,
    data: JSONBody[UiRequest],
) -> Stream:
    """The session begins with its first message. The same message again sends nothing and streams its answer. Answers
    to calls need the scope ``approve``."""
    return await _answered(request, host, state, asked_by_ui(data), UiStream, UI_HEADERS)


@get(
    "/v1/ai-sdk/{session:str}/stream",
    summary="The answer that streams now, from its beginning (`resume` of `useChat`)",
    media_type=EVENT_STREAM,
    responses={204: ResponseSpec(None, description="No answer streams.")},
)
async def resume_ai_sdk(
    request: AnyRequest,
    host: TheHost,
    state: AppState,
    session: FromPath[str],
) -> Stream | Response[None]:
    """204 if the session rests, waits for a person, or has not begun."""
    name = unescaped(session)
    with suppress(SessionNotFound):
        if await _is_running(host.store, await host.look(host.id_of(name))):
            turn = PageTurn(name)
            return await _answered(request, host, state, turn, UiStream, UI_HEADERS)
    return Response(None, status_code=204)


@get(
    "/v1/ai-sdk/{session:str}/messages",
    summary="What was said, as `messages` of `useChat` to begin with",
)
async def list_ui_messages(
    host: TheHost,
    session: FromPath[str],
    limit: Annotated[int, QueryParameter(ge=1, le=MOST_MESSAGES)] = 200,
) -> list[dict[str, Any]]:
    """The newest ``limit`` of the ledger's messages, without an answer that streams now: that of ``…/stream``. Also
    what compactions have taken out of the model's window. Empty before the session's first message."""
    try:
        opened = await host.look(host.id_of(unescaped(session)))
    except SessionNotFound:
        return []
    messages = await _history(host.store, opened, limit)
    files = f"/v1/sessions/{opened.id}/kept/"
    shown = ui_messages(messages, await opened.questions(), files)
    if shown and shown[-1]["role"] == "assistant":
        shown[-1]["parts"] += _reading(await opened._look(), UiStream(""))
    return shown


@post(
    "/v1/ag-ui",
    status_code=200,
    summary="A run of AG-UI: a message, answers to interrupts, or neither; streams events",
    media_type=EVENT_STREAM,
    request_max_body_size=LARGEST_MESSAGE,
)
async def run_ag_ui(
    request: AnyRequest,
    host: TheHost,
    state: AppState,
    data: JSONBody[RunRequest],
) -> Stream | Response[bytes]:
    """The session begins with its first message. Without a user's message at the end and without ``resume``, the run
    is a snapshot of the messages and what streams now. Answers to calls need the scope ``approve``."""
    run = AgUiRun(data.thread_id, data.run_id)
    try:
        return await _answered(request, host, state, asked_by_run(data), lambda _: run)
    except SessionNotFound:
        events = [*run.begin(()), *run.rest(Rested("finished"), (), ())]
    except CommandRefused as problem:  # as the specification asks for
        events = [*run.fail(str(problem), "refused")]
    return Response(_frames(events), media_type=EVENT_STREAM)


async def _answered(
    request: AnyRequest,
    host: TenantHost,
    state: AppState,
    turn: PageTurn,
    writer_for: Callable[[str], PageWriter],
    headers: Mapping[str, str] = HEADERS,
) -> Stream:
    """Does what a page asks for, and streams what follows. Nothing is sent without a free slot."""
    give_back = slot_for(request, state.streams)
    try:
        opened = await _opened(host, turn.session, begins=bool(turn.message))
        seq, message = await _taken(request, host.store, opened, turn)
        writer = writer_for(message)
        if writer.wants_messages and not (turn.message or turn.answers):
            head = [*writer.begin(await _history(host.store, opened))]
            head += _reading(await opened._look(), writer)
        else:
            head = [*writer.begin([])]
    except BaseException:
        give_back()
        raise
    steps, position = TurnSteps(message), StreamPosition(seq)
    write = partial(_write, host, opened, position, steps, writer)
    return streamed(request, state, write, _frames(head), give_back, headers)


async def _opened(host: TenantHost, given: str, *, begins: bool) -> Session:
    """The session with a page's id for it, which may be begun. Raises ``SessionNotFound`` if it may not."""
    name = usable_id(given)
    try:
        return await host.look(host.id_of(name))
    except SessionNotFound:
        if not begins:
            raise
    try:
        return await host.begin(name, {})
    except CommandRefused:  # another request has just begun it
        return await host.look(host.id_of(name))


async def _taken(
    request: AnyRequest, store: SessionStore, opened: Session, turn: PageTurn
) -> tuple[int, str]:
    """Answers calls and sends the message: the event after which its answer is found, and its id in the ledger.

    Raises ``CommandRefused`` for a message while calls need approval, ``ScopeMissing``, and what sending raises.
    """
    seq = (await store.about(opened.id)).seq
    waiting = {each.call_id: each.name for each in await opened.questions()}
    answered = {answer.call_id for answer in turn.answers}
    if answered:
        check_bearer(bearer_of(request), "approve", is_operators=False)
        if not waiting.keys() & answered:
            raise CommandRefused(
                "None of these calls needs approval any more: read the messages again."
            )
    if waiting.keys() - answered and (turn.message or answered):
        raise CommandRefused(
            f"Allow or deny {', '.join(waiting.values())} first. Nothing was stored."
        )
    for answer in turn.answers:
        await opened.approve(
            answer.call_id, answer.approved, answer.note, digest=answer.digest
        )
    message = turn.message
    if message:
        await refuse_taken(opened, message)
        if turn.is_again:
            await opened._sendable(*turn.pieces, id=message)  # or else nothing changes
            message = await _rewound(opened, message, seq)
        receipt = await opened.send(*turn.pieces, id=message)
        if not receipt.is_new:
            seq, message = await _said(store, opened.id, seq, message)
    elif not turn.answers and await _is_running(store, opened):
        seq, message = await _said(store, opened.id, seq)
    return seq, message


async def _rewound(opened: Session, message: str, seq: int) -> str:
    """Goes back to before a message: the id that it is sent with again. The same id if it is not in view."""
    name = message.partition(AGAIN)[0]
    before = ""
    for each in await opened.messages():
        if each.role == "user" and each.id.partition(AGAIN)[0] == name:
            await opened.rewind(before)
            return f"{name}{AGAIN}{seq}"
        before = each.id
    return message


def _reading(runtime: SessionRuntime, writer: PageWriter) -> list[Any]:
    """The session's last reading in a protocol's words, if it has one."""
    taken = runtime.memory.taken
    return [] if taken is None else [*writer.step(taken)]


async def _is_running(store: SessionStore, opened: Session) -> bool:
    loop = (await opened._look()).ledger.loop
    return not is_at_rest(loop) and not await _is_interrupted(store, opened)


async def _is_interrupted(store: SessionStore, opened: Session) -> bool:
    row = await store.about(opened.id)
    return row.standing_now(time.time()).kind == "interrupted"


async def _recent(
    store: SessionStore, session: str, limit: int = MOST_MESSAGES
) -> list[Event]:
    """The end of a ledger, with so many messages if it has them."""
    found: list[Event] = []
    end = (await store.about(session)).seq
    while end and sum(isinstance(event, MessageAdded) for event in found) < limit:
        begin = max(0, end - READ_AT_ONCE)
        found = await store.read(session, after=begin, limit=end - begin) + found
        end = begin
    return found


async def _said(
    store: SessionStore, session: str, seq: int, message: str = ""
) -> tuple[int, str]:
    """The event before a person's message, by default before the last one, and the message's id."""
    for event in reversed(await _recent(store, session)):
        if not isinstance(event, MessageAdded) or not is_said(event.message):
            continue
        if message in ("", event.message.id):
            return event.seq - 1, event.message.id
    return seq, message  # not delivered yet


async def _history(
    store: SessionStore, opened: Session, limit: int = MOST_MESSAGES
) -> list[Message]:
    """The newest messages, without an answer that streams now."""
    messages = transcript(await _recent(store, opened.id, limit))[-limit:]
    while messages and not is_said(messages[-1]) and await _is_running(store, opened):
        messages.pop()
    return messages


async def _write(
    host: TenantHost,
    opened: Session,
    position: StreamPosition,
    steps: TurnSteps,
    writer: PageWriter,
    held: FrameBuffer,
) -> None:
    """Puts the frames of a turn into the buffer, until it ends or waits."""

    def follow(after: StreamPosition) -> AsyncIterator[SessionEvent]:
        offset = after.pieces - 1
        return opened.events(after=after.seq, offset=offset, until_rest=True)

    def put(_: StreamPosition, item: SessionEvent) -> bool:
        is_event = not isinstance(item, DraftPiece)
        for step in steps.read(item):
            held.put(_frames(writer.step(step)), is_event=is_event)
        return steps.rested is not None

    try:
        await read_into(held, follow, position, put)
        rested = steps.rested or await _rested(host.store, opened)
        waiting = await opened.questions() if rested.reason == "approval" else []
        wants = waiting and writer.wants_messages
        messages = await _history(host.store, opened) if wants else []
        last = writer.rest(rested, waiting, messages)
    except UllageError as problem:
        last = writer.fail(told(problem, host.tenant))
    held.put(_frames(last) + writer.done)


async def _rested(store: SessionStore, opened: Session) -> Rested:
    """How a session rests of which no event told it."""
    if await _is_interrupted(store, opened):
        return Rested("interrupted", INTERRUPTED_NOTE)
    loop = (await opened._look()).ledger.loop
    return Rested(loop.paused or loop.ended or "finished", loop.note)


def _frames(objects: Iterable[object]) -> bytes:
    return b"".join(b"data: %b\n\n" % msgspec.json.encode(each) for each in objects)
