"""Asks the user once about what a directory sets: more than harmless settings in ``ullage.toml``, a client's address.

The answer is for the directory and the content of the file, or the address. ``ullage trust`` asks about the file,
``ullage trust --yes`` shows it and answers it, and ``ullage untrust`` forgets the answers.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from ullage.cli.agent_options import ASK_FIRST
from ullage.cli.asking import (
    drawn_call,
    forget_typed_ahead,
    show_pages_now,
    typed_now,
    wrapped_spans,
)
from ullage.cli.exit_codes import FAILED
from ullage.cli.screen import Screen
from ullage.directories import data_directory
from ullage.display.text import Line, Span, printable, wrapped
from ullage.errors import CommandRefused, InputError, SettingError
from ullage.runtime.config_file import (
    FILE,
    project_config,
    read_config,
    read_configs,
    user_config,
)
from ullage.runtime.layers import Layer, is_inside
from ullage.runtime.precedence import Narrowed, resolve
from ullage.runtime.setting_values import EVERY, MCP, plain_value, shown
from ullage.runtime.settings import Settings, meaning_of
from ullage.store.project_answers import ProjectAnswer, ProjectAnswers
from ullage.tools.call_text import setting_lines, spelled


class TrustRequest(NamedTuple):
    """What a project's file asks for beyond harmless settings."""

    project: Layer
    ignored: tuple[Narrowed, ...]
    without: Settings
    """The settings that count without the file."""

    @property
    def wanted(self) -> list[Narrowed]:
        """What counts once the user agrees."""
        return [one for one in self.ignored if one.may_be_asked]

    @property
    def never(self) -> list[Narrowed]:
        """What does not count, whatever the user answers."""
        return [one for one in self.ignored if not one.may_be_asked]


def project_settings(environment: Mapping[str, str]) -> tuple[Layer, ...]:
    """What the configuration files set, for an ``Agent``. On a terminal the user is asked about the project's file.

    Without a terminal, what the user has not agreed to is ignored, and standard error says so. Raises ``SettingError``.
    """
    layers = read_configs(Path.cwd(), environment)
    request = _request(layers, environment)
    if request is None:
        return layers
    project = request.project
    answers = ProjectAnswers(data_directory(environment))
    answer = answers.of(_directory(project), project.digest)
    if request.wanted and answer is None:
        answer = _asked(request, answers) if _can_ask() else None
        if answer is None:
            _note_unanswered(request, answers)
    if answer is not False:
        for one in request.never:
            print(
                f"ullage: {printable(one.where)}: {one.key} is ignored: it {_why(one)}.",
                file=sys.stderr,
            )
    if answer:
        return tuple(
            replace(one, is_agreed=True) if one is project else one for one in layers
        )
    return layers


def agree_to_address(
    client: str, url: str, where: str, place: Path, environment: Mapping[str, str]
) -> None:
    """Ask whether a client's calls may go to the address that a file of ``place`` sets. The answer is kept.

    ``trusted`` of the user answers too. Raises ``CommandRefused`` for a no, and where nobody can be asked.
    """
    answers = ProjectAnswers(data_directory(environment))
    said = f"{spelled(where)} sends {client}'s calls, with your key, to {spelled(url)}."
    answer = answers.of_address(place, url)
    if answer is None and not answers.knows(place):
        answer = is_inside(place, _trusted(environment)) or None
    if answer is None and not _can_ask():
        raise CommandRefused(
            f"Nothing was done: {said} You were not asked about it, and there is no terminal to ask you. Run this "
            "once on a terminal, or add the directory to `trusted` in your own ullage.toml."
        )
    if answer is None:
        screen = Screen(sys.stderr)
        answer = _says_yes(
            screen,
            [*broken(said, screen.width - 1, "warn"), ()],
            "Send them there from now on? [y/N]",
        )
        answers.add(place, url, is_agreed=answer)
    if not answer:
        forget = f"`ullage untrust {shlex.quote(str(place))}`"
        raise CommandRefused(
            f"Nothing was done: {said} You refused that. Run {forget} to be asked again."
        )


