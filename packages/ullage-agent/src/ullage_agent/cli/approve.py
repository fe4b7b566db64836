"""``ullage admin approve``: what needs a person in a store, and answers to its calls."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec

from ullage.cli.screen import Screen
from ullage.cli.sessions import when
from ullage.cli.stores import place_of, place_option
from ullage.directories import data_directory
from ullage.display.text import printable
from ullage.encoding import shown_as
from ullage.errors import CommandRefused
from ullage.events import ApprovalGiven
from ullage.store.approvals import arguments_of
from ullage.store.places import store_at
from ullage.store.sqlite.store import FILE
from ullage.store.store import MOST_LISTED, SessionRow, SessionStore
from ullage.store.urls import shown_place
from ullage.turns.standing import (
    NEEDS_A_PERSON,
    AskedApproval,
    ShownStanding,
)
from ullage_agent.cli.agent_options import meant_in
from ullage_agent.cli.asking import Reply, ask_person
from ullage_agent.runtime.approvals import Question
from ullage_agent.tools.call_text import call_lines


def run(args: argparse.Namespace) -> int:
    """List what needs a person, or answer the calls of one session. Raises ``UllageError``."""
    place = place_of(args.store) if args.store else data_directory() / FILE
    return asyncio.run(_run(place, args))


async def _run(place: Path | str, args: argparse.Namespace) -> int:
    store = store_at(place)
    try:
        rows = await store.sessions(limit=MOST_LISTED, states=NEEDS_A_PERSON)
        if args.session:
            session, _ = await meant_in(store, args.session)
            await store.about(session)
            below = f"{session}/"
            meant = [row for row in rows if row.id == session or row.id.startswith(below)]
            await _answer(store, meant, args)
        elif args.json:
            listed = [
                {"id": row.id, "standing": shown_as(ShownStanding, row.standing)}
                for row in rows
            ]
            Screen().show_json(msgspec.json.encode({"sessions": listed}))
        else:
            _list(rows, place, place_option("--store", args.store))
    finally:
        await store.close()
    return 0


def _list(rows: list[SessionRow], place: Path | str, where: str) -> None:
    if not rows:
        print(f"No session in {printable(shown_place(place))} needs a person.")
    for row in rows:
        since = f"{when(row.standing.since):%Y-%m-%d %H:%M}"
        print(f"{printable(row.id)}  {since}  {printable(row.title)}")
        print(f"    {printable(row.standing.line)}")
    if any(row.standing.approvals for row in rows):
        print(f"`ullage admin approve SESSION{where}` shows a call and asks.")


async def _answer(
    store: SessionStore, rows: list[SessionRow], args: argparse.Namespace
) -> None:
    asked = [(row.id, each) for row in rows for each in row.standing.approvals]
    if not asked:
        print("Nothing of this session needs approval.")
    for session, each in asked:
        reply = Reply(True) if args.yes else await _asked(store, session, each)
        given = ApprovalGiven(
            call_id=each.call_id,
            approved=reply.approved,
            note=reply.reason,
            digest=each.digest,
        )
        await store.command(session, [given])
        word = "Approved" if reply.approved else "Refused"
        print(
            f"{word}: {each.tool} of {printable(session)}. Its server or worker goes on."
        )


async def _asked(store: SessionStore, session: str, each: AskedApproval) -> Reply:
    """What the person at the terminal says of the whole call. Raises ``CommandRefused`` where none can be asked."""
    arguments = await arguments_of(store, session, each)
    if arguments is None:
        raise CommandRefused(
            f"The arguments of {each.tool} stand too far before the question. Look at the session's page."
        )
    lines = call_lines(each.tool, arguments)
    reply = await ask_person(
        Question(each.call_id, each.tool, each.digest, lines, offer=None)
    )
    if reply.by_nobody:
        raise CommandRefused("Nothing was answered: run it in a terminal.")
    return reply
