"""The slash commands: their names and completions, and what each does.

The full screen and the plain conversation share them: a command gives lines to show.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ullage.cli.drawing import Subject, draw
from ullage.cli.footing import usage_items
from ullage.cli.listing import step_table
from ullage.cli.screenplay import Screenplay, as_markdown
from ullage.cli.table import LARGEST_NAMED
from ullage.context.preview import CompactionPreview
from ullage.context.surgery import STRETCH
from ullage.display.glyphs import Glyphs
from ullage.display.text import (
    Line,
    Span,
    cells,
    counted,
    dollars,
    number,
    padded,
    printable,
)
from ullage.errors import BadKey, CommandRefused, InputError
from ullage.events import CompactAsked
from ullage.similar import similar
from ullage.store.export import export_file
from ullage.store.store import MOST_LISTED, SessionStore
from ullage.turns.grants import granted_words
from ullage_agent.chat.drilldown import DrilldownData
from ullage_agent.chat.previewing import drop_choices, preview_lines, surgery_lines
from ullage_agent.cli.agent_options import meant_in
from ullage_agent.cli.permissions import meant
from ullage_agent.file_history.report import NEVER, FileChanges
from ullage_agent.runtime.approvals import may_ask
from ullage_agent.runtime.quotas import new_session_id
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.settings import from_text


class Command(NamedTuple):
    name: str
    takes: str
    about: str

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.takes}".rstrip()


COMMANDS: Final = (
    Command("context", "", "what fills the window, down to one message"),
    Command(
        "compact",
        "[--preview] [up-to|from MESSAGE] [INSTRUCTIONS]",
        "make the view smaller: all, or around a message; --preview shows it first",
    ),
    Command("accept", "[PREVIEW]", "make the compaction that was previewed"),
    Command(
        "drop",
        "[PLACE] [--yes]",
        "take a result, image or message out; no PLACE: the largest",
    ),
    Command("uncompact", "", "undo the last compaction, prune or rewind"),
    Command("pin", "[MESSAGE]", "keep a message in view, or let it go again"),
    Command("model", "[PROVIDER:MODEL]", "take another model, or say which it is"),
    Command("tools", "", "the tools, and which need your approval"),
    Command(
        "permissions",
        "[revoke ID]",
        "what is allowed without asking; revoke one",
    ),
    Command("retry", "", "continue a turn that failed or needs budget"),
    Command("resume", "[SESSION]", "another session"),
    Command("new", "", "a new session"),
    Command("fork", "", "go on in a copy of this session"),
    Command(
        "rewind",
        "[MESSAGE] [--files]",
        "go back to before something you said; --files: restore what tools changed",
    ),
    Command(
        "export",
        "FILE",
        "write JSON lines, or Markdown as FILE.md",
    ),
    Command(
        "set",
        "KEY [VALUE]",
        "change a setting; no value: its default",
    ),
    Command("steps", "", "every call: estimate, actual, error"),
    Command("spend", "", "what the session has cost"),
    Command("explain", "MESSAGE", "where a message went"),
    Command("attach", "FILE", "add an image, a PDF or a text file"),
    Command("help", "", "keys and commands"),
    Command("quit", "", "leave; the session stays"),
)

_DIFF: Final = {"+": "row2", "-": "warn"}
"""The styles of the lines of a diff, by how they begin."""

_TAKEN_BACK: Final = {
    "added": "removed",
    "changed": "restored",
    "deleted": "brought back",
}
"""What a rewind, or its undoing, did to a file that had been changed so."""

KEYS: Final = (
    ("Enter", "send; while it works: before the next call"),
    ("Tab, Alt+Enter", "send when the turn is over (follow-up)"),
    ("Ctrl+J, Shift+Enter", "a new line; so does a backslash before Enter"),
    ("Up", "edit what waits, else what you said before"),
    ("Ctrl+X", "withdraw the newest that waits, or is edited"),
    ("Escape", "cancel; again: don't wait for tools"),
    (
        "y n a p",
        "yes, no, always in this session, in this project",
    ),
    (
        "Page Down, Down",
        "read a long call; a yes counts at its end",
    ),
    ("Ctrl+V", "paste an image; a dropped one is added too"),
    ("Ctrl+O", "unfold results"),
    ("Ctrl+R", "unfold reasoning"),
    ("Page Up, Page Down", "scroll; Ctrl+End goes to the end"),
    ("Ctrl+C", "copy what is selected, else clear; twice: leave"),
)


ELSEWHERE: Final = {"exit": "quit", "clear": "new", "cost": "spend"}
"""Commands of Claude Code and Codex, which do here what they do there."""

PREVIEW: Final = "--preview"
YES: Final = "--yes"
LOSE_REASONING: Final = "--lose-reasoning"


class Typed(NamedTuple):
    """A command as it was typed."""

    name: str
    argument: str


def parse(text: str) -> Typed | None:
    """The command in this text; ``None`` for something to be said, such as a path that begins with a slash."""
    if not text.startswith("/") or text[1:2].isspace() or "\n" in text.strip():
        return None
    name, _, argument = text[1:].strip().partition(" ")
    if not name.replace("-", "").isalpha():
        return None
    return Typed(name.lower(), argument.strip())


def command_of(name: str) -> Command | None:
    """The command of that name, or of that beginning where only one begins so."""
    name = ELSEWHERE.get(name, name)
    found = [each for each in COMMANDS if name and each.name.startswith(name)]
    exact = [each for each in found if each.name == name]
    return (exact or found)[0] if len(exact or found) == 1 else None


def unknown(name: str) -> str:
    """What is said of a name that is no command."""
    meant = similar(name, [command.name for command in COMMANDS], cutoff=0.5)
    hint = f"Did you mean /{meant}?" if meant else "/help lists them."
    return f"There is no /{name}. {hint}"


def completions(text: str) -> list[Command]:
    """The commands that what was typed so far may become; none once its name is there and something follows."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return []
    return [command for command in COMMANDS if command.name.startswith(text[1:].lower())]


