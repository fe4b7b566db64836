"""Counting Claude's tokens, with its two vocabularies as they were measured.

Anthropic publishes no tokenizer. Sander Land asked its count endpoint which strings are one token, and found how a text
is written before it is cut (https://github.com/sanderland/ctok, MIT, 1.3.0: ``CTOK-LICENSE``): a word stands in lower
case between two marks, one before it says that it was not, and a single space between two words is no character. The
rules here are ctok's but for the rarest signs. No token spans two runs (letters, digits, punctuation, spaces), so that
a text costs the sum of its runs, and a run that was seen before costs a look into a dictionary: about 180 ns a
character.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

import msgspec

from ullage.models.facts import facts
from ullage.tokens.policy import (
    COMPOSED_CHARS,
    PIECES_REMEMBERED,
    PRETOKEN_CHUNK,
    REMEMBERED_CHARS,
    RUN_PARTED,
)

VOCABULARIES: Final = {
    "claude": "vocabulary_claude_3",
    "claude-4.7": "vocabulary_claude_4_7",
}
"""The file of each vocabulary: of Claude 3 to 4.6, and of 4.7 and later."""

BEGIN, END, SHIFT, CAPITALS = "\x01", "\x02", "\x03", "\x04"
"""The marks. No text holds them: the provider drops control characters."""

_WRITTEN: Final = str.maketrans("⟨⟩⇧⇪", BEGIN + END + SHIFT + CAPITALS)
"""How the files write them."""

_DROPPED: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ue000-\uf8ff\ud800-\udfff]")
_SPACES: Final = re.compile("[\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f]")
_QUOTES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_CONTRACTED: Final = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_PUNCTUATION: Final = frozenset("—»«•°„–−£§€…√→（№†└│·─═█")

_RUNS: Final = re.compile(
    "w{1,128}(?: w{1,128})*|p{1,128}|q{1,128}|n{1,128}|d{1,3}|h|[ s]{1,512}"
)
"""Runs, by the kind of each character: ``w`` in words, ``p`` punctuation, ``q`` other signs, ``n`` numerals, ``d``
digits, ``h`` characters without marks (Han, Hangul, emoji), and spaces. Longer ones are cut, which bounds the time;
three digits are always one token."""

_CUT: Final = re.compile(
    ".*(?:w(?= w)|h(?=[hwds])|[pqns](?=[hd])|[qns](?=w)|w(?=[hds])|d(?=[hws])|[pqn](?=s))"
)
"""The last place, by kinds, where a text costs the sum of its parts: neither run there asks what stands beside it."""

_MARKED: Final = frozenset("wpqn")
"""Kinds whose runs have marks at their edges, so that one space between two of them costs nothing."""

_IN_WORDS: Final = frozenset({0, *range(10, 37), 84, 91, 103, 118, 129, 130, 132})
"""Combining classes of the signs that belong to a word: vowels and points. Others, such as accents and viramas, stand
between words."""

_UNMARKED: Final = (
    (0x3001, 0x303F),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
)
_ASTRAL: Final = 0x10000


class _Kinds(dict[int, str]):
    """The kind of each character: a table for ``str.translate`` that is filled as characters come."""

    def __missing__(self, code: int) -> str:
        if code >= _ASTRAL:
            return "h"
        kind = self[code] = _kind(chr(code))
        return kind


_KINDS: Final = _Kinds()


def _kind(sign: str) -> str:
    category = unicodedata.category(sign)
    if sign == " ":
        return " "
    if category[0] == "Z" or sign in "\t\n":
        return "s"
    if any(first <= ord(sign) <= last for first, last in _UNMARKED):
        return "h"
    if category[0] == "L":
        return "w"
    if category[0] == "M" and unicodedata.combining(sign) in _IN_WORDS:
        return "w"
    if category[0] == "N":
        return "d" if sign.isascii() else "n"
    return "p" if sign.isascii() or sign in _PUNCTUATION else "q"


class VocabularyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is one token, in lines with a space between two: ``pieces``, and ``bytes`` of parts of characters."""

    folds_quotes: bool
    capitals_from: int
    """The letters of a word in capitals that has a mark of its own; 0 where none has."""
    spaces: list[str]
    bytes: list[str]
    pieces: list[str]


_file: Final = msgspec.json.Decoder(VocabularyFile)


class _Memo(dict[str, int]):
    """The tokens of what was seen: of so many, and of so many characters."""

    def __init__(self) -> None:
        super().__init__()
        self._chars = 0

    def _remember(self, run: str, tokens: int) -> int:
        if len(self) >= PIECES_REMEMBERED or self._chars >= REMEMBERED_CHARS:
            self.clear()
            self._chars = 0
        self._chars += len(run)
        self[run] = tokens
        return tokens


class _Tokens(_Memo):
    """The tokens of each run that was seen."""

    def __init__(self, file: VocabularyFile) -> None:
        super().__init__()
        listed = " ".join(file.pieces).translate(_WRITTEN).split(" ")
        self.pieces = frozenset(listed).union(file.spaces)
        self._longest = {
            is_word: max(len(each) for each in self.pieces if _is_word(each) == is_word)
            for is_word in (True, False)
        }
        parts = " ".join(file.bytes).split(" ")
        self.parts = {bytes.fromhex(part).decode("latin-1") for part in parts}

    def __missing__(self, run: str) -> int:
        costs = [self._of_one(sign) for sign in run]
        longest = self._longest[_is_word(run)]
        return self._remember(run, _fewest(run, costs, self.pieces, longest))

    def _of_one(self, sign: str) -> int:
        """One character: a token, or the fewest parts that its bytes make up."""
        if sign in self.pieces:
            return 1
        data = sign.encode().decode("latin-1")
        return _fewest(data, [1] * len(data), self.parts, len(data))


