"""The picture of a session out of the log of any program."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ullage.importers.subagent_tools import subagent_tools
from ullage.picture.model import picture_of
from ullage.picture.shown import DrawnSession
from ullage.watching.running import log_meter
from ullage.watching.usable_logs import read_usable


def picture_of_log(file: str | PathLike[str], *, session: str = "") -> DrawnSession:
    """The picture of the session in a log of Claude Code, Codex or another client, or in an export of Ullage.

    Args:
        file: The log.
        session: The id of one, where the file holds several.

    Raises:
        InputError: The file can't be read, is no log that is known, or holds nothing of a conversation.
    """
    imported = read_usable(Path(file).expanduser(), session)
    picture = picture_of(
        imported.events,
        log_meter(imported),
        title=imported.title,
        program=imported.program or imported.format,
        subagent_tools=subagent_tools(imported),
    )
    return DrawnSession._of(picture)
