"""The program's log on standard error: estimates beside reported inputs, warnings, errors; keys are masked."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

FORMAT = "%(levelname)s %(name)s: %(message)s"


@contextmanager
def logged(
    level: str,
    environment: Mapping[str, str],
    *secrets: str,
    form: str = "",
    text: str = FORMAT,
) -> Iterator[None]:
    """A block whose log goes to standard error from this level on, without ``secrets`` and those of the environment.

    An empty level logs nothing. ``form`` is what ``--log-format`` says. Lines of libraries have the same form.
    ``text`` is the format of a line of text.
    """
    if not level:
        yield
        return
    from ullage.log_lines import JSON_LINES, JsonLines, TextLines
    from ullage.masking import Secrets, secrets_in

    handler = logging.StreamHandler(sys.stderr)
    hidden = Secrets([*secrets, *secrets_in(environment)])
    is_json = form == JSON_LINES
    handler.setFormatter(JsonLines(hidden) if is_json else TextLines(hidden, text))
    everything, own = logging.getLogger(), logging.getLogger("ullage")
    before = own.level
    everything.addHandler(handler)
    own.setLevel(level.upper())
    try:
        yield
    finally:
        own.setLevel(before)
        everything.removeHandler(handler)
