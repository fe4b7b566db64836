"""Invented text in the kinds an agent's window is full of: prose, code, JSON, logs. The same for the same seed.

Words follow a Zipf-like law with a long tail of made-up names, numbers and hashes, because an estimator that remembers
pieces of text would be flattered by a small vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import accumulate
from random import Random

_COMMON = """
the a of to and in is it that for this with on as be was are not by from or an at which we if have has can will when
there one all but file test value line new only they so no then first should more after into does two each error than
how its would set before same list between check tank cask level sensor reading volume cellar pump batch valve barrel
pressure sample report window limit buffer queue worker retry schema field record table index cache token stream event
because while without already still every other under over again around instead nothing something whatever another
number result change function module package import return returns called caller runs running build built fails failed
passes passed expected actual missing empty wrong right left last next small large old fast slow open closed ready
write written read reads store stored load loaded start started stop stopped wait waiting move moved keep kept find
found look seems means needs takes makes gives goes comes shows says turns holds drops adds used using use make take
data type name path time date size count total rate unit litre degree hour minute second day week room wall floor door
oak steel copper glass wood cork hoop stave bung tap hose filter yeast sugar acid alcohol density temperature ferment
press crush rack blend bottle label ship order invoice customer season harvest vintage grower farmer estate hill valley
""".split()  # noqa: SIM905
_ROOTS = """
bar cel dor fen gal hul ist jor kel lam mer nol oss pra qui rost sel tun ulla vat wex yar zim cor dra fer gran lith
""".split()  # noqa: SIM905
_TAILS = "er ing ed ation ment able ive ness or ure al ic ity ous ly ist ance age".split()  # noqa: SIM905
_VERBS = "get set load read find make parse merge split check apply count drain fill open close send trim".split()  # noqa: SIM905
_TYPES = (
    "int",
    "str",
    "float",
    "bool",
    "list[str]",
    "dict[str, int]",
    "Path",
    "bytes | None",
    "Sequence[float]",
)
_LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARNING", "ERROR")
_FOLDERS = ("src", "tests", "lib", "cmd", "internal", "docs", "scripts", "web/components")
_ENDINGS = ("py", "go", "ts", "rs", "md", "toml", "json")
CODE_WORDS = "return self valve pressure if not open else None for sensor log".split()  # noqa: SIM905
"""Words of which a proxy's requests are put together."""

_RARE_WORDS = 6_000