def _is_word(run: str) -> bool:
    return any(map(str.isalpha, run))


def _fewest(
    run: str, costs: list[int], pieces: frozenset[str] | set[str], longest: int
) -> int:
    """The fewest tokens that make up a run: pieces of one token each, and single characters at their costs.

    O(length of the run x longest piece).
    """
    best = [0]
    for end, cost in enumerate(costs, start=1):
        fewest = best[-1] + cost
        for start in range(max(0, end - longest), end - 1):
            if best[start] < fewest - 1 and run[start:end] in pieces:
                fewest = best[start] + 1
        best.append(fewest)
    return best[-1]


class _Words(_Memo):
    """The tokens of each word that was seen."""

    def __init__(self, tokens: _Tokens, capitals_from: int) -> None:
        super().__init__()
        self._tokens = tokens
        self._capitals_from = capitals_from

    def __missing__(self, word: str) -> int:
        return self._remember(word, self._tokens[self._marked(word)])

    def _marked(self, word: str) -> str:
        mark, lowered = "", word.lower()
        if 0 < self._capitals_from <= len(word) and all(map(str.isupper, word)):
            mark = CAPITALS
        elif word[0].isupper() and not any(map(str.isupper, word[1:])):
            mark = SHIFT
        if not mark or len(lowered) != len(word):
            return BEGIN + word + END
        return mark + BEGIN + lowered + END


class ClaudeVocabulary:
    """Counts texts in one vocabulary. Safe to share between threads."""

    def __init__(self, file: VocabularyFile) -> None:
        self._folds_quotes = file.folds_quotes
        self._tokens = _Tokens(file)
        self._words = _Words(self._tokens, file.capitals_from)

    def count(self, text: str) -> int:
        """Tokens of a text, without what surrounds a message. Line ends behind it cost nothing."""
        end, total, rest = len(text), 0, ""
        while end > PRETOKEN_CHUNK and _is_nothing(text[end - PRETOKEN_CHUNK : end]):
            end -= PRETOKEN_CHUNK
        for start in range(0, end - PRETOKEN_CHUNK, PRETOKEN_CHUNK):
            rest += self._written(text[start : start + PRETOKEN_CHUNK])
            kinds = rest.translate(_KINDS)
            found = _CUT.match(kinds)
            cut = found.end() if found else len(kinds) // RUN_PARTED * RUN_PARTED
            total += self._count(rest[:cut], kinds[:cut])
            # The space between two words is no character.
            rest = rest[cut + 1 :] if found and kinds[cut] == " " else rest[cut:]
        last = (end - 1) // PRETOKEN_CHUNK * PRETOKEN_CHUNK
        rest = (rest + self._written(text[max(last, 0) : end])).rstrip("\n")
        return total + self._count(rest, rest.translate(_KINDS))

    def _written(self, text: str) -> str:
        """The text as it is cut into runs."""
        text = _DROPPED.sub("", text)
        if text.isascii():
            return text
        text = _SPACES.sub(" ", _composed(text))
        return text.translate(_QUOTES) if self._folds_quotes else text

    def _count(self, text: str, kinds: str) -> int:
        tokens, word, total, last = self._tokens, self._words.__getitem__, 0, ""
        for run in _RUNS.finditer(kinds):
            start, end = run.span()
            body, kind = text[start:end], kinds[start]
            if kind == "w":
                words = body.split(" ")
                if last == "'" and words[0] in _CONTRACTED:
                    total += tokens[last + words.pop(0) + END] - tokens[last]
                total += sum(map(word, words))
            elif kind in _MARKED:
                total += tokens[_marked_at_edges(body, kinds, start, end)]
            elif body != " " or not _is_between_marks(text, kinds, start):
                total += tokens[body]
            last = body
        return total


def _is_nothing(text: str) -> bool:
    """Whether a text costs nothing at the end of another."""
    return not _DROPPED.sub("", text).rstrip("\n")


def _composed(text: str) -> str:
    """The text in NFC. Time is quadratic in the marks that follow one letter, so that it is composed in parts."""
    parts = range(0, len(text), COMPOSED_CHARS)
    return "".join(
        unicodedata.normalize("NFC", text[at : at + COMPOSED_CHARS]) for at in parts
    )


def _opens_word(body: str, kinds: str, end: int) -> bool:
    return body == "'" and kinds[end : end + 1] == "w"


def _marked_at_edges(body: str, kinds: str, start: int, end: int) -> str:
    """A run that has a mark where a space stands before it, or just one behind it."""
    follows_space = start == 0 or kinds[start - 1] == " "
    if follows_space and not _opens_word(body, kinds, end):
        body = BEGIN + body
    is_before_space = kinds[end : end + 1] == " " != kinds[end + 1 : end + 2]
    return body + END if is_before_space else body


def _is_between_marks(text: str, kinds: str, place: int) -> bool:
    """Whether the space at ``place`` stands between two runs whose marks say so."""
    left, right = kinds[place - 1 : place], kinds[place + 1 : place + 2]
    if left not in _MARKED or right not in _MARKED:
        return False
    return not _opens_word(text[place + 1], kinds, place + 2)


@lru_cache(maxsize=2)
def vocabulary(name: str) -> ClaudeVocabulary:
    """One of ``VOCABULARIES``. Its file is read once."""
    return ClaudeVocabulary(facts(VOCABULARIES[name], _file))
