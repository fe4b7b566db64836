"""``ullage install CLIENT`` and ``ullage uninstall CLIENT``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.installing import (
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    opencode,
    pi,
    qwen_code,
)
from ullage.cli.installing.plan import ChangeOutcome, ConfigurationEditor, PlannedChange
from ullage.cli.installing.splice import CannotEdit
from ullage.cli.parser import USUAL_PROXY
from ullage.cli.upstreams import PROXY, default_upstreams, through_proxy
from ullage.cli.wrapping import claude_code as claude_code_start
from ullage.cli.wrapping import codex as codex_start
from ullage.cli.wrapping import opencode as opencode_start
from ullage.cli.wrapping import pi as pi_start
from ullage.cli.wrapping import qwen_code as qwen_code_start
from ullage.cli.wrapping.setup import Start, UsedAddress, asking
from ullage.display.text import safe
from ullage.errors import SettingError
from ullage.installation import is_temporary
from ullage.runtime.config_file import user_endpoints
from ullage_programs.line.places import settings_file

CHANGES: dict[str, Callable[..., list[PlannedChange]]] = {
    client.CLIENT: client.changes
    for client in (claude_code, codex, copilot_cli, gemini_cli, opencode, pi, qwen_code)
}
"""What an installation changes, by client."""

USED_ADDRESSES: dict[str, Callable[[Start], UsedAddress]] = {
    claude_code.CLIENT: claude_code_start.used_address,
    codex.CLIENT: codex_start.used_address,
    opencode.CLIENT: opencode_start.used_address,
    pi.CLIENT: pi_start.used_address,
    qwen_code.CLIENT: qwen_code_start.used_address,
}
"""Where the clients whose address can be changed send their calls today."""

KINDS = {"statusline": "statusline", "hooks": "hook", "proxy": "proxy"}
"""Each option, and the word in the kinds of the changes that it makes."""

FROM_CACHE = (
    "nothing was changed: uvx runs Ullage from uv's cache, which uv may clear, and the client would then start a "
    "program that is gone. Install Ullage first: uv tool install ullage"
)


def install(options: argparse.Namespace) -> int:
    """Change the client's configuration. Gives ``FAILED`` when a file could not be changed."""
    if is_temporary() and not options.dry_run:
        return _refuse("install", FROM_CACHE)
    project = Path.cwd() if options.project else None
    editor = ConfigurationEditor(_directory(), dry_run=options.dry_run, project=project)
    try:
        planned = _planned(options)
    except SettingError as problem:
        return _refuse("install", str(problem))
    except CannotEdit as problem:
        return _refuse(
            "install",
            f"{options.client}: nothing was changed: {problem}. Change that, then run this again.",
        )
    if not planned:
        return _refuse("install", _no_place(options.client))
    code = 0
    for change in planned:
        try:
            outcome = editor.install(change)
        except (CannotEdit, OSError) as problem:
            outcome = ChangeOutcome(
                _failure(change.kind, str(change.path), problem), failed=True
            )
        code = _show(outcome, options)
        if code:
            break
    if not options.dry_run and (not code or change is not planned[0]):
        print(f"`ullage uninstall {options.client}` takes back what is installed.")
    return code


def uninstall(options: argparse.Namespace) -> int:
    """Take back what was installed. Gives ``FAILED`` when a file could not be changed."""
    editor = ConfigurationEditor(_directory(), dry_run=options.dry_run)
    try:
        outcomes = editor.uninstall(options.client, _wanted(options))
    except (CannotEdit, OSError) as problem:
        return _refuse("uninstall", str(problem))
    if not outcomes:
        print(f"Nothing of that is installed for {options.client}.")
    return max([0, *(_show(outcome, options) for outcome in outcomes)])


def _no_place(client: str) -> str:
    """What can be installed instead."""
    possible = []
    for option in ("--statusline", "--hooks", "--proxy"):
        try:
            planned = CHANGES[client](
                statusline=option == "--statusline",
                hooks=option == "--hooks",
                proxy="URL" if option == "--proxy" else "",
                project=False,
            )
        except CannotEdit:
            continue
        if planned:
            possible.append(f"`ullage install {client} {option}`")
    return (
        f"{client} has no place for that. Use {' or '.join(possible)}. "
        "See docs/statusline.md."
    )


def _planned(options: argparse.Namespace) -> list[PlannedChange]:
    everything = not (options.statusline or options.hooks or options.proxy)
    if options.proxy == USUAL_PROXY:
        options.proxy = _own_proxy(options.client, is_project=options.project)
    return CHANGES[options.client](
        statusline=options.statusline or everything,
        hooks=options.hooks or everything,
        proxy=options.proxy,
        project=options.project,
    )


def _own_proxy(client: str, *, is_project: bool) -> str:
    """The address of ``ullage proxy`` that leads to where the client's calls go today. Raises ``SettingError``.

    What a project sets is no address for all projects.
    """
    used_address = USED_ADDRESSES.get(client)
    if used_address is None:
        return PROXY
    directory = Path.cwd() if is_project else None
    start = Start(os.environ, directory, agree=asking(client, os.environ))
    used = used_address(start)
    address = start.agreed(used)
    address = through_proxy(address, default_upstreams(user_endpoints()))
    if address:
        return address
    raise SettingError(
        f"{client} sends its calls to {used.url} ({used.where}), which is no upstream of `ullage proxy` by itself. "
        f"Start `ullage proxy --upstream mine={used.url}`, and install the address "
        f"`--proxy {PROXY}/mine`."
    )


def _wanted(options: argparse.Namespace) -> frozenset[str]:
    """The words of the kinds that are to go; none for all of them."""
    return frozenset(word for name, word in KINDS.items() if getattr(options, name))


def _directory() -> Path:
    return Path(settings_file()).parent


def _failure(kind: str, path: str, problem: Exception) -> str:
    reason, advice = str(problem), "Repair the file"
    if isinstance(problem, OSError):
        reason = f"{problem.filename or path} can't be written ({problem.strerror})"
        advice = "Make it writable"
    return (
        f"{kind} in {path}: not changed, because {reason}. {advice}, then run this again."
    )


def _show(outcome: ChangeOutcome, options: argparse.Namespace) -> int:
    print(safe(outcome.message), file=sys.stderr if outcome.failed else sys.stdout)
    if outcome.difference and options.dry_run:
        print(safe(outcome.difference))
    return FAILED if outcome.failed else DONE


def _refuse(command: str, message: str) -> int:
    print(f"ullage {command}: {safe(message)}", file=sys.stderr)
    return FAILED
