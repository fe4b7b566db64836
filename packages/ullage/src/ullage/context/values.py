"""Values of a conversation: what a summary must hold exactly, because nobody can guess it.

A value is a path, an address, an identifier, a version or a number of four digits and more. Which of them are needed
later is told by use: in real sessions, three of four that a model writes again were written before by the user or by
the model itself, and most of them more than once (docs/why/index.md#compaction).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.context.exchanges import is_request
from ullage.context.policy import VALUE_CHARACTERS
from ullage.messages import Message, ProviderItem, TextPart, ToolCallPart, ToolResultPart

_VALUE: Final = re.compile(
    r"""
  [a-z][a-z0-9+]{1,9}://[^\s<>"'`)\]}\\|]{2,300}                    # an address
 |(?<![\w.+/-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}      # a mail address, a package with its version
 |(?<![\w./~@+-])(?:[A-Za-z]:\\(?:[\w.@+-]{1,100}\\){0,30}[\w.@+-]{0,100}\w  # a path of Windows, and any other
   |(?![\d./]{1,200}(?![\w./@+-]))                                  # (a share such as 3/50 is none)
    ~?/?(?:[\w.@+-]{1,100}/){1,30}[\w.@+-]{0,100}\w|/[\w.@+-]{2,100}\b)
 |(?<![\w./-])[\w-]{1,100}(?:\.[\w-]{1,40}){0,3}\.                   # a file
   (?:bash|bat|c|cc|cfg|cjs|conf|cpp|cs|css|csv|db|env|go|gz|h|hpp|html?|ini|ipynb|java|jpe?g|js|jsonl?|jsx|kt|lock|log
   |lua|mdx?|mjs|mts|pdf|php|png|proto|ps1|pyi?|rb|rs|rst|scss|sh|sql|sqlite|svelte|svg|swift|tar|tf|toml|tsx?|txt|vue
   |whl|xlsx?|xml|ya?ml|zig|zip)\b
 |(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)       # a UUID
 |(?<![\w-])(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}(?!\w)    # a commit, a digest
 |(?<![\w-])[A-Z][A-Z0-9]{0,15}[-_][A-Z0-9_-]{0,30}\d{1,16}(?!\w)   # a ticket, an error's code
 |(?<![\w.-])v?\d{1,9}(?:\.\d{1,9}){2,3}(?:[-+][\w.]{1,30})?(?!\w)  # a version, an IPv4 address
 |(?<![\w.:-])\d{4}-\d\d-\d\d(?![\w-])                              # a date
 |(?<![\w.])\d{1,3}(?:[,_]\d{3}){1,6}(?:\.\d{1,9})?(?!\w)           # a number with separators
 |(?<![\w.:/-])\d{4,40}(?:\.\d{1,9})?(?![\w/-])                     # a number
 |(?<![\w&])\#\d{2,9}(?!\w)                                         # an issue
""",
    re.VERBOSE,
)
_NUMBER: Final = re.compile(r"[\d.,_-]+")

Author = Literal["user", "assistant", "call", "tool"]
"""Who wrote a text: a person, the model (also of an earlier summary), the model in a call's arguments, a tool."""

COPIED: Final = frozenset({"prefix", "said", "quoted", "trail", "values"})
"""The parts of a summary message that code writes, by the ends of their ids."""


class WrittenText(NamedTuple):
    """A text of a message, and who wrote it."""

    speaker: Author
    text: str


class LostValue(msgspec.Struct, frozen=True):
    """A value that only messages that leave hold. ``message`` is the newest of them.

    ``uses`` counts the messages in which the user or the model wrote it; 0 for one that only tools have shown.
    """

    value: str
    message: str
    uses: int


def values_in(text: str) -> tuple[str, ...]:
    """The values in a text, each once, in order. Of a very long text, those at its beginning and its end.

    Args:
        text: Of any kind; takes time in proportion to it, and at most a bounded time.
    """
    if len(text) > 2 * VALUE_CHARACTERS:
        text = f"{text[:VALUE_CHARACTERS]}\n{text[-VALUE_CHARACTERS:]}"
    found = (match.group().rstrip(".,;:") for match in _VALUE.finditer(text))
    return tuple(dict.fromkeys(found))


def is_number(value: str) -> bool:
    """Whether a value says nothing without its line: a number or a date."""
    return _NUMBER.fullmatch(value) is not None


def texts_of(message: Message, *, copied: bool = False) -> Iterator[WrittenText]:
    """What a message says, by who says it; without reasoning, which no later request holds.

    Args:
        message: Of any role.
        copied: Also the texts that code has copied into a summary.
    """
    speaker: Author = "tool"
    if is_request(message):
        speaker = "user"
    elif message.role == "assistant" or message.origin == "summary":
        speaker = "assistant"
    for part in message.parts:
        match part:
            case TextPart() | ProviderItem():
                is_copy = message.origin == "summary" and is_copied(part.id)
                if copied or not is_copy:
                    yield WrittenText(speaker, part.text)
            case ToolCallPart():
                yield WrittenText("call", part.arguments)
            case ToolResultPart():
                yield WrittenText("tool", part.text)
            case _:
                continue


def is_copied(part_id: str) -> bool:
    """Whether a part of a summary message is one that code copied, and no model's text."""
    name = part_id.rpartition(".")[2]
    return name in COPIED or name.startswith("file")


def lost_values(
    leaving: Iterable[Message], stays: Iterable[Message]
) -> tuple[LostValue, ...]:
    """The values of the messages that leave which no message that stays holds, those in use first.

    Args:
        leaving: The messages that leave the view, oldest first.
        stays: The messages of the view afterwards, with the summary.
    """
    held: set[str] = set()
    for message in stays:
        for one in texts_of(message, copied=True):
            held.update(values_in(one.text))
    lost: dict[str, LostValue] = {}
    for message in leaving:
        for value, is_used in _uses(message).items():
            if value not in held:
                before = lost.pop(value, None)
                uses = is_used + (0 if before is None else before.uses)
                lost[value] = LostValue(value, message.id, uses)
    newest_first = reversed(lost.values())
    return tuple(sorted(newest_first, key=lambda each: -each.uses))


def _uses(message: Message) -> dict[str, bool]:
    """The values of a message, and whether the user or the model wrote them."""
    found: dict[str, bool] = {}
    for speaker, text in texts_of(message, copied=True):
        is_used = speaker != "tool"
        for value in values_in(text):
            found[value] = is_used or found.get(value, False)
    return found
