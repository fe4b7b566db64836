"""The slash commands: their names, what they take, and what completes what was typed. Pure."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final, NamedTuple


class Command(NamedTuple):
    name: str
    takes: str
    about: str

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.takes}".rstrip()


COMMANDS: Final = (
    Command("context", "", "what fills the window, down to a single message"),
    Command("compact", "[INSTRUCTIONS]", "make the view smaller now; instructions are for the summary"),
    Command("uncompact", "", "undo the last compaction or prune"),
    Command("pin", "[MESSAGE]", "keep a message through every compaction, or let it go again"),
    Command("model", "[PROVIDER:MODEL]", "take another model, or say which it is"),
    Command("tools", "", "the tools, and which need your approval"),
    Command("grants", "[revoke ID]", "what is allowed without asking, here and in this project; revoke one"),
    Command("retry", "", "go on with a turn that waits after a failure or for more budget"),
    Command("resume", "[SESSION]", "another session"),
    Command("new", "", "a new session"),
    Command("fork", "", "go on in a copy of this session"),
    Command("rewind", "[MESSAGE]", "go back to before something you said"),
    Command("export", "FILE", "write the session to a file: JSON lines, or Markdown for a name that ends in .md"),
    Command("set", "KEY [VALUE]", "change a setting of this session; without a value back to its default"),
    Command("steps", "", "every call: estimate, actual, error"),
    Command("spend", "", "what the session has cost"),
    Command("explain", "MESSAGE", "where a message went"),
    Command("help", "", "keys and commands"),
    Command("quit", "", "leave; the session stays"),
)

KEYS: Final = (
    ("Enter", "send; while it works: steer, goes in before the next call"),
    ("Tab, Alt+Enter", "send when the turn is over (follow-up)"),
    ("Ctrl+J, Shift+Enter", "a new line; a backslash before Enter does the same"),
    ("Up", "edit the newest message that waits; else what you said before"),
    ("Ctrl+X", "withdraw the newest message that waits, or the one being edited"),
    ("Escape", "cancel; again: don't wait for tools"),
    ("y n a p", "answer a call that needs approval: yes, no, always in this session, in this project"),
    ("Page Down, Down", "read a call that is longer than its place; a yes counts at its end"),
    ("Ctrl+O", "unfold results"),
    ("Ctrl+R", "unfold reasoning"),
    ("Page Up, Page Down", "scroll; Ctrl+End goes to the end"),
    ("Ctrl+C", "copy what is selected, else clear the input; twice: leave"),
)


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
    exact = [command for command in COMMANDS if command.name == name]
    found = exact or [command for command in COMMANDS if name and command.name.startswith(name)]
    return found[0] if len(found) == 1 else None


def unknown(name: str) -> str:
    """What is said of a name that is no command."""
    near = get_close_matches(name, [command.name for command in COMMANDS], n=1, cutoff=0.5)
    return f"There is no /{name}." + (f" Did you mean /{near[0]}?" if near else " /help lists them.")


def completions(text: str) -> list[Command]:
    """The commands that what was typed so far may become; none once its name is there and something follows."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return []
    return [command for command in COMMANDS if command.name.startswith(text[1:].lower())]
