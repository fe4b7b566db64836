"""``ullage install CLIENT``, and ``--remove``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ullage.cli.commands import USUAL_PROXY
from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.installing.differences import differences
from ullage.cli.installing.entries import ClientEntry
from ullage.cli.installing.files import CannotEdit, ClientFile, ClientFiles
from ullage.cli.upstreams import PROXY, default_upstreams, through_proxy
from ullage.cli.wrapping.setup import Start, asking, client_of
from ullage.display.text import safe
from ullage.errors import SettingError
from ullage.installation import is_temporary, tool_command
from ullage.user_file import user_endpoints

KINDS: Final = {"statusline": "status line", "hooks": "hook", "proxy": "proxy's address"}
"""What the options ``--statusline``, ``--hooks`` and ``--proxy`` choose."""

FROM_CACHE: Final = (
    "nothing was changed: uvx runs Ullage from uv's cache, which uv may clear, and the client would then start a "
    "program that is gone. Install Ullage first: "
)
UNASKED: Final = (
    "nothing was changed: without a terminal you can't be asked. Add --yes to write this."
)


def install(options: argparse.Namespace) -> int:
    """Change the client's configuration. Gives ``FAILED`` where a file could not be changed, and after a no."""
    if is_temporary() and not options.dry_run and not options.remove:
        return _refuse(FROM_CACHE + tool_command())
    files = ClientFiles(Path.cwd() if options.project else None)
    try:
        chosen = _chosen(options)
        if options.remove:
            upstreams = default_upstreams(user_endpoints())
            for entry in chosen:
                entry.take(files, upstreams)
        else:
            for entry in chosen:
                entry.put(files)
        return _carry_out(files.changed(), chosen, options)
    except SettingError as problem:
        return _refuse(str(problem))
    except CannotEdit as problem:
        return _refuse(
            f"{options.client}: nothing was changed: {problem}. Change that, then run this again."
        )


def _chosen(options: argparse.Namespace) -> list[ClientEntry]:
    """What the options name; without any, all but the proxy, which is removed too where it is there."""
    wanted = [kind for kind in KINDS if getattr(options, kind)]
    if not wanted:
        wanted = [kind for kind in KINDS if kind != "proxy" or options.remove]
    possible = _entries(options.client, "", is_project=options.project)
    proxy = options.proxy or ""
    if proxy == USUAL_PROXY:
        has_address = any(entry.kind == "proxy" for entry in possible)
        is_asked = has_address and not options.remove
        proxy = _own_proxy(options.client, options.project) if is_asked else ""
    if proxy:
        possible = _entries(options.client, proxy, is_project=options.project)
    chosen = [entry for entry in possible if entry.kind in wanted]
    if not chosen and not options.remove:
        raise SettingError(_no_place(options, wanted))
    return chosen


def _entries(client: str, proxy: str, *, is_project: bool) -> list[ClientEntry]:
    """What can be installed."""
    return list(client_of(client).entries(proxy=proxy, project=is_project))


def _no_place(options: argparse.Namespace, wanted: Sequence[str]) -> str:
    """What the client has no setting for, and what can be installed instead."""
    client, where = options.client, " in a project" if options.project else ""
    lacking = " or ".join(KINDS[kind] for kind in wanted)
    kinds = {
        f"`ullage install {client} --{entry.kind}`": None
        for entry in _entries(client, "", is_project=False)
    }
    return f"nothing was changed: {client} takes no {lacking}{where}. Use {' or '.join(kinds)}."


def _own_proxy(client: str, is_project: bool) -> str:
    """The address of ``ullage proxy`` that leads to where the client's calls go today. Raises ``SettingError``.

    What a project sets is no address for all projects.
    """
    directory = Path.cwd() if is_project else None
    start = Start(os.environ, directory, agree=asking(client, os.environ))
    used = client_of(client).used_address(start)
    address = through_proxy(start.agreed(used), default_upstreams(user_endpoints()))
    if address:
        return address
    raise SettingError(
        f"{client} sends its calls to {used.url} ({used.where}), which is no upstream of `ullage proxy` by itself. "
        f"Start `ullage proxy --upstream mine={used.url}`, and install the address "
        f"`--proxy {PROXY}/mine`."
    )


def _carry_out(
    changed: Sequence[ClientFile],
    chosen: Sequence[ClientEntry],
    options: argparse.Namespace,
) -> int:
    """Show what changes, ask on a terminal, and write it: all files, or none where one has to be changed by hand."""
    client, is_removed = options.client, options.remove
    if not changed:
        said = "Nothing of that is installed" if is_removed else "Already installed"
        print(f"{said} for {client}.")
        return DONE
    by_hand = [file for file in changed if file.problem]
    for file in by_hand:
        _refuse(f"nothing was changed: {file.path}: {file.problem}.")
    if by_hand:
        print(
            "Change it by hand; what comes in stands directly behind the opening bracket:"
        )
    elif is_removed:
        print(f"This is taken out of {client}'s configuration:")
    else:
        print(f"{client} gets:")
        for entry in chosen:
            print(f"  {entry.about}")
        if {"statusline", "hooks"} <= {entry.kind for entry in chosen}:
            print("`--statusline` writes the status line alone, without hooks.")
    for file in changed:
        for line in differences(file):
            print(safe(line))
    if by_hand:
        return FAILED
    if options.dry_run:
        print("Nothing was changed: this is what would be changed.")
        return DONE
    if not options.yes:
        if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
            return _refuse(UNASKED)
        try:
            answer = input("Write this? [y/N] ")
        except EOFError:
            answer = "n"
        if answer.strip().lower() not in ("y", "yes"):
            return _refuse("nothing was changed.")
    for file in changed:
        file.check()
    # A status line of the user's own is written to its new place before it goes from the old one.
    for file in changed if is_removed else reversed(changed):
        try:
            print(safe(file.write()))
        except OSError as problem:
            return _refuse(
                f"{file.path} can't be written ({problem.strerror}). Make it writable, then run this again."
            )
    if not is_removed:
        where = " --project" if options.project else ""
        print(f"`ullage install {client}{where} --remove` takes it out again.")
    return DONE


def _refuse(message: str) -> int:
    print(f"ullage install: {safe(message)}", file=sys.stderr)
    return FAILED
