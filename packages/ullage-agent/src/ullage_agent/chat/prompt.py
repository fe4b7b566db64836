"""The input: several lines, history, and keys that mean something to a conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from ullage_agent.chat.attaching import AttachedFiles, paths_of
from ullage_agent.chat.rendering import visible

HINT: Final = "Enter sends · Ctrl+J new line · / commands"
PASTED_WHOLE: Final = 4_000
"""Characters of a paste that are shown as they are; a longer one stands as a word and is sent whole."""


class Prompt(TextArea):
    """A text area that sends. Alt+Enter and Tab are follow-ups; Ctrl+J is a new line in every terminal."""

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 8; border: none; padding: 0 1; background: transparent; }
    Prompt:focus { border: none; }
    """

    class Sent(Message):
        """Somebody wants this said, now or (``follow_up``) when the turn is over."""

        def __init__(self, text: str, follow_up: bool) -> None:
            super().__init__()
            self.text = text
            self.follow_up = follow_up

    class Asked(Message):
        """A key that the conversation answers: ``escape``, ``edit``, ``withdraw`` or ``paste``."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def __init__(self, *, id: str) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            compact=True,
            placeholder=Content.styled(HINT, "dim"),
        )
        self.earlier: list[str] = []
        self.can_edit_waiting: Callable[[], bool] = lambda: False
        self.complete: Callable[[int], bool] = lambda step: False
        """Takes the completion that is marked (0), or marks another (-1, 1); False where there is none."""
        self.answers: Callable[[str], bool] = lambda key: False
        """Takes this character as an answer to a question; False where it is none."""
        self.scrolls: Callable[[str], bool] = lambda key: False
        """Takes this key to scroll what is asked about; False where nothing scrolls."""
        self.takes_empty: Callable[[], bool] = lambda: False
        """Whether Enter sends nothing at all, where a question asks for a reason."""
        self.attached = AttachedFiles()
        self._place: int | None = None
        self._draft = ""
        self._pasted: dict[str, str] = {}

    def put(self, text: str) -> None:
        """Show this text, the cursor at its end; a very long one as a word that stands for it."""
        self.text = self._short(visible(text))
        self.move_cursor(self.document.end)

    def give_back(self, text: str) -> None:
        """Show this text again, below what has been typed since."""
        held = self.whole_text
        self.put(f"{held}\n{text}" if held.strip() else text)

    def clear_all(self) -> None:
        """Empty it, the pasted texts too."""
        self._pasted.clear()
        self._place = None
        self.text = ""

    @property
    def whole_text(self) -> str:
        """What is in the input, pasted texts in the place of the words that stand for them."""
        text = self.text
        for word, pasted in self._pasted.items():
            text = text.replace(word, pasted)
        return text

    def _short(self, text: str) -> str:
        if len(text) <= PASTED_WHOLE:
            return text
        word = f"[pasted {len(self._pasted) + 1}: {len(text):,} characters]"
        self._pasted[word] = text
        return word

    async def _on_key(self, event: events.Key) -> None:
        if (
            (not self.text and self.scrolls(event.key))
            or await self._handled(event.key)
            or (not self.text and event.character and self.answers(event.character))
        ):
            event.stop()
            event.prevent_default()
            return
        if event.is_printable or event.key in ("backspace", "delete"):
            self._place = None
        await super()._on_key(event)

    async def _handled(self, key: str) -> bool:
        match key:
            case "enter":
                return self._enter()
            case "alt+enter" | "ctrl+enter":
                return self._send(follow_up=True)
            case "tab":
                return self.complete(0) or self._send(follow_up=True) or True
            case "ctrl+j" | "shift+enter" | "newline":
                self.insert("\n")
                return True
            case "up":
                return self.complete(-1) or self._up()
            case "down":
                return self.complete(1) or self._down()
            case "escape":
                self.post_message(self.Asked("escape"))
                return True
            case "ctrl+v":
                self.post_message(self.Asked("paste"))
                return True
            case "ctrl+x" if not self.selected_text:
                self.post_message(self.Asked("withdraw"))
                return True
            case _:
                return False

    def _enter(self) -> bool:
        if self.text.endswith("\\") and self.cursor_location == self.document.end:
            self.put(self.text[:-1] + "\n")
            return True
        self.complete(0)
        return self._send(follow_up=False) or True

    def _send(self, *, follow_up: bool) -> bool:
        text = self.whole_text
        if not text.strip() and not self.takes_empty():
            return False
        self.clear_all()  # here, since what is typed next comes before Sent is handled
        self.post_message(self.Sent(text, follow_up))
        return True

    # -- history --

    def _up(self) -> bool:
        if self.cursor_location[0] > 0:
            return False
        if not self.text and self._place is None and self.can_edit_waiting():
            self.post_message(self.Asked("edit"))
            return True
        return self._recall(-1)

    def _down(self) -> bool:
        if self._place is None or self.cursor_location[0] < self.document.line_count - 1:
            return False
        return self._recall(1)

    def _recall(self, step: int) -> bool:
        place = len(self.earlier) if self._place is None else self._place
        if self._place is None:
            self._draft = self.text
        place += step
        if not 0 <= place <= len(self.earlier) or (not self.earlier):
            return bool(self.earlier)
        if place == len(self.earlier):
            self._place = None
            self.put(self._draft)
        else:
            self._place = place
            self.put(self.earlier[place])
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        pasted = event.text.replace("\r\n", "\n").replace("\r", "\n")
        words = [self.attached.word(path) for path in paths_of(pasted)]
        text = " ".join(words) or self._short(visible(pasted))
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)