class CommandResult(NamedTuple):
    """What a command gives: lines to show, a session to go to (``-`` leaves), or text for the input."""

    lines: tuple[Line, ...] = ()
    opens: str = ""
    text: str = ""


LEAVE = "-"
FILES: Final = "--files"


class Acting:
    """Carries out commands on the session that is open. Raises ``UllageError``."""

    def __init__(
        self, store: SessionStore, session: Session, environment: Mapping[str, str]
    ) -> None:
        self.store = store
        self.session = session
        self._environment = environment
        self._previewed = ""
        """The id of the last preview."""
        self._shown: FileChanges | None = None
        """The files that a rewind was shown to restore."""

    async def run(
        self, typed: Typed, transcript: Screenplay, width: int, glyphs: Glyphs
    ) -> CommandResult:
        """Carry out a command; the ones that a screen shows as lists are plain lines here."""
        command = command_of(typed.name)
        if command is None:
            return said(unknown(typed.name), "warn")
        match command.name:
            case "context":
                return CommandResult(
                    tuple(draw((await self.window()).subject, width, glyphs))
                )
            case "steps":
                return CommandResult(
                    tuple(step_table((await self.session._meter()).steps, width))
                )
            case "tools":
                return await self._tools(width)
            case "spend":
                return await self._spend()
            case "permissions":
                return await self._permissions(typed.argument)
            case "help":
                return CommandResult(tuple(help_lines()))
            case "attach":
                return said(
                    f"/{command.name} {command.takes} is for the full screen.", "warn"
                )
            case "quit":
                return CommandResult(opens=LEAVE)
            case "explain" | "export" | "fork" | "new" | "resume":
                return await self._elsewhere(command.name, typed.argument)
            case _:
                return await self._change(command.name, typed.argument, transcript, width)

    async def _change(
        self, name: str, argument: str, transcript: Screenplay, width: int
    ) -> CommandResult:
        """What changes this session."""
        match name:
            case "compact" if argument.startswith(PREVIEW):
                preview = await self.preview(argument)
                hint = "Nothing is changed yet: /accept makes the compaction."
                lines = preview_lines(preview, width)
                return CommandResult((*lines, (Span(hint, "mark"),)))
            case "compact":
                wishes = await self._wishes(argument)
                await self.session.compact(
                    wishes.instructions, up_to=wishes.up_to, from_=wishes.from_
                )
                return CommandResult()
            case "accept":
                await self.session.accept(argument or self._previewed)
                return CommandResult()
            case "drop":
                return await self._drop(argument, width)
            case "uncompact":
                if not transcript.undoable:
                    return said(
                        "There is no compaction, prune or rewind to undo.", "warn"
                    )
                told = await self.session.uncompact(transcript.undoable[-1])
                return CommandResult(tuple(file_lines(told, is_done=True)))
            case "retry":
                await self.session.resume()
                return CommandResult()
            case "model":
                return await self._model(argument)
            case "set":
                return await self._set(argument)
            case "pin":
                return await self.pin(argument)
            case _:
                return await self.rewind(argument)

    async def _elsewhere(self, name: str, argument: str) -> CommandResult:
        """What looks at, copies or leaves this session."""
        match name:
            case "explain":
                message = await self._named(argument)
                return said(str(await self.session.explain(message)))
            case "export":
                return await self._export(argument)
            case "new":
                return CommandResult(opens=new_session_id())
            case "fork":
                through = (await self.session._look()).ledger.loop.seq
                made = await self.session.fork(through=through)
                return CommandResult(opens=made.session)
            case _:
                rows = await self.store.sessions(limit=20)
                if not argument:
                    return CommandResult(
                        tuple(
                            (Span(f"{row.id}  {printable(row.title)}"),) for row in rows
                        )
                    )
                session, _ = await meant_in(self.store, argument)
                await self.store.about(session)
                return CommandResult(opens=session)

    # -- settings --

    async def _model(self, name: str) -> CommandResult:
        work = await self.session._look()
        settings, own = work.settings, work.ledger.loop.settings
        if not name:
            return said(
                f"The model is {own.get('model', settings.model)}. /model PROVIDER:MODEL takes another."
            )
        try:
            work.shared.commanded({"model": name}, own, changed=work.changed).endpoint(
                self._environment
            )
        except BadKey as problem:
            await self.session.set(model=name)
            return said(f"Set, but it can't be called yet: {problem}", "warn")
        await self.session.set(model=name)
        return CommandResult()

    async def _set(self, argument: str) -> CommandResult:
        key, _, value = argument.replace("=", " ", 1).partition(" ")
        key, value = key.strip(), value.strip()
        if not key:
            return said(
                "/set KEY VALUE changes a setting of this session; docs/settings.md lists them.",
                "warn",
            )
        await self.session._set({key: from_text(key, value) if value else None})
        return CommandResult()

    # -- messages --

    async def _named(self, name: str) -> str:
        """A message's id, said as itself, as ``#12`` (its place in view), or not at all for the last one said."""
        messages = await self.session.messages()
        if not name:
            own = [
                message
                for message in messages
                if message.role == "user" and message.origin == "said"
            ]
            if not own:
                raise CommandRefused("This session has no messages yet. Send one first.")
            return own[-1].id
        place = name.removeprefix("#")
        if place.isdigit():
            if not 0 < int(place) <= len(messages):
                raise CommandRefused(
                    f"There is no message #{place} in view: there are {len(messages)}."
                )
            return messages[int(place) - 1].id
        return name

    async def _wishes(self, argument: str) -> CompactAsked:
        """Compact everything, or what stands before a message (``up-to MESSAGE``), or from it on (``from MESSAGE``)."""
        first, _, rest = argument.partition(" ")
        if first not in ("up-to", "from"):
            return CompactAsked(instructions=argument)
        name, _, instructions = rest.strip().partition(" ")
        message = await self._named(name)
        wishes = instructions.strip()
        if first == "from":
            return CompactAsked(instructions=wishes, from_=message)
        return CompactAsked(instructions=wishes, up_to=message)

    async def preview(self, argument: str) -> CompactionPreview:
        """What ``/compact`` would do; the argument begins with ``--preview``."""
        wishes = await self._wishes(argument.removeprefix(PREVIEW).strip())
        preview = await self.session.preview(
            wishes.instructions, up_to=wishes.up_to, from_=wishes.from_
        )
        self._previewed = preview.id
        return preview

    async def _drop(self, argument: str, width: int) -> CommandResult:
        """The largest parts, the price of a drop, or with ``--yes`` the drop."""
        words = argument.split()
        places: list[str] = []
        for word in words:
            if word.startswith("--") and word not in (YES, LOSE_REASONING):
                raise CommandRefused(
                    f"/drop has no {printable(word)}: it takes {YES} and {LOSE_REASONING}."
                )
            if not word.startswith("--"):
                ends = [await self._named(end) for end in word.split(STRETCH)]
                places.append(STRETCH.join(ends))
        if not places:
            found = await self.session.droppable()
            choices = drop_choices(found, width, has_places=True)
            return CommandResult(tuple(choice.line for choice in choices))
        surgery = await self.session.drop(
            *places,
            dry_run=YES not in words,
            loses_reasoning=LOSE_REASONING in words,
        )
        if surgery.id:
            return CommandResult()
        told = list(surgery_lines(surgery))
        hint = f"/drop {' '.join(words)} {YES}"
        if not surgery.refused:
            told.append((Span(f"Nothing is changed yet: {hint} does it.", "mark"),))
        elif surgery.reasoning_lost:
            told.append((Span(f"{hint} {LOSE_REASONING} does it all the same.", "mark"),))
        return CommandResult(tuple(told))

    async def pin(self, name: str) -> CommandResult:
        """Pin a message, or let a pinned one go."""
        message = await self._named(name)
        work = await self.session._look()
        if message not in work.ledger.meter._fold.view.entries:
            raise CommandRefused(
                f"There is no message {name} in view. /context lists them."
            )
        pinned = message in work.memory.pins
        await self.session.pin(message, pinned=not pinned)
        return CommandResult()

    async def rewind(self, argument: str) -> CommandResult:
        """Go back to before a message; what it said comes back, to be said otherwise.

        With ``--files`` the files are shown first, and the command comes back into the input, to be sent again.
        """
        words = argument.split()
        has_files = FILES in words
        name = " ".join(word for word in words if word != FILES)
        message = await self._named(name)
        messages = await self.session.messages()
        places = [place for place, one in enumerate(messages) if one.id == message]
        if not places:
            raise CommandRefused(
                f"There is no message {name} in view. /context lists them."
            )
        before = messages[places[0] - 1].id if places[0] else ""
        if has_files:
            told = await self.session.changed_files(before)
            if told != self._shown:
                self._shown = told
                asked = (
                    "Send the command again: it goes back, and takes these changes back."
                )
                if not told.files:
                    asked = "No file would be restored. Send the command again to go back all the same."
                return CommandResult(
                    (*file_lines(told), (Span(asked, "mark"),)),
                    text=f"/rewind {message} {FILES}",
                )
        self._shown = None
        told = await self.session.rewind(before, files=has_files)
        lines = file_lines(told, is_done=True) if has_files else []
        return CommandResult(tuple(lines), text=messages[places[0]].text)

    # -- looking --

    async def window(self) -> DrilldownData:
        """All that ``/context`` shows."""
        work = await self.session._look()
        meter, reading = await self.session._meter(), await self.session.context()
        items, request = meter.largest(MOST_LISTED), meter.request()
        subject = Subject(
            reading=reading,
            program="ullage chat",
            calls=len(meter.steps),
            steps=meter.steps,
            largest=items[: LARGEST_NAMED + 1],
            rows_hint="Enter lists them",
            window_hint="/set window 200k",
        )
        return DrilldownData(
            reading,
            subject,
            request.messages,
            items,
            meter._fold.tools or (),
            request.system,
            work.memory.pins,
        )

    async def _tools(self, width: int) -> CommandResult:
        work = await self.session._look()
        if not work.tools:
            return said("There are no tools: /set tools read,list,search gives some.")
        widest = max(map(cells, work.tools))
        lines: list[Line] = []
        for name, tool in work.tools.items():
            asks = may_ask(work, tool)
            about = " ".join(tool.declaration.description.split())
            lines.append(
                (
                    Span(padded(printable(name), widest + 2), "strong"),
                    Span(padded("asks first" if asks else "", 12), "warn"),
                    Span(printable(about)[: max(10, width - widest - 16)], "dim"),
                )
            )
        return CommandResult(tuple(lines))

    async def _permissions(self, argument: str) -> CommandResult:
        """What is allowed without asking, or one of it revoked."""
        word, _, name = argument.partition(" ")
        if word == "revoke" and name.strip():
            grant = meant(
                name.strip(), [one.grant.id for one in await self.session.grants()]
            )
            await self.session.revoke(grant)
            return said(
                f"Revoked: {printable(grant)}. Such calls need your approval again."
            )
        if argument:
            return said(
                "/permissions lists what is allowed without asking; /permissions revoke ID takes one back.",
                "warn",
            )
        found = await self.session.grants()
        if not found:
            return said(
                "Nothing is allowed without asking. The keys a and p of a question allow such calls."
            )
        listed: list[Line] = [
            (
                Span(padded(one.grant.id, 16), "strong"),
                Span(padded(f"this {one.scope}", 14), "dim"),
                Span(granted_words(one.grant.tool, one.grant.prefix)),
            )
            for one in found
        ]
        return CommandResult(
            (*listed, (Span("/permissions revoke ID takes one back.", "dim"),))
        )

    async def _spend(self) -> CommandResult:
        spend = (await self.session.context()).spend
        lines: list[Line] = []
        for purpose, total in [("all", spend.all), *spend.by_purpose.items()]:
            if total.calls:
                said_of = " · ".join([counted(total.calls, "call"), *usage_items(total)])
                lines.append((Span(padded(purpose, 10), "strong"), Span(said_of)))
        if not lines:
            return said("Nothing has been spent yet.")
        money = spend.money
        if money.priced:
            without = (
                f", {counted(money.unpriced, 'call')} without a price"
                if money.unpriced
                else ""
            )
            lines.append(
                (
                    Span(padded("money", 10), "strong"),
                    Span(f"{dollars(money.usd)} at list prices{without}"),
                )
            )
        return CommandResult(tuple(lines))

    async def _export(self, name: str) -> CommandResult:
        if not name:
            return said(
                "/export FILE: say which file. A name that ends in .md is written to be read by people.",
                "warn",
            )
        path = Path(name).expanduser()
        if path.suffix == ".md":
            transcript = Screenplay()
            transcript.apply_all(await self.session.history())
            try:
                await asyncio.to_thread(
                    path.write_text,
                    as_markdown(f"Session {self.session.id}", transcript.entries),
                    encoding="utf-8",
                )
            except OSError as problem:
                raise InputError(
                    f"{path} can't be written: {problem.strerror}."
                ) from problem
        else:
            await export_file(self.store, self.session.id, path)
        size = (await asyncio.to_thread(path.stat)).st_size
        return said(f"Written: {printable(str(path))}, {number(size)} bytes.")


