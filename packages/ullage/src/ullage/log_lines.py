"""Lines of the log, as text or as JSON objects, with what they are about: the session, the request, the trace.

A message may quote what came from outside. It can't begin a line of its own: in text, further lines of a record are
indented and other control characters left out; in JSON, a record is one line by its escapes.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

from ullage.display.text import json_text, printable, safe
from ullage.masking import Secrets, secrets_in

LogFields = Mapping[str, object]

JSON_LINES: Final = "json"

FORMAT: Final = "%(levelname)s %(name)s: %(message)s"

_fields: ContextVar[Callable[[], LogFields]] = ContextVar(
    "fields of log lines", default=dict
)

_OF_EACH_RECORD: Final = frozenset(
    logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime", "taskName"}
)

_IN_TEXT: Final = ("session", "request_id")
"""The fields that a line of text has: those by which a person looks for more."""


@contextmanager
def log_fields(source: Callable[[], LogFields]) -> Iterator[None]:
    """Lines that this block logs, and tasks that it starts, have the fields that ``source`` gives at that moment."""
    before = _fields.set(source)
    try:
        yield
    finally:
        _fields.reset(before)


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


def trace_fields(traceparent: str) -> dict[str, object]:
    """The ids of a ``traceparent`` under the names of OpenTelemetry's logs; none for an empty one."""
    if not traceparent:
        return {}
    _, trace, span, _ = traceparent.split("-", 3)
    return {"trace_id": trace, "span_id": span}


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What is known beside the message: of the block, of the current span, and of the record itself (``extra``)."""
    own = {
        name: value
        for name, value in record.__dict__.items()
        if name not in _OF_EACH_RECORD
    }
    return {**_fields.get()(), **_current_span(), **own}


class TextLines(logging.Formatter):
    """Formats a record as a line of text, without secrets; a traceback is indented below it."""

    def __init__(self, secrets: Secrets, fmt: str) -> None:
        super().__init__(fmt)
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        text = super().format(record)
        fields = fields_of(record)
        about = [
            f"{name}={printable(str(fields[name]))}"
            for name in _IN_TEXT
            if fields.get(name)
        ]
        first, *others = text.splitlines() or [""]
        lines = [" ".join([first, *(about and [f"[{' '.join(about)}]"])]), *others]
        return self._secrets.masked("\n    ".join(safe(line) for line in lines))


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object, without secrets."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """See ``logging.Formatter``."""
        at = datetime.fromtimestamp(record.created, UTC)
        own: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            own["exception"] = self.formatException(record.exc_info)
        line = own | fields_of(record) | own  # in this order, and a field replaces none
        hidden = self._secrets.masked_value(line)
        text = json.dumps(hidden, default=str, ensure_ascii=False)
        return json_text(text.encode(errors="backslashreplace"))


def _current_span() -> dict[str, object]:
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry import trace

    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    return {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}
