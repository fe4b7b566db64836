"""The conversation line by line: each line of standard input is a request, carried out as ``ullage run`` would.

For pipes and for terminals that can't move their cursor. When standard output is a pipe, the answer goes there and
everything else to standard error.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress

from ullage.cli.exit_codes import DONE, FAILED, OF_TURNS
from ullage.cli.live import Live
from ullage.cli.screen import Screen
from ullage.cli.screenplay import Screenplay
from ullage.errors import UllageError
from ullage.store.store import SessionStore
from ullage_agent.chat.commands import LEAVE, Acting, Typed, command_of, parse
from ullage_agent.cli.agent_options import warn_of_left_out
from ullage_agent.cli.asking import ask_person
from ullage_agent.cli.run import canceller, follow
from ullage_agent.runtime.session import Session


async def converse(
    session: Session,
    store: SessionStore,
    environment: Mapping[str, str],
    *,
    resume: str,
    yes: bool = False,
) -> int:
    """Talk until the input ends or ``/quit``. Gives the highest code of a line: 130 for a turn that was cancelled.

    ``resume`` is the command that continues the session.
    """
    screen = Screen(sys.stdout if sys.stdout.isatty() else sys.stderr)
    acting = Acting(store, session, environment)
    with suppress(RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, canceller(session))
    await warn_of_left_out(session)
    code = DONE
    while (line := await _next_line()) is not None:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        typed = parse(text)
        try:
            if typed is None:
                reason = await _turn(session, text, screen, yes=yes)
                code = max(code, OF_TURNS.get(reason, FAILED))
            elif await _command(acting, typed, screen) == LEAVE:
                break
            elif command_of(typed.name) is None:
                code = max(code, FAILED)
        except UllageError as problem:
            print(f"ullage: {problem}", file=sys.stderr)
            code = max(code, FAILED)
    print(f"Session {session.id} (continue with `{resume}`)", file=sys.stderr)
    return code


async def _next_line() -> str | None:
    """The next line of standard input; ``None`` at its end. The loop goes on meanwhile."""
    if sys.stdin.isatty():
        print("> ", end="", flush=True)
    line = await asyncio.to_thread(sys.stdin.readline)
    return line or None


async def _turn(session: Session, text: str, screen: Screen, *, yes: bool) -> str:
    """Say this and show what happens until the session rests; gives how the turn ended."""
    live = Live(screen, shows_user=False, shows_hints=True, allows_all=yes)
    before = (await session._look()).ledger.loop.seq
    await session.send(text)
    await follow(session, live, after=before, ask=None if yes else ask_person)
    result = await session.wait(check=False)
    live.end()
    if not sys.stdout.isatty():
        sys.stdout.write(result.text + "\n")
        sys.stdout.flush()
    return result.reason


async def _command(acting: Acting, typed: Typed, screen: Screen) -> str:
    """Carry out a command; its lines go where everything but answers goes. Gives the session it opens, or ``LEAVE``."""
    transcript = Screenplay()
    seen = (await acting.session._look()).ledger.loop.seq
    transcript.apply_all(await acting.session.history())
    outcome = await acting.run(typed, transcript, screen.width, screen.glyphs)
    screen.show(outcome.lines)
    if outcome.opens and outcome.opens != LEAVE:
        print(
            f"That is another session: ullage chat --session {outcome.opens}",
            file=sys.stderr,
        )
    elif not outcome.lines and not outcome.opens:
        await acting.session.wait(check=False)
        live = Live(screen, shows_hints=True)
        for event in await acting.session.history(after=seen):
            live.show(event, acting.session._reading)
        live.end()
    return outcome.opens
