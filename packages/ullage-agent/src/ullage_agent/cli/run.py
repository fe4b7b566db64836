"""``ullage run``: one request to an agent with tools, shown as it works.

The last answer goes to standard output alone when that is a pipe; everything else to standard error. Ctrl-C cancels the
turn and keeps what was done; a second one leaves at once, and the session goes on where it was when it is opened again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Final

import msgspec

from ullage.cli.exit_codes import FAILED, OF_TURNS
from ullage.cli.live import Live
from ullage.cli.screen import Screen
from ullage.display.gauge_line import amount
from ullage.display.text import counted, dollars, json_text, number, percent, safe
from ullage.encoding import encode
from ullage.errors import BadKey, InputError, SettingError
from ullage.events import DraftPiece, Event
from ullage.log_lines import logged
from ullage.messages import clean_text
from ullage.meter.reading import Reading
from ullage.tasks import start, stop
from ullage_agent.cli.agent_options import (
    agent_with_instructions,
    endpoint_settings,
    own_defaults,
    sandbox_settings,
    session_meant,
    session_settings,
    tools_settings,
    warn_of,
    warn_of_left_out,
)
from ullage_agent.cli.asking import Approver, Reply, ask_person, give, granted_line
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.approvals import Question
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.outcome import Result
from ullage_agent.runtime.session import Session

DEMO: Final = "`ullage demo` needs none."


def run(args: argparse.Namespace) -> int:
    """Carry the request out. 0 when the turn finished, 130 when it was cancelled, else 2. Raises ``UllageError``."""
    request = request_of(args.request)
    with logged(args.log, os.environ):
        return asyncio.run(_run(agent_of(args), request, args))


def agent_of(args: argparse.Namespace) -> Agent:
    """The agent that the command line asks for, on top of files and environment."""
    return agent_with_instructions(
        args.model,
        system=args.system,
        config=(*read_configs(Path.cwd(), os.environ), own_defaults()),
        max_steps=args.max_steps,
        root=args.root,
        **tools_settings(args),
        **sandbox_settings(args),
        **endpoint_settings(args),
    )


async def _run(agent: Agent, request: str, args: argparse.Namespace) -> int:
    own = session_settings(args)
    name, is_known = await session_meant(agent, args.session)
    if not is_known:
        _check(agent)
    warn_of(agent, yes=args.yes)
    is_piped = args.json or args.events or not sys.stdout.isatty()
    screen = Screen(sys.stderr if is_piped else sys.stdout)
    live = Live(
        screen,
        shows_user=False,
        shows_text=not is_piped,
        shows_reasoning=screen.is_terminal,
        allows_all=args.yes,
    )
    async with agent.session(name, resume=True, **own) as session:
        if is_known and own:
            await session._set(own)
        with suppress(
            RuntimeError, ValueError
        ):  # an event loop without signals, or not in the main thread
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGINT, canceller(session)
            )
        before = (await session._look()).ledger.loop.seq
        await warn_of_left_out(session)
        await session.send(request)
        try:
            heard = print_event if args.events else None
            await follow(
                session,
                live,
                after=before,
                ask=None if args.yes else ask_person,
                heard=heard,
            )
            result = await session.wait(check=False)
        finally:
            live.end()
        print_result(result, session.id, args)
    return OF_TURNS.get(result.reason, FAILED)


def _check(agent: Agent) -> None:
    """Say what is missing before anything is stored: a session that is there has its own model."""
    settings = agent.settings
    if not settings.model:
        raise SettingError(
            "No model is set: give --model, as in --model anthropic:claude-haiku-4-5, or put `model` into ullage.toml. "
            f"Its key comes from the environment. {DEMO}"
        )
    try:
        settings.endpoint(os.environ)
    except BadKey as problem:
        raise BadKey(f"{problem} {DEMO}") from problem


def canceller(session: Session) -> Callable[[], None]:
    """What Ctrl-C does: cancel the turn; while that is under way, or at rest, leave at once."""
    tasks: list[asyncio.Task[object]] = []

    def cancel() -> None:
        if session._is_idle or any(not task.done() for task in tasks):
            raise KeyboardInterrupt
        tasks.append(start(session.cancel()))

    return cancel


async def follow(
    session: Session,
    live: Live,
    *,
    after: int,
    ask: Approver | None,
    heard: Callable[[Event | DraftPiece], None] | None = None,
) -> None:
    """Show what happens until the session rests. ``ask`` asks a person; ``None`` allows everything.

    What a person was asked before ``after`` is asked again. ``heard`` gets each event as well.
    """
    while True:
        async with aclosing(session.events(after=after, until_rest=True)) as events:
            async for event in events:
                if heard is not None:
                    heard(event)
                live.show(event, session._reading)
                if not isinstance(event, DraftPiece):
                    after = event.seq
        asked = await session.questions()
        if not asked:
            return
        live.end()
        await _answer(session, asked[0], ask)


async def _answer(session: Session, question: Question, ask: Approver | None) -> None:
    """Ask about one call and pass the answer on; a cancel meanwhile is answer enough."""
    if ask is None:
        await give(session, question, Reply(True))
        return
    asking = start(ask(question))
    moving = start(_moved(session, question.call_id))
    try:
        await asyncio.wait([asking, moving], return_when=asyncio.FIRST_COMPLETED)
        if not moving.done():
            reply = asking.result()
            await give(session, question, reply)
            if line := granted_line(question, reply):
                print(f"  {line}", file=sys.stderr)
    finally:
        await stop(asking, moving)


async def _moved(session: Session, call_id: str) -> None:
    """Until this call needs no answer any more."""
    loop = (await session._look()).ledger.loop
    async with aclosing(session.events(after=max(0, loop.seq - 1))) as events:
        async for _ in events:
            loop = (await session._look()).ledger.loop
            if not any(
                call.call_id == call_id and call.state == "asked" for call in loop.open
            ):
                return


def print_event(event: Event | DraftPiece) -> None:
    """One event as a JSON line: a ledger row as it is stored, or a piece of an answer as ``draft``."""
    if isinstance(event, DraftPiece):
        line = msgspec.json.encode({"type": "draft", **event._asdict()})
    else:
        line = encode(event)
    sys.stdout.write(json_text(line) + "\n")
    sys.stdout.flush()


def print_result(result: Result, session: str, args: argparse.Namespace) -> None:
    """The answer for a pipe or as JSON, what it cost, and how to go on."""
    if args.json or args.events:
        sys.stdout.write(json_text(result.to_json()) + "\n")
    elif not sys.stdout.isatty() and result.text:
        sys.stdout.write(safe(result.text) + "\n")
    sys.stdout.flush()
    spend = result.reading.spend
    bound = "at least " if spend.all.unsaid.get("input") else ""
    said = [
        counted(spend.all.calls, "call"),
        f"{bound}{number(spend.all.input)} in",
        f"{number(spend.all.output)} out",
    ]
    if spend.money.priced:
        said.append(dollars(spend.money.usd))
    print(f"Spend    {' · '.join(said)}", file=sys.stderr)
    print(window_line(result.reading), file=sys.stderr)
    again = ["--session", session]
    if args.base_url:  # an address is the one of the model that is named beside it
        again += ["--model", args.model] if args.model else []
        again += ["--base-url", args.base_url]
    print(f"Session  {session} (continue with {shlex.join(again)})", file=sys.stderr)


def window_line(reading: Reading) -> str:
    """The reading in one line: ``Window   52 ± 3 of 200,000 tokens (<1 %) · 183,948 free``."""
    held = amount(reading.used)
    if reading.window.tokens is None:
        return f"Window   {held} tokens of an unknown window: say it with --window."
    window = reading.window.tokens
    held = f"{held} of {number(window)} tokens ({percent(reading.used.tokens, window)})"
    if reading.free is None:
        return f"Window   {held}"
    kept = (
        f" after {number(reading.reserve)} kept for the answer" if reading.reserve else ""
    )
    if reading.free < 0:
        return f"Window   {held} · over by {number(-reading.free)}{kept}"
    return f"Window   {held} · {number(reading.free)} free{kept}"


def request_of(text: str) -> str:
    """The request, or what comes on standard input for ``-``."""
    if text == "-":
        text = clean_text(sys.stdin.buffer.read()).text
    if not text.strip():
        raise InputError(
            'There is nothing to do: give a request, as in `ullage run "What is a cask?" --model …`.'
        )
    return clean_text(text).text