def _trusted(environment: Mapping[str, str]) -> tuple[Path, ...]:
    path = user_config(environment)
    layers = [read_config(path)] if path.is_file() else []
    return resolve({}, {}, layers, environment).settings.trusted


def _request(
    layers: Sequence[Layer], environment: Mapping[str, str]
) -> TrustRequest | None:
    """What the project's file among the layers asks for; ``None`` where there is no such file."""
    project = next((one for one in layers if one.place == "project file"), None)
    if project is None:
        return None
    ignored = [
        one
        for one in resolve({}, {}, layers, environment).narrowed
        if one.place == "project file"
    ]
    others = [one for one in layers if one is not project]
    without = resolve(
        {}, {}, others, {"ULLAGE_APPROVE": ASK_FIRST, **environment}
    ).settings
    return TrustRequest(project, tuple(ignored), without)


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _note_unanswered(request: TrustRequest, answers: ProjectAnswers) -> None:
    name = _name(request.project)
    keys = ", ".join(one.key for one in request.wanted)
    why = _changed(request.project, answers) or "You were not asked about this file."
    command = f"`ullage trust {printable(shlex.quote(str(_directory(request.project))))}`"
    print(
        f"ullage: {name}: ignored: {keys}. {why} {command} shows it and asks.",
        file=sys.stderr,
    )


def _changed(project: Layer, answers: ProjectAnswers) -> str:
    """That the file is another one than the user answered about, as a sentence; empty where there is no answer."""
    earlier = answers.latest(_directory(project))
    if earlier is None or earlier.digest == project.digest:
        return ""
    return f"It has changed since you {'allowed' if earlier.is_agreed else 'refused'} it."


def _asked(request: TrustRequest, answers: ProjectAnswers) -> bool:
    """Show all that the file asks for, page by page, ask, and keep the answer. No yes counts before the last page."""
    screen = Screen(sys.stderr)
    answer = _says_yes(
        screen,
        described(request, screen, _changed(request.project, answers)),
        "Use these settings for as long as the file stays as it is? [y/N]",
    )
    answers.add(_directory(request.project), request.project.digest, is_agreed=answer)
    return answer


def _says_yes(screen: Screen, lines: list[Line], asked: str) -> bool:
    """Show all of it, page by page, and ask. What was typed before counts for nothing."""
    forget_typed_ahead()
    if not show_pages_now(screen, lines):
        return False
    return typed_now(screen, asked).strip().lower() in ("y", "yes")


def described(request: TrustRequest, screen: Screen, changed: str = "") -> list[Line]:
    """Everything that the file asks for and may not set by itself, each value whole, and what a yes would do."""
    width = screen.width - 1
    asks = f"{_name(request.project)} asks for more than harmless settings. {changed}".rstrip()
    lines = broken(asks, width, "warn")
    for one in request.wanted:
        said = plain_value(request.project.values[one.key])
        value = drawn_call(setting_lines(one.key, said), width - 2, screen.encoding)
        lines += [(), *((Span("  "), *line) for line in value)]
        lines += [
            (Span("      "), *line) for line in _consequence(request, one, width - 6)
        ]
    never = [one.key for one in request.never]
    if never:
        text = f"It also sets {', '.join(never)}, which a project's file can never set: ignored, whatever you answer."
        lines += [(), *broken(text, width, "")]
    return [*lines, ()]


def _consequence(request: TrustRequest, one: Narrowed, width: int) -> list[Line]:
    """What a yes to this setting does, and the value that counts without it."""
    if one.key == "approve":
        if lost := _unasked(request):
            return broken(lost, width, "bad")
        return broken("Everything that asks you now still does.", width, "dim")
    without = getattr(request.without, one.key)
    if isinstance(without, Mapping):
        return broken(_why(one), width, "dim")
    value = (
        meaning_of(one.key).default or "nothing"
        if without in (None, "", ())
        else spelled(shown(without))
    )
    return broken(f"{_why(one)}; without this file: {value}", width, "dim")


