"""The picture of a session for programs: drawn in a notebook, as SVG, and as a page."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import Final

from ullage.advice.history import history_now
from ullage.advice.suggestions import advice_of
from ullage.events import Event, MessageAdded, SystemChanged
from ullage.meter.meter import Meter
from ullage.picture.html import html
from ullage.picture.model import SessionPicture
from ullage.picture.style import Scheme
from ullage.picture.svg import svg

NOTEBOOK: Final = """\
<style>:is([data-jp-theme-light=true],.vscode-light) .ullage-picture{color-scheme:light}\
:is([data-jp-theme-light=false],.vscode-dark) .ullage-picture{color-scheme:dark}</style>"""
"""An image follows light and dark of its page, where that says which it is: Jupyter's by an attribute, VS Code's by a
class. Elsewhere it is as the reader's system."""


class DrawnSession:
    """What fills a session's window, how it grew, and what would make room. A notebook draws it.

    It is what ``ullage context --html`` and ``--svg`` write.
    """

    _picture: SessionPicture

    @classmethod
    def _of(cls, picture: SessionPicture) -> DrawnSession:
        drawn = cls()
        drawn._picture = picture
        return drawn

    def __repr__(self) -> str:
        return f"DrawnSession({str(self._picture.reading)!r})"

    def svg(self, *, scheme: Scheme = "auto") -> str:
        """The picture as one SVG file.

        Args:
            scheme: ``light``, ``dark``, or as the reader's own (``auto``).
        """
        return svg(self._picture, scheme=scheme)

    def html(self) -> str:
        """The picture as one page that loads nothing, with all calls and items as tables."""
        return html(self._picture)

    def _repr_html_(self) -> str:
        """An image, so that no style of it reaches the notebook."""
        data = b64encode(self.svg().encode()).decode()
        said = escape(str(self._picture.reading))
        about = f'class="ullage-picture" alt="{said}" style="max-width:100%"'
        return f'{NOTEBOOK}<img {about} src="data:image/svg+xml;base64,{data}">'


def picture_of_meter(meter: Meter) -> DrawnSession:
    """The picture of what a meter knows: it keeps no events, so only what is in view now is advised on."""
    reading = meter.reading()
    history = history_now(meter)
    fold = meter._fold
    events: list[Event] = [SystemChanged(system=fold.system or ())]
    for message in meter.messages:
        events.append(MessageAdded(message=message))
    called: set[str] = set()
    if reading.compactions:  # calls that left are not known
        called.update(tool.name for tool in fold.tools or ())
    advice = advice_of(history, meter, events, subagent_tools=frozenset(called))
    picture = SessionPicture(
        reading=reading, history=history, advice=advice, steps=meter.steps
    )
    return DrawnSession._of(picture)
