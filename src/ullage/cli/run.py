"""``ullage run``: one request to an agent with tools, shown as it works.

The last answer goes to standard output alone when that is a pipe; everything else to standard error. Ctrl-C cancels the
turn and keeps what was done; a second one leaves at once, and the session goes on where it was when it is opened again.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from ullage.cli.ask import question_of
from ullage.cli.live import Live, described
from ullage.cli.screen import Screen
from ullage.cli.text import number, printable
from ullage.errors import SettingError
from ullage.events import ApprovalAsked, Event
from ullage.messages import ToolCallPart
from ullage.runtime.agent import Agent
from ullage.runtime.session import Result, Session
from ullage.store.store import DraftPiece

INSTRUCTIONS: Final = ("AGENTS.md",)
"""Read from the root where nobody names other files (https://agents.md)."""

_EXITS: Final = {"finished": 0, "cancelled": 130}


def run(args: argparse.Namespace) -> int:
    """Carry the request out. 0 when the turn finished, 130 when it was cancelled, else 2. Raises ``UllageError``."""
    agent = agent_of(args)
    if not agent.settings.model:
        raise SettingError(
            "No model is set: give --model, as in --model anthropic:claude-haiku-4-5, or put `model` into ullage.toml. "
            "`ullage demo` needs none."
        )
    return asyncio.run(_run(agent, args))


def agent_of(args: argparse.Namespace) -> Agent:
    """The agent that the command line asks for, on top of files and environment."""
    tools = tuple(args.tools.split(",")) if args.tools else ()
    said: dict[str, Any] = {
        "base_url": args.base_url or None,
        "wire": args.wire or None,
        "window": args.window,
        "max_output": args.max_output,
        "max_steps": args.max_steps,
        "root": args.root,
        "tools": tools,
    }
    agent = Agent(args.model or "", system=args.system, **said)
    if not agent.settings.instructions:
        agent = Agent(args.model or "", system=args.system, instructions=INSTRUCTIONS, **said)
    return agent


async def _run(agent: Agent, args: argparse.Namespace) -> int:
    out = Screen(sys.stderr)
    live = Live(out, shows_user=False)
    async with agent.session(args.session, resume=True) as session:
        with suppress(NotImplementedError):  # an event loop without signals
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _canceller(session))
        before = (await session.look()).ledger.loop.seq
        await session.send(question_of(args.request))
        await follow(session, live, after=before, approve=None if args.yes else ask_person)
        result = await session.wait()
        live.end()
        print_result(result, session.id, args, out)
    return _EXITS.get(result.reason, 2)


def _canceller(session: Session) -> Callable[[], None]:
    tasks: list[asyncio.Task[object]] = []

    def cancel() -> None:
        if tasks:
            raise KeyboardInterrupt
        tasks.append(asyncio.ensure_future(session.cancel()))

    return cancel


Approve = Callable[[str], bool]
"""Asks a person about a call, described in words."""


async def follow(session: Session, live: Live, *, after: int, approve: Approve | None) -> None:
    """Show what happens until the session rests. ``approve`` asks a person; ``None`` allows everything."""
    calls: dict[str, str] = {}
    while True:
        async with aclosing(session.events(after=after, until_rest=True)) as events:  # type: ignore[type-var]
            asked: list[str] = []
            async for event in events:
                live.show(event, session.reading)
                if not isinstance(event, DraftPiece):
                    after = event.seq
                    _note_calls(event, calls)
                    if isinstance(event, ApprovalAsked):
                        asked.append(event.call_id)
        if not asked:
            return
        for call_id in asked:
            live.end()
            allowed = approve is None or await asyncio.to_thread(approve, calls.get(call_id, call_id))
            await session.approve(call_id, allowed)


def _note_calls(event: Event, calls: dict[str, str]) -> None:
    message = getattr(event, "message", None)
    if message is not None:
        calls.update({part.call_id: described(part) for part in message.of_type(ToolCallPart)})


def ask_person(what: str) -> bool:
    """Ask on the terminal; where there is none, the answer is no."""
    if not sys.stdin.isatty():
        print(f"Not allowed, since nobody can be asked: {what}. --yes allows everything.", file=sys.stderr)
        return False
    print(f"Allow {what}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def print_result(result: Result, session: str, args: argparse.Namespace, out: Screen) -> None:
    """The answer for a pipe or as JSON, and how to go on."""
    if args.json:
        whole = {
            "session": session,
            "text": result.text,
            "reason": result.reason,
            "note": result.note,
            "reading": msgspec.Raw(result.reading.to_json()),
        }
        sys.stdout.write(msgspec.json.encode(whole).decode() + "\n")
    elif not sys.stdout.isatty():
        sys.stdout.write(result.text + "\n")
    spend = result.reading.spend
    said = [f"{number(spend.all.calls)} calls", f"{number(spend.all.input)} in", f"{number(spend.all.output)} out"]
    if spend.money.priced:
        said.append(f"${spend.money.usd:.4f}")
    print(f"Spend   {' · '.join(said)}", file=out.stream)
    if result.is_paused:
        print(f"Paused  {printable(result.note)}", file=out.stream)
    print(f"Session {session} (go on with --session {session})", file=out.stream)


def root_of(text: str) -> Path:
    """A directory given on the command line."""
    return Path(text).expanduser()
