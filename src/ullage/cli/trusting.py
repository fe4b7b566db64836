"""Asks the user once whether a project's ``ullage.toml`` may set more than harmless settings.

The answer is for the directory and the content of the file. ``ullage trust`` and ``ullage untrust`` give and take it
without a question.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ullage.cli.asking import forget_typed_ahead, show_pages_now, typed_now
from ullage.cli.call_lines import drawn_call, wrapped_spans
from ullage.cli.screen import Screen
from ullage.cli.text import Line, Span, printable
from ullage.errors import InputError, SettingError
from ullage.runtime.config_file import FILE, project_config, read_config, read_configs
from ullage.runtime.narrowing import plain_value
from ullage.runtime.precedence import Layer, Narrowed, resolve
from ullage.runtime.settings import meaning_of
from ullage.store.calibration import data_directory
from ullage.store.project_answers import ProjectAnswers
from ullage.tools.call_text import setting_lines, spelled


def project_settings(environment: Mapping[str, str]) -> tuple[Layer, ...]:
    """What the configuration files set, for an ``Agent``. On a terminal the user is asked about the project's file.

    Without a terminal, what the user has not agreed to is ignored, and standard error says so. Raises ``SettingError``.
    """
    layers = read_configs(Path.cwd(), environment)
    project = next((one for one in layers if one.place == "project file"), None)
    if project is None:
        return layers
    ignored = _ignored(layers, environment)
    wanted = [one for one in ignored if one.may_be_asked]
    answers = ProjectAnswers(data_directory(environment))
    answer = answers.of(_directory(project), project.digest)
    if wanted and answer is None and sys.stdin.isatty() and sys.stderr.isatty():
        answer = _ask(project, ignored)
        answers.add(_directory(project), project.digest, is_agreed=answer)
    if answer:
        wanted = []
        layers = tuple(replace(one, is_agreed=True) if one is project else one for one in layers)
    if wanted and answer is None:
        keys = ", ".join(one.key for one in wanted)
        command = f"`ullage trust {printable(str(_directory(project)))}`"
        print(
            f"ullage: {_name(project)}: ignored: {keys}. You were not asked about this file; {command} allows it.",
            file=sys.stderr,
        )
    for one in ignored:
        if not one.may_be_asked and answer is not False:
            print(f"ullage: {printable(one.where)}: {one.key} is ignored: it {_why(one)}.", file=sys.stderr)
    return layers


def _ignored(layers: Sequence[Layer], environment: Mapping[str, str]) -> list[Narrowed]:
    return [one for one in resolve({}, {}, layers, environment).narrowed if one.place == "project file"]


def _ask(project: Layer, ignored: Sequence[Narrowed]) -> bool:
    """Show all that the file asks for, page by page, and ask. No yes counts before the last page."""
    screen = Screen(sys.stderr)
    forget_typed_ahead()
    if not show_pages_now(screen, described(project, ignored, screen)):
        return False
    asked = "Use these settings for as long as the file stays as it is? [y/N]"
    return typed_now(screen, asked).strip().lower() in ("y", "yes")


def described(project: Layer, ignored: Sequence[Narrowed], screen: Screen) -> list[Line]:
    """Everything that the file asks for and may not set by itself, each value whole, and what it decides."""
    width = screen.width - 1
    lines = _wrapped(f"{_name(project)} asks for more than harmless settings:", width, "warn")
    for one in ignored:
        if one.may_be_asked:
            value = drawn_call(setting_lines(one.key, plain_value(project.said[one.key])), width - 2, screen.encoding)
            lines += [(), *((Span("  "), *line) for line in value), (Span(f"      {_why(one)}", "dim"),)]
    never = [one.key for one in ignored if not one.may_be_asked]
    if never:
        lines += [(), *_wrapped(f"It also sets {', '.join(never)}, which a project's file can never set.", width, "")]
    return [*lines, ()]


def _wrapped(text: str, width: int, style: str) -> list[Line]:
    return wrapped_spans([Span(text, style)], width, "  ")


def _why(one: Narrowed) -> str:
    return meaning_of(one.key).who.why


def _name(project: Layer) -> str:
    return spelled(str(project.path))


def _directory(project: Layer) -> Path:
    assert project.path is not None
    return project.path.parent


def trust(options: argparse.Namespace) -> int:
    """``ullage trust``: agree to a project's file as it is now, or list the answers. Raises ``UllageError``."""
    answers = ProjectAnswers(data_directory(os.environ))
    if options.list:
        for one in answers.all():
            print(f"{_standing(one.is_agreed, Path(one.directory), one.digest)}  {printable(one.directory)}")
        return 0
    project = _project(options.directory)
    ignored = _ignored([project], {})
    answers.add(_directory(project), project.digest, is_agreed=True)
    if ignored:
        screen = Screen()
        screen.show(described(project, ignored, screen))
    else:
        print(f"{_name(project)} asks for nothing else.")
    print("These settings count from now on, for as long as the file stays as it is. `ullage untrust` takes it back.")
    return 0


def untrust(options: argparse.Namespace) -> int:
    """``ullage untrust``: forget the answer about a project's file. 0 when there was one. Raises ``UllageError``."""
    directory = Path(options.directory or Path.cwd())
    path = project_config(directory)
    found = path.parent if path is not None else directory
    if not ProjectAnswers(data_directory(os.environ)).remove(found):
        print(f"There is no answer about {printable(str(found))}. `ullage trust --list` shows all.", file=sys.stderr)
        return 2
    print(f"Forgotten: {printable(str(found))}. Its file is asked about again.")
    return 0


def _standing(is_agreed: bool, directory: Path, digest: str) -> str:
    try:
        is_same = read_config(directory / FILE, place="project file").digest == digest
    except SettingError:
        is_same = False
    word = "allowed" if is_agreed else "refused"
    return word if is_same else f"{word}, but the file has changed"


def _project(directory: str | None) -> Layer:
    start = Path(directory or Path.cwd())
    path = project_config(start)
    if path is None:
        raise InputError(f"There is no {FILE} in {start.absolute()} or above it. Name the project's directory.")
    return read_config(path, place="project file")