class Writer:
    """Writes invented text. One seed, one sequence of texts."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._words = [*_COMMON, *(self._made_up() for _ in range(_RARE_WORDS))]
        self._weights = list(
            accumulate(1 / (rank + 3) ** 1.15 for rank in range(len(self._words)))
        )

    def prose(self, size: int) -> str:
        """Sentences and paragraphs, of ``size`` characters."""
        return self._filled(size, self._sentences(), " ")

    def code(self, size: int) -> str:
        """Source code, of ``size`` characters."""
        return self._filled(size, self._functions(), "\n")

    def numbered_code(self, size: int) -> str:
        """Source code as an agent's file reader shows it: line numbers in front."""
        lines = self.code(size).split("\n")
        return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1))[
            :size
        ]

    def json(self, size: int) -> str:
        """Pretty JSON records, of ``size`` characters; cut off, as tool output often is."""
        return self._filled(size, self._records(), ",\n")

    def log(self, size: int) -> str:
        """Lines of a service's log, of ``size`` characters."""
        return self._filled(size, self._log_lines(), "\n")

    def listing(self, size: int) -> str:
        """Paths with numbers and matches, as a search prints them, of ``size`` characters."""
        return self._filled(size, self._matches(), "\n")

    def words(self, count: int) -> list[str]:
        """Words by their frequency, with the long tail."""
        return self.random.choices(self._words, cum_weights=self._weights, k=count)

    def path(self) -> str:
        """Path of a file in somebody's repository."""
        parts = [self.random.choice(_FOLDERS), *self.words(self.random.randint(1, 3))]
        return f"{'/'.join(parts)}.{self.random.choice(_ENDINGS)}"

    def hexadecimal(self, digits: int) -> str:
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def _made_up(self) -> str:
        pick = self.random.choice
        return "".join(pick(_ROOTS) for _ in range(self.random.randint(1, 2))) + pick(
            _TAILS
        )

    def _filled(self, size: int, pieces: Iterator[str], joint: str) -> str:
        taken: list[str] = []
        length = -len(joint)
        while length < size:
            piece = next(pieces)
            taken.append(piece)
            length += len(joint) + len(piece)
        return joint.join(taken)[:size]

    def _name(self) -> str:
        words = self.words(self.random.randint(1, 3))
        style = self.random.random()
        if style < 0.6:
            return "_".join(words)
        if style < 0.85:
            return words[0] + "".join(map(str.capitalize, words[1:]))
        return "".join(map(str.capitalize, words))

    def _sentences(self) -> Iterator[str]:
        chance = self.random.random
        while True:
            words = self.words(self.random.randint(5, 22))
            if chance() < 0.25:
                words[len(words) // 2] += ","
            if chance() < 0.3:
                words[-1] = f"`{self._name()}`"
            text = " ".join(words)
            end = "." if chance() < 0.9 else "?"
            yield text[0].upper() + text[1:] + end + ("\n\n" if chance() < 0.15 else "")

    def _functions(self) -> Iterator[str]:
        pick = self.random.choice
        while True:
            name, argument, local = (
                f"{pick(_VERBS)}_{self._name()}",
                self._name(),
                self._name(),
            )
            yield f"def {name}({argument}: {pick(_TYPES)}, *, {self._name()}: {pick(_TYPES)} = None) -> {pick(_TYPES)}:"
            yield f'    """{" ".join(self.words(9)).capitalize()}."""'
            for _ in range(self.random.randint(2, 9)):
                yield self._statement(argument, local)
            yield f"    return {local}\n\n"

    def _statement(self, argument: str, local: str) -> str:
        match self.random.randrange(5):
            case 0:
                return f"    {local} = {self._name()}({argument}, {self.random.randint(0, 4096)})"
            case 1:
                test = f"    if {argument}.{self._name()} is None and not self.{self._name()}:"
                return f'{test}\n        raise ValueError(f"{" ".join(self.words(4))}: {{{argument}}}")'
            case 2:
                loop = f"    for {self._name()} in {argument}.{self._name()}():"
                return f"{loop}\n        {local}.append({self._name()}[{self.random.randint(0, 9)}])"
            case 3:
                return f"    # {' '.join(self.words(8))}"
            case _:
                return f"    self.{self._name()}[{self._name()!r}] = {local} * {self.random.random():.3f} + {argument}"

    def _records(self) -> Iterator[str]:
        draw = self.random
        while True:
            record = {
                "id": self.hexadecimal(12),
                self._name(): " ".join(self.words(draw.randint(2, 8))),
                self._name(): round(draw.uniform(0, 5000), 3),
                "tags": self.words(draw.randint(0, 4)),
                self._name(): {
                    self._name(): draw.randint(0, 10**6),
                    "ok": draw.random() < 0.9,
                    "next": None,
                },
            }
            yield json.dumps(record, indent=2)

    def _log_lines(self) -> Iterator[str]:
        draw = self.random
        second = draw.randint(0, 80_000)
        while True:
            second += draw.randint(0, 3)
            clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.{draw.randint(0, 999):03}"
            said = " ".join(self.words(draw.randint(3, 9)))
            yield (
                f"2025-06-{1 + second % 28:02}T{clock}Z {draw.choice(_LEVELS):<7} {self._name()}"
                f"[{draw.randint(2, 99999)}] {said} id={self.hexadecimal(8)} took={draw.uniform(0, 900):.1f}ms"
            )

    def _matches(self) -> Iterator[str]:
        statements = self._functions()
        path = self.path()
        while True:
            if self.random.random() < 0.3:
                path = self.path()
            yield f"{path}:{self.random.randint(1, 900)}:{next(statements).splitlines()[0]}"


def kinds(writer: Writer) -> tuple[Callable[[int], str], ...]:
    """What tools return, each kind about as often as agents see it."""
    return (
        writer.numbered_code,
        writer.numbered_code,
        writer.code,
        writer.listing,
        writer.log,
        writer.json,
        writer.prose,
    )