def said(text: str, style: str = "dim") -> CommandResult:
    """One line of ours."""
    return CommandResult(((Span(text, style),),))


def file_lines(told: FileChanges, *, is_done: bool = False) -> list[Line]:
    """What tools have changed, with diffs, and what a rewind leaves alone; once it ``is_done``, what it did."""
    lines: list[Line] = []
    if told.files and not is_done:
        changed = counted(len(told.files), "file")
        lines.append((Span(f"Tools have changed {changed} since:", "title"),))
    for one in told.files:
        change = _TAKEN_BACK[one.change] if is_done else one.change
        lines.append((Span(f"{change}  {printable(one.path)}", "strong"),))
        for text in () if is_done else one.diff.splitlines():
            lines.append((Span(f"  {printable(text)}", _DIFF.get(text[:1], "dim")),))
    for path in told.edited_since:
        text = f"left alone, as it was changed by others since: {printable(path)}"
        lines.append((Span(text, "warn"),))
    for missing in told.not_covered:
        if is_done and missing.reason == NEVER:
            continue  # it stood before the rewind
        path = f"{printable(missing.path)}: " if missing.path else ""
        lines.append((Span(f"not restored: {path}{missing.reason}", "dim"),))
    return lines


def help_lines() -> list[Line]:
    """Keys and commands."""
    lines: list[Line] = [(Span("Keys", "title"),)]
    lines += [(Span(f"  {keys:<28}  "), Span(about, "dim")) for keys, about in KEYS]
    lines += [(), (Span("Commands", "title"),)]
    lines += [
        (Span(f"  {command.usage:<28}  "), Span(command.about, "dim"))
        for command in COMMANDS
    ]
    return lines
