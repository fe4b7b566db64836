"""What other programs would predict for a recorded call, to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from bench import recorded
from bench.recorded import RecordedRow
from ullage.tokens.text import GeminiCliCounter

Formula = Callable[[RecordedRow], float | None]
"""The predicted input of a row's call; ``None`` where the row does not hold what the formula needs."""


def _everything(row: RecordedRow) -> list[str] | None:
    """All text of a request, whole or a pair's second one; ``None`` where the row does not hold it."""
    whole = "atoms" in row
    if not whole and not isinstance(row.get("a_atoms"), list):
        return None
    texts = list(
        recorded.texts_of(
            row, *(("atoms",) if whole else ("a_atoms", "a_response", "new"))
        )
    )
    if isinstance(row.get("system"), str):
        texts.append(row["system"])
    if row.get("tools"):
        texts.append(recorded.as_json(row["tools"]))
    return texts


def quarter(row: RecordedRow) -> float | None:
    """Characters / 4 of everything that is sent, as OpenCode estimates."""
    texts = _everything(row)
    return None if texts is None else sum(len(text) for text in texts) / 4


def gemini_cli(row: RecordedRow) -> float | None:
    """gemini-cli's weights over everything that is sent."""
    texts = _everything(row)
    return (
        None
        if texts is None
        else sum(GeminiCliCounter().count(text, "") for text in texts)
    )


def last_total(row: RecordedRow) -> float | None:
    """Input and output of the last call, as MEW reads a window."""
    usage = recorded.pair_of(row).usage
    return None if usage.input is None else float(usage.input + (usage.output or 0))


def dexto(row: RecordedRow) -> float | None:
    """The last call's total and a quarter of the characters added, as Dexto estimates; 1,000 for each image or file."""
    total = last_total(row)
    if total is None:
        return None
    new = row.get("new")
    kinds = (
        [atom.get("k") for atom in new if isinstance(atom, Mapping)]
        if isinstance(new, list)
        else []
    )
    media = sum(isinstance(kind, str) and kind in recorded.MEDIA for kind in kinds)
    return (
        total
        + sum(len(text) for text in recorded.texts_of(row, "new")) / 4
        + 1000 * media
    )


FORMULAS: Final[Mapping[str, Formula]] = {
    "length / 4 of everything": quarter,
    "gemini-cli's weights": gemini_cli,
    "last total (MEW)": last_total,
    "Dexto's formula": dexto,
}


def predictions(row: RecordedRow) -> dict[str, float | None]:
    return {name: formula(row) for name, formula in FORMULAS.items()}
