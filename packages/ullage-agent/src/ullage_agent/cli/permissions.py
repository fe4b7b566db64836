"""``ullage permissions``: what a person allowed in projects without being asked again, and taking it back."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from contextlib import ExitStack

from ullage.cli.screen import Screen
from ullage.cli.stores import place_option, records_at
from ullage.display.text import Line, Span, padded, printable
from ullage.errors import CommandRefused
from ullage.store.grants import ProjectGrant, ProjectGrants


def run(args: argparse.Namespace) -> int:
    """List the permissions of all projects, or revoke some. 0; raises ``CommandRefused`` for an unknown id."""
    with ExitStack() as stack:
        records = stack.enter_context(records_at(args.store)) if args.store else None
        return _run(ProjectGrants(records=records), args)


def _run(grants: ProjectGrants, args: argparse.Namespace) -> int:
    if args.revoke:
        return _revoke(grants, args.revoke, place_option("--store", args.store))
    found = grants.all()
    if args.json:
        listed = {"permissions": [_as_json(one) for one in found]}
        Screen().show_json(json.dumps(listed).encode())
        return 0
    if not found:
        print(
            "Nothing is allowed without asking in any project. A question about a call offers it."
        )
        return 0
    Screen().show(_lines(found))
    return 0


def _revoke(grants: ProjectGrants, ids: list[str], where: str) -> int:
    known = [one.grant.id for one in grants.all()]
    for typed in ids:
        name = meant(typed, known)
        if not grants.revoke(name):
            raise CommandRefused(
                f"There is no permission {typed!r} for a project. `ullage permissions{where}` lists them."
            )
        print(f"Revoked {name}: you are asked again.")
    return 0


def meant(typed: str, known: Iterable[str]) -> str:
    """The whole id that is typed, or the only known one that begins so; else what was typed.

    Raises ``CommandRefused`` where several begin so.
    """
    ids = set(known)
    found = sorted(name for name in ids if typed and name.startswith(typed))
    if typed in ids or not found:
        return typed
    if len(found) > 1:
        raise CommandRefused(
            f"Several permissions begin with {typed!r}: {', '.join(found)}. Type more of the one you mean."
        )
    return found[0]


def _lines(found: list[ProjectGrant]) -> list[Line]:
    lines: list[Line] = []
    root = ""
    for one in sorted(found, key=lambda each: each.root):
        if one.root != root:
            root = one.root
            lines.append((Span(printable(root), "title"),))
        day = time.strftime("%Y-%m-%d", time.localtime(one.grant.at))
        lines.append(
            (
                Span(f"  {padded(one.grant.id, 16)}", "strong"),
                Span(f"{day}  ", "dim"),
                Span(printable(str(one.grant))),
            )
        )
    return lines


def _as_json(one: ProjectGrant) -> dict[str, object]:
    grant = one.grant
    return {
        "id": grant.id,
        "root": one.root,
        "tool": grant.tool,
        "prefix": grant.prefix,
        "at": grant.at,
    }
