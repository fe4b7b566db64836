"""What providers really answered, as people quoted it where ``source`` says, cut to what the error says.

One line a body in ``fixtures/overflows.jsonl`` and ``fixtures/lookalikes.jsonl``. ``numbers`` are what the body names:
limit, count, asked-for output. A ``status`` of null is an error inside a stream.
"""

from pathlib import Path

import msgspec


class Real(msgspec.Struct, frozen=True):
    """One answer: status, body, where it is quoted, and the numbers it names."""

    name: str
    source: str
    status: int | None
    body: str
    numbers: tuple[int | None, int | None, int | None] = (None, None, None)


def _read(name: str) -> dict[str, Real]:
    lines = (Path(__file__).parent / "fixtures" / name).read_text("utf-8").splitlines()
    return {
        real.name: real
        for real in (msgspec.json.decode(line, type=Real) for line in lines)
    }


OVERFLOWS = _read("overflows.jsonl")
LOOKALIKES = _read("lookalikes.jsonl")
