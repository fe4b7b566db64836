"""Images and files beside what is typed: a word of the text stands for each, from a paste, a drop or a command.

A terminal drops a file as its path, and pastes text alone. An image in the clipboard is asked for from the program
that the desktop has for that.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from ullage.display.text import printable
from ullage.errors import InputError
from ullage.messages import Message, TextPart
from ullage_agent.runtime.message_input import MessageInput, NamedFile
from ullage_agent.runtime.policy import FILE_BYTES

SHOWN: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"})
"""Suffixes of files whose path in a paste stands for the file itself: a model can't open these by their path."""

LONGEST_PATHS: Final = 4_000
"""Characters of a paste that may be paths."""

CLIPBOARD_S: Final = 5.0

WORD: Final = re.compile(r"\[(?:image|file) \d+: [^\]]*\]")


class AttachedFiles:
    """The files that words in the input stand for, as long as the program runs: a recalled text has its files again."""

    def __init__(self) -> None:
        self._files: dict[str, Path | NamedFile] = {}

    def word(self, file: Path | NamedFile) -> str:
        """A new word for a file."""
        name = printable(file.name).replace("[", "(").replace("]", ")")[:60]
        kind = "file" if name.lower().endswith(".pdf") else "image"
        if Path(name).suffix.lower() not in SHOWN:
            kind = "file"
        word = f"[{kind} {len(self._files) + 1}: {name}]"
        self._files[word] = file
        return word

    def pieces(self, text: str, waiting: Message | None = None) -> list[MessageInput]:
        """What is sent for a text: itself, and the files of its words.

        ``waiting`` is the message that it replaces: files of it that no word here stands for stay with it.
        """
        words = [word for word in WORD.findall(text) if word in self._files]
        files = [self._files[word] for word in dict.fromkeys(words)]
        if waiting is None or files:
            return [text, *files]
        is_ours = any(word in self._files for word in _words_of(waiting))
        kept = [part for part in waiting.parts if not isinstance(part, TextPart)]
        return [text] if is_ours else [text, *kept]


def _words_of(message: Message) -> list[str]:
    return [
        word for part in message.of_type(TextPart) for word in WORD.findall(part.text)
    ]


def attachable(name: str) -> Path:
    """The file of this name. Raises ``InputError`` where there is none."""
    path = Path(name.strip("'\"")).expanduser().absolute()
    if not path.is_file():
        raise InputError(f"There is no file {printable(str(path))}. Check the name.")
    return path


def paths_of(pasted: str) -> list[Path]:
    """The images and PDFs whose paths this paste is, as terminals and file managers write them; else none."""
    if len(pasted) > LONGEST_PATHS or not pasted.strip():
        return []
    whole = Path(pasted.strip()).expanduser()
    if _is_shown(whole):
        return [whole]
    try:
        words = shlex.split(pasted)
    except ValueError:
        return []
    paths = [_path(word) for word in words]
    return paths if all(_is_shown(path) for path in paths) else []


def _path(word: str) -> Path:
    if word.startswith("file://"):
        return Path(unquote(urlsplit(word).path))
    return Path(word).expanduser()


def _is_shown(path: Path) -> bool:
    try:
        return path.suffix.lower() in SHOWN and path.is_absolute() and path.is_file()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


class ClipboardCommand(NamedTuple):
    """A program that writes the clipboard's image to its standard output."""

    words: tuple[str, ...]
    variable: str = ""
    """Set where this program can work."""
    is_hex: bool = False
    """Whether it writes ``«data PNGf…»``, as AppleScript does."""


CLIPBOARDS: Final = (
    ClipboardCommand(("wl-paste", "--type", "image/png"), "WAYLAND_DISPLAY"),
    ClipboardCommand(
        ("xclip", "-selection", "clipboard", "-t", "image/png", "-o"), "DISPLAY"
    ),
    ClipboardCommand(("osascript", "-e", "the clipboard as «class PNGf»"), is_hex=True),
)


async def clipboard_image(environment: Mapping[str, str]) -> NamedFile | None:
    """The image in the clipboard; ``None`` where it holds none.

    Raises ``InputError`` where no program here can tell, or the image is too large.
    """
    usable: list[ClipboardCommand] = []
    for one in CLIPBOARDS:
        is_there = which(one.words[0], path=environment.get("PATH")) is not None
        if is_there and (not one.variable or environment.get(one.variable)):
            usable.append(one)
    if not usable:
        raise InputError(
            "The clipboard can't be read here: that needs wl-paste or xclip, and a desktop on this machine. "
            "Drag the image into the terminal, or name it: /attach FILE."
        )
    data = await _output(usable[0].words, environment)
    if usable[0].is_hex:
        found = re.search(rb"PNGf([0-9A-Fa-f]+)", data)
        data = bytes.fromhex(found[1].decode()) if found else b""
    return NamedFile("clipboard.png", data) if data else None


async def _output(words: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """What a program writes; nothing where it fails or takes too long."""
    most = 2 * FILE_BYTES + 100
    try:
        program = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment),
        )
    except OSError as problem:
        raise InputError(f"{words[0]} can't be started: {problem.strerror}.") from problem
    assert program.stdout is not None
    data = bytearray()
    try:
        async with asyncio.timeout(CLIPBOARD_S):
            while len(data) <= most and (piece := await program.stdout.read(1 << 20)):
                data += piece
            if len(data) > most:
                raise InputError(
                    f"The image in the clipboard has more than {FILE_BYTES:,} bytes, the most a message can hold. "
                    "Send a smaller part of it."
                )
            await program.wait()
    except TimeoutError:
        return b""
    finally:
        with suppress(ProcessLookupError):
            program.kill()
        await program.wait()
    return bytes(data) if program.returncode == 0 else b""
