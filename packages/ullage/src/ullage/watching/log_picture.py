"""The picture of a session out of the log of any program."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ullage.display.text import quoted
from ullage.importers import read
from ullage.importers.subagent_tools import subagent_tools
from ullage.meter.meter import Meter
from ullage.picture.model import picture_of
from ullage.picture.shown import SessionPicture
from ullage.watching.watched import UnusableSession
from ullage_programs.programs import facts_of
from ullage_programs.settings import settings_of


def picture_of_log(
    file: str | PathLike[str], *, session: str = "", window: int | None = None
) -> SessionPicture:
    """The picture of the session in a log of Claude Code, Codex or another client, or in an export of Ullage.

    Args:
        file: The log.
        session: The id of one of several sessions in it; by default the newest.
        window: The context window in tokens; overrides every other source.

    Raises:
        InputError: The file can't be read, is no log that is known, or holds nothing of a conversation.
    """
    imported = read(Path(file).expanduser(), session=session)
    program = imported.program or imported.format
    if not imported.usable:
        raise UnusableSession(
            f"{quoted(str(file))} looks like a log of {program}, but holds no message and no model call. Give another "
            "file; `ullage sessions` lists those it finds."
        )
    found = settings_of(facts_of(imported.program), Path(imported.path), imported.cwd)
    picture = picture_of(
        imported.events,
        Meter(window=window, client_settings=found.values),
        title=imported.title,
        program=program,
        subagent_tools=subagent_tools(imported),
    )
    return SessionPicture(picture)
