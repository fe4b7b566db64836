"""``ullage chat`` on a full screen: shows what happens in a session, and sends what a person wants.

It holds no state of the session: entries, gauge and queue are folds of its events, the number is the reading's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import ClassVar, Final

from textual import work
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.events import MouseScrollDown, MouseScrollUp
from textual.widgets import TextArea

from ullage.cli.screenplay import Notice, Screenplay
from ullage.display.glyphs import UNICODE, Glyphs
from ullage.display.text import Line, Span
from ullage.errors import CommandRefused, SessionNotFound, UllageError
from ullage.events import (
    CallStarted,
    DraftPiece,
    Event,
    Queued,
    QueueLeft,
    ReadingTaken,
    ToolStarted,
)
from ullage.store.store import QueueKind, SessionStore
from ullage.turns.loop import Loop
from ullage_agent.chat.approving import KEYS, SCROLLS, Approving
from ullage_agent.chat.attaching import AttachedFiles, attachable, clipboard_image
from ullage_agent.chat.choices import (
    Choice,
    message_choices,
    session_choices,
)
from ullage_agent.chat.commands import (
    LEAVE,
    PREVIEW,
    YES,
    Acting,
    CommandResult,
    Typed,
    command_of,
    completions,
    parse,
    unknown,
)
from ullage_agent.chat.driver import TerminalDriver
from ullage_agent.chat.feed import Feed
from ullage_agent.chat.lister import ContextScreen, Overlay, PreviewScreen
from ullage_agent.chat.panels import Panel, Panels, doing
from ullage_agent.chat.previewing import drop_choices, edited, preview_lines
from ullage_agent.chat.prompt import Prompt
from ullage_agent.chat.rendering import visible
from ullage_agent.cli.agent_options import left_out_line
from ullage_agent.cli.asking import Reply, give, granted_line
from ullage_agent.runtime.approvals import Question, questions
from ullage_agent.runtime.hosting import Host
from ullage_agent.runtime.sandboxing import warnings_of
from ullage_agent.runtime.session import Session

PREVIEW_KEYS: Final = (
    "a accepts · e edits the summary · Space and Up scroll · Esc rejects it"
)
PREVIEW_KEYS_FIXED: Final = "a accepts · Space and Up scroll · Esc rejects it"
PREVIEW_LEFT: Final = (
    "Nothing was changed. /accept {} makes that compaction all the same."
)

FRAME_S: Final = 0.05
"""Seconds between two drawings of what has come in."""

NEWEST_EVENTS: Final = 20_000
"""Events that a session is shown from when it is opened: 20,000 are read in 0.3 s here."""

ANSWER_AFTER_S: Final = 0.5
"""Seconds a question stands before a key answers it, so that a letter meant for something else does not."""

LEAVE_WITHIN_S: Final = 3.0
"""Seconds in which a second Ctrl-C leaves."""


class ChatApp(App[str]):
    """The full screen. Gives the id of the session that was open last."""

    CSS = """
    Screen { background: transparent; layout: vertical; }
    #waiting { margin-top: 1; }
    #question { border-top: solid $warning; max-height: 70%; }
    #prompt { border-top: solid $primary; }
    #prompt:focus { border-top: solid $primary; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("ctrl+o", "fold('results')", show=False, priority=True),
        Binding("ctrl+r", "fold('reasoning')", show=False, priority=True),
        ("pageup", "scroll(-1)"),
        ("pagedown", "scroll(1)"),
        Binding("ctrl+end", "scroll(0)", show=False, priority=True),
    ]

    def __init__(
        self,
        host: Host,
        store: SessionStore,
        session: Session,
        environment: Mapping[str, str],
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__(
            driver_class=TerminalDriver, ansi_color=True
        )  # said here, since it looks at NO_COLOR
        self.theme = "ansi-dark"  # the terminal's own colours
        self.attached = AttachedFiles()
        self._host = host
        self._store = store
        self._environment = environment
        self._glyphs = glyphs
        self._panels = Panels(self, glyphs)
        self.session = session
        self.transcript = Screenplay()
        self.acting = Acting(store, session, environment)
        self._stands = Loop()
        self._model = ""
        self.approving = Approving()
        self._grown: int | None = None
        self._streaming = ""
        self._since = time.monotonic()
        self._first_changed: int | None = None
        self._is_stale = True
        self._said: dict[str, str] = {}
        """What messages that waited say, by their id."""
        self._editing = ""
        self._asked_at = 0.0
        self._marked = 0
        self._left_at = -LEAVE_WITHIN_S
        self._cancels = 0
        self._failure: BaseException | None = None

    # -- the screen --

    def compose(self) -> ComposeResult:
        yield Feed(id="feed")
        yield Panel(id="waiting")
        yield Panel(id="question")
        yield Panel(id="completing")
        yield Prompt(id="prompt")
        yield Panel(id="gauge")
        yield Panel(id="foot")

    @property
    def feed(self) -> Feed:
        """The transcript on the screen."""
        return self.screen_stack[0].query_one(Feed)

    @property
    def prompt(self) -> Prompt:
        """The input."""
        return self.screen_stack[0].query_one(Prompt)

    async def on_mount(self) -> None:
        prompt = self.prompt
        prompt.can_edit_waiting = lambda: bool(self._stands.queue)
        prompt.complete = self._complete
        prompt.answers = self._answers
        prompt.scrolls = self._scrolls_question
        prompt.attached = self.attached
        prompt.takes_empty = lambda: self.approving.is_refusing
        prompt.focus()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(name, self.exit, self.session.id)
        self.set_interval(FRAME_S, self._draw)
        await self._open(self.session)
        for warning in warnings_of((await self.session._look()).tools):
            self._warn(warning)

    async def _open(self, session: Session) -> None:
        """Show another session, from what is stored of it, and what happens in it from now on."""
        self.session = session
        self.acting = Acting(self._store, session, self._environment)
        self.transcript = Screenplay()
        self._editing, self._cancels, self._grown = "", 0, None
        self.approving = Approving()
        loop = (await session._look()).ledger.loop
        after = max(0, loop.seq - NEWEST_EVENTS)
        seen = loop.seq
        if after:
            note = f"{after:,} earlier events are not shown; /context lists all that is in view, /export writes all"
            self.transcript.entries.append(Notice(line=(Span(note, "dim"),)))
        for event in await session.history(after=after):
            self.transcript.apply(event)
            self._note(event)
            seen = event.seq
        if line := await left_out_line(session):
            self._warn(line)
        if not self.transcript.entries:
            self._tell([(Span("Ask something. /help lists keys and commands.", "dim"),)])
        self.prompt.earlier = list(self.transcript.prompts)
        self.feed.show(self.transcript.entries)
        self._is_stale = True
        self._follow(session, seen)

    @work(exclusive=True, group="follow")
    async def _follow(self, session: Session, seen: int) -> None:
        """Take in all that happens, as it is stored."""
        try:
            async with aclosing(session.events(after=seen)) as events:
                async for event in events:
                    self._take(event)
        except UllageError as problem:
            self._fail(problem)

    def _take(self, event: Event | DraftPiece) -> None:
        first = self.transcript.apply(event).first
        self._first_changed = (
            first if self._first_changed is None else min(first, self._first_changed)
        )
        if isinstance(event, DraftPiece):
            if event.kind != "done":
                self._streaming = event.kind
            return
        self._is_stale = True
        self._note(event)
        match event:
            case QueueLeft(how="returned") if event.message_id in self._said:
                self.prompt.give_back(self._said[event.message_id])
            case CallStarted(purpose="main") | ToolStarted():
                self._streaming, self._since = "", time.monotonic()
        if isinstance(event, QueueLeft) and event.message_id == self._editing:
            self._editing = ""

    def _note(self, event: Event) -> None:
        match event:
            case ReadingTaken() if (
                event.grown
            ):  # at rest the reading is taken once more, and has not grown
                self._grown = event.grown
            case Queued():
                self._said[event.message.id] = event.message.text

    # -- drawing --

    @property
    def _is_shown(self) -> bool:
        """Whether there is a screen to draw on: the timer's last tick may come behind the end of the program."""
        return self.is_running and bool(self.screen_stack)

    async def _draw(self) -> None:
        """Bring the screen up to what has come in."""
        if not self._is_shown:
            return
        if self._first_changed is not None:
            first, self._first_changed = self._first_changed, None
            self.feed.changed(self.transcript.entries, first)
        self.feed.keep_end()
        failure = self.session._failure
        if failure is not self._failure:
            self._failure = failure
            if failure is not None:
                self._fail(failure)
        if self._is_stale:
            self._is_stale = False
            try:
                work_ = await self.session._look()
            except UllageError as problem:
                self._fail(problem)
                return
            if not self._is_shown:
                return
            own = work_.ledger.loop.settings
            self._stands, self._model = (
                work_.ledger.loop,
                str(own.get("model", work_.settings.model)),
            )
            if self.approving.take(questions(work_)):
                self._asked_at = time.monotonic()
            if not (self._stands.turn or self._stands.cancel):
                self._cancels = 0
            expected = None
            if not self._stands.turn:
                expected = work_.ledger.causes.expected(work_.fold, time.time())
            self._panels.gauge(self.session._reading, self._grown, expected)
            self._panels.waiting(self._stands, self._editing)
            self._draw_question()
        self._draw_foot()

    def on_resize(self) -> None:
        self._is_stale = True

    def _draw_question(self) -> None:
        self._panels.question(self.approving, is_typing=bool(self.prompt.text))

    def _draw_foot(self) -> None:
        left = doing(self._stands, self._streaming, time.monotonic() - self._since)
        if self._failure is not None and self._stands.turn:
            left = (Span("stopped", "bad"), Span("  /retry continues", "dim"))
        if time.monotonic() - self._left_at < LEAVE_WITHIN_S:
            goes_on = (
                "; the turn goes on when the session is opened again"
                if self._stands.turn
                else ""
            )
            left = (Span(f"Ctrl+C again leaves{goes_on}", "warn"),)
        elif not self.feed.follows:
            left = (*left, Span("  more below: Ctrl+End", "mark"))
        self._panels.foot(left, self._model, self.session.id)

    def _tell(self, lines: Iterable[Line]) -> None:
        """Lines of ours in the transcript; they are not stored."""
        first = len(self.transcript.entries)
        self.transcript.entries.extend(Notice(line=line) for line in lines)
        self._first_changed = (
            first if self._first_changed is None else min(first, self._first_changed)
        )

    def _warn(self, text: str) -> None:
        self._tell([(Span(text, "warn"),)])

    def _fail(self, problem: BaseException) -> None:
        said = (
            str(problem)
            if isinstance(problem, UllageError)
            else f"{type(problem).__name__}: {problem}"
        )
        self._tell([(Span(line, "bad"),) for line in visible(said).splitlines()])

    # -- what is typed --

    async def on_prompt_sent(self, event: Prompt.Sent) -> None:
        text, editing = event.text, self._editing
        self._left_at = -LEAVE_WITHIN_S
        question = self.approving.question
        if self.approving.is_refusing and question is not None:
            self._answer(question, Reply(False, text.strip()))
            return
        if editing:
            self._editing = ""
            await self._edit(editing, text)
            return
        typed = parse(text)
        self.prompt.earlier.append(text)
        if typed is not None:
            await self.run_command(typed)
            return
        kind: QueueKind = "follow_up" if event.follow_up else "steer"
        try:
            await self.session.send(*self.attached.pieces(text), kind=kind)
        except UllageError as problem:
            self.prompt.give_back(text)
            self._fail(problem)
        self.feed.to_end()
        self._is_stale = True

    async def _edit(self, message: str, text: str) -> None:
        queued = [one.message for one in self._stands.queue if one.message.id == message]
        waiting = queued[0] if queued else None
        try:
            await self.session.edit(message, *self.attached.pieces(text, waiting))
            self._said[message] = text
        except CommandRefused:
            self.prompt.give_back(text)
            self._warn(
                "It was delivered before the change: Enter sends this as a new message."
            )
        except UllageError as problem:
            self.prompt.give_back(text)
            self._fail(problem)
        self._is_stale = True

    async def on_prompt_asked(self, event: Prompt.Asked) -> None:
        match event.what:
            case "escape":
                self._escape()
            case "edit":
                self._begin_edit()
            case "withdraw":
                await self._withdraw()
            case "paste":
                self._paste()

    @work(exclusive=True, group="paste")
    async def _paste(self) -> None:
        """The image in the clipboard, else the text that was copied here."""
        prompt = self.prompt
        if self.clipboard and not prompt.read_only:
            prompt.action_paste()
            return
        try:
            image = await clipboard_image(self._environment)
        except UllageError as problem:
            self._fail(problem)
            return
        if image is None:
            self._warn("The clipboard holds no image.")
        else:
            prompt.insert(self.attached.word(image))

    def _begin_edit(self) -> None:
        if not self._stands.queue:
            return
        last = self._stands.queue[-1].message.id
        self._editing = last
        self.prompt.put(self._stands.queue[-1].message.text)
        self._is_stale = True

    async def _withdraw(self) -> None:
        if not self._stands.queue:
            return
        message = self._editing or self._stands.queue[-1].message.id
        text = next(
            one.message.text for one in self._stands.queue if one.message.id == message
        )
        try:
            await self.session.withdraw(message)
        except UllageError as problem:
            self._fail(problem)
            return
        self.prompt.clear_all()
        self.prompt.earlier.append(text)
        self._editing, self._is_stale = "", True

    def _escape(self) -> None:
        if self.approving.is_refusing:
            self.approving.is_refusing = False
            self._draw_question()
            return
        if self._editing:
            self._editing, self._is_stale = "", True
            self.prompt.clear_all()
            return
        loop = self._stands
        if (
            loop.turn
            or loop.call
            or loop.compaction
            or loop.side_call
            or loop.compact_asked is not None
        ):
            self._cancels += 1
            self._cancel(self._cancels > 1)

    @work(group="cancel")
    async def _cancel(self, at_once: bool) -> None:
        try:
            await self.session.cancel(tools="stop" if at_once else None)
        except UllageError as problem:
            self._fail(problem)
        self._is_stale = True

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._marked = 0
        self._panels.completing(completions(self.prompt.text), self._marked)
        if self.approving.questions:
            self._draw_question()

    def _complete(self, step: int) -> bool:
        found = completions(self.prompt.text)
        if not found:
            return False
        if step:
            self._marked = (self._marked + step) % len(found)
            self._panels.completing(found, self._marked)
            return True
        chosen = found[min(self._marked, len(found) - 1)]
        self.prompt.put(f"/{chosen.name} " if chosen.takes else f"/{chosen.name}")
        return True

    # -- commands --

    async def run_command(self, typed: Typed) -> None:
        """Carry out a slash command. One that is none leaves the input: what is typed next is another text."""
        command = command_of(typed.name)
        if command is None:
            self._warn(f"{unknown(typed.name)} The key Up brings back what you typed.")
            return
        try:
            match command.name, typed.argument:
                case "context", _:
                    await self.push_screen(ContextScreen(self.acting, self._glyphs))
                    return
                case "resume", "":
                    self._choose("Sessions", await session_choices(self._store), "resume")
                    return
                case "attach", name if name:
                    self.prompt.insert(self.attached.word(attachable(name)))
                    return
                case "compact", wishes if wishes.startswith(PREVIEW):
                    self._preview(wishes)
                    return
                case "drop", "":
                    found = await self.session.droppable()
                    choices = drop_choices(found, self.size.width - 4)
                    self._choose("Drop a part of the view", choices, command.name)
                    return
                case "rewind" | "pin" | "explain", "":
                    choices = await message_choices(
                        self.session, command.name, self.size.width - 4
                    )
                    self._choose(command.about, choices, command.name)
                    return
            self._show(
                await self.acting.run(
                    typed, self.transcript, self.size.width - 4, self._glyphs
                )
            )
        except UllageError as problem:
            self._fail(problem)

    @work(group="choose")
    async def _choose(self, title: str, choices: list[Choice], command: str) -> None:
        target = await self.push_screen_wait(
            Overlay(title[:1].upper() + title[1:], choices)
        )
        if target:
            done = f" {YES}" if command == "drop" else ""  # its price stood there
            await self.run_command(Typed(command, target + done))

    @work(exclusive=True, group="preview")
    async def _preview(self, wishes: str) -> None:
        """Show a compaction before it is made, and carry out what the person decides. Escape cancels its call."""
        try:
            preview = await self.acting.preview(wishes)
            summary: str | None = None
            while True:
                lines = preview_lines(preview, self.size.width - 4, summary)
                keys = PREVIEW_KEYS if preview.is_editable else PREVIEW_KEYS_FIXED
                panel = PreviewScreen(
                    "Preview: nothing is changed yet",
                    [Choice(line) for line in lines],
                    keys,
                )
                decided = await self.push_screen_wait(panel)
                if decided == "edit" and preview.is_editable:
                    shown = preview.summary if summary is None else summary
                    with self.batch_update(), self.suspend():
                        summary = await edited(shown, self._environment)
                    self.refresh()
                elif decided == "accept":
                    await self.session.accept(preview, summary=summary)
                    return
                elif not decided:
                    self._tell([(Span(PREVIEW_LEFT.format(preview.id), "dim"),)])
                    return
        except (UllageError, SuspendNotSupported) as problem:
            self._fail(problem)
        finally:
            self._is_stale = True

    def _show(self, outcome: CommandResult) -> None:
        self._tell(outcome.lines)
        if outcome.text:
            self.prompt.give_back(outcome.text)
        if outcome.opens == LEAVE:
            self.exit(self.session.id)
        elif outcome.opens:
            self._go(outcome.opens)
        self.feed.to_end()
        self._is_stale = True

    @work(exclusive=True, group="go")
    async def _go(self, name: str) -> None:
        """To another session; this one is worked on while it is not looked at."""
        try:
            settings = (await self.session._look()).ledger.loop.settings
            try:
                await self._store.about(name)
            except SessionNotFound:
                await self._open(await self._host.begin(name, settings))
            else:
                await self._open(await self._host.wake(name))
        except UllageError as problem:
            self._fail(problem)

    # -- approvals --

    def _answers(self, key: str) -> bool:
        """Take a letter as an answer to the question, if one stands there."""
        question = self.approving.question
        if question is None or self.approving.is_refusing or key.lower() not in KEYS:
            return False
        if time.monotonic() - self._asked_at < ANSWER_AFTER_S:
            return True
        match self.approving.act(key):
            case "refuse":
                self.approving.is_refusing = True
            case "approve":
                self._answer(question, Reply(True))
            case "session" | "project" as scope:
                self._answer(question, Reply(True, always=scope))
        self._draw_question()
        return True

    def _scrolls_question(self, key: str) -> bool:
        """Scroll a call that does not fit; with an empty input its keys are the question's."""
        if (
            self.approving.question is None
            or self.approving.is_refusing
            or key not in SCROLLS
        ):
            return False
        has_scrolled = self.approving.scroll(key)
        if has_scrolled:
            self._draw_question()
        return has_scrolled

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """The wheel over the question scrolls the call."""
        self._wheel(event, "down")

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The wheel over the question scrolls the call."""
        self._wheel(event, "up")

    def _wheel(self, event: MouseScrollDown | MouseScrollUp, key: str) -> None:
        over = event.widget
        if over is not None and over.id == "question" and self._scrolls_question(key):
            event.stop()

    @work(exclusive=True, group="answer")
    async def _answer(self, question: Question, reply: Reply) -> None:
        self.approving.is_refusing = False
        try:
            await give(self.session, question, reply)
            if line := granted_line(question, reply):
                self._tell([(Span(f"{line} · /permissions lists them", "dim"),)])
        except UllageError as problem:
            self._fail(problem)
        self._is_stale = True

    # -- keys of the whole screen --

    def action_interrupt(self) -> None:
        """Copy what is selected, else clear the input, else leave at the second time."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            return
        if len(self.screen_stack) > 1:
            self.screen.dismiss("")
            return
        if self.prompt.text:
            self.prompt.earlier.append(self.prompt.whole_text)
            self.prompt.clear_all()
            self._editing, self._is_stale = "", True
            return
        if time.monotonic() - self._left_at < LEAVE_WITHIN_S:
            self.exit(self.session.id)
        self._left_at = time.monotonic()

    def action_leave(self) -> None:
        """Leave at once; the session stays."""
        self.exit(self.session.id)

    def action_fold(self, what: str) -> None:
        """Fold or unfold all results, or all reasoning."""
        feed = self.feed
        if what == "results":
            feed.fold(results=not feed.unfolds_results)
        else:
            feed.fold(reasoning=not feed.unfolds_reasoning)

    def action_scroll(self, step: int) -> None:
        """A page of the transcript, or its end."""
        if step:
            self.feed.scroll_relative(
                y=step * max(1, self.feed.size.height - 2), animate=False
            )
        else:
            self.feed.to_end()