def _unasked(request: TrustRequest) -> str:
    """Which tools the file's ``approve`` would no longer ask about, as a sentence; empty where there are none."""
    listed = cast(Sequence[str], request.project.values["approve"])
    if EVERY in listed:
        return ""
    lost = [name for name in request.without.approve if name not in listed]
    kinds = {MCP: "tools of MCP servers", EVERY: "every other tool"}
    names = [kinds.get(name) or spelled(name) for name in lost]
    if not listed and EVERY not in lost:
        names.append("and every other tool")
    if not names:
        return ""
    return f"A yes lets these run WITHOUT asking you: {', '.join(names)}"


def broken(text: str, width: int, style: str) -> list[Line]:
    """The text in lines of at most ``width`` cells, between words where that is possible. Nothing is left out."""
    return [
        part
        for line in wrapped(text, width)
        for part in wrapped_spans([Span(line, style)], width, "  ")
    ]


def _why(one: Narrowed) -> str:
    return meaning_of(one.key).who.why


def _name(project: Layer) -> str:
    return spelled(str(project.path))


def _directory(project: Layer) -> Path:
    assert project.path is not None
    return project.path.parent


def trust(options: argparse.Namespace) -> int:
    """``ullage trust``: ask about a project's file as it is now, or list the answers. 0 for a yes, 2 for a no.

    With ``--yes`` the whole text is printed and agreed to. Raises ``CommandRefused`` where nobody can be asked,
    ``UllageError``.
    """
    answers = ProjectAnswers(data_directory(os.environ))
    if options.list:
        for answer in answers.all():
            about = ": ".join(filter(None, [answer.directory, answer.address]))
            print(f"{_standing(answer)}  {printable(about)}")
        return 0
    request = _request_in(Path(options.directory or Path.cwd()))
    name = _name(request.project)
    if not request.wanted:
        print(f"{name} asks for nothing that needs your yes.")
        for one in request.never:
            print(f"{printable(one.where)}: {one.key} is ignored: it {_why(one)}.")
        return 0
    if options.yes:
        screen = Screen()
        screen.show(described(request, screen, _changed(request.project, answers)))
        answers.add(_directory(request.project), request.project.digest, is_agreed=True)
    elif not _can_ask():
        raise CommandRefused(
            f"Nothing is allowed: there is no terminal to ask you about {name}. Read the file, then use "
            "`ullage trust --yes`, which shows and allows all that it asks for."
        )
    elif not _asked(request, answers):
        print(f"Refused: {name} sets only what is harmless. `ullage trust` asks again.")
        return FAILED
    print(
        "These settings count from now on, for as long as the file stays as it is. `ullage untrust` takes it back."
    )
    return 0


def untrust(options: argparse.Namespace) -> int:
    """``ullage untrust``: forget the answers about a directory. 0 when there were some. Raises ``UllageError``."""
    directory = Path(options.directory or Path.cwd())
    answers = ProjectAnswers(data_directory(os.environ))
    path = project_config(directory)
    found = path.parent if path is not None else directory
    forgotten = [answers.remove(place) for place in {found, directory.absolute()}]
    if not any(forgotten):
        print(
            f"There is no answer about {printable(str(found))}. `ullage trust --list` shows all.",
            file=sys.stderr,
        )
        return FAILED
    print(f"Forgotten: {printable(str(found))}. Its files are asked about again.")
    return 0


def _standing(answer: ProjectAnswer) -> str:
    word = "allowed" if answer.is_agreed else "refused"
    if answer.address:
        return word
    try:
        path = Path(answer.directory) / FILE
        is_same = read_config(path, place="project file").digest == answer.digest
    except SettingError:
        is_same = False
    return word if is_same else f"{word}, but the file has changed"


def _request_in(start: Path) -> TrustRequest:
    layers = [replace(one, is_agreed=False) for one in read_configs(start, os.environ)]
    request = _request(layers, os.environ)
    if request is None:
        raise InputError(
            f"There is no {FILE} in {start.absolute()} or above it. Name the project's directory."
        )
    return request
