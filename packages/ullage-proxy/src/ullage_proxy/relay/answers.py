"""Follows the bytes of an upstream's answer: which may be passed on, where the answer ends, and what it holds.

h11 reads them; the bytes that go on to the client are those that came, whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable

import h11

from ullage_proxy.relay.heads import problem_of

KeepContent = Callable[[bytes], object]
"""Takes a piece of the content, without its transfer coding."""


class AnswerReader:
    """One answer, interim responses (1xx) before it included. ``http`` has sent the request."""

    def __init__(self, http: h11.Connection, keep: KeepContent) -> None:
        self._http = http
        self._keep = keep
        self._head = b""
        """What came of a head that is not complete."""
        self.response: h11.Response | None = None
        """The head of the final response, once it has come."""
        self.problem = ""
        """Why the end of the answer can't be told. All that comes is passed on until the connection ends."""
        self.has_passed = False
        """Whether the client has been given anything of this answer."""
        self.is_complete = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more of it is awaited."""
        is_unreadable = bool(self.problem) and not self.has_passed
        return self.is_complete or is_unreadable

    @property
    def is_reusable(self) -> bool:
        """Whether another request may follow on the connection."""
        return self._http.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE} and (
            not self._http.trailing_data[0]
        )

    def feed(self, data: bytes) -> bytes:
        """What is passed on now. Only a head that is not complete is held back."""
        if not self.problem:
            self._http.receive_data(data)
            data = self._head + data
            self._follow()
        if self.problem:
            self.has_passed = self.has_passed or self.response is not None
            return data if self.has_passed else b""
        rest = 0
        if self.response is None or self.is_complete:
            rest = len(self._http.trailing_data[0])
        end = len(data) - rest
        self._head = data[end:]
        self.has_passed = self.has_passed or end > 0
        return data[:end]

    def end(self) -> bool:
        """Whether the answer is whole when the connection ends here."""
        if self.response is not None and not self.is_complete and not self.problem:
            self._http.receive_data(b"")
            self._follow()
        return self.is_complete

    def _follow(self) -> None:
        """Read all that has come."""
        try:
            while not self.is_complete:
                event = self._http.next_event()
                if isinstance(event, h11.Data):
                    self._keep(event.data)
                elif event is h11.NEED_DATA or event is h11.PAUSED:
                    break
                elif isinstance(event, h11.Response):
                    self.response = event
                elif isinstance(event, h11.EndOfMessage):
                    self.is_complete = True
        except h11.RemoteProtocolError as problem:
            self.problem = problem_of(problem)
