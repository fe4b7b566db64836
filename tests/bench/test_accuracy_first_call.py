import gzip
import json
from pathlib import Path

import pytest

from bench.accuracy_first_call import (
    learn,
    learnt_anew,
    read,
    table,
)

QUESTIONS = [
    "Hello there!",
    "What is the capital of France?",
    "Say this is a test",
    "Tell me a short joke, please.",
]
TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Look", "parameters": {"type": "object"}},
}


def row(
    place: int, *, base: int, tools: int = 0, provider: str = "openai", **more: object
) -> dict[str, object]:
    text = QUESTIONS[place % len(QUESTIONS)]
    truth = (
        {
            "Hello there!": 3,
            "What is the capital of France?": 7,
            "Say this is a test": 5,
        }.get(text, 7)
        + base
        + tools
    )
    return {
        "src": f"tests/{place}.yaml", "source": f"tests/{place}.yaml", "idx": 0, "provider": provider, "api": "chat",
        "model": "gpt-4o", "usage": {"input": truth}, "system": "", "tools": [TOOL] if tools else [], "params": {},
        "atoms": [{"r": "user", "k": "text", "t": text, "m": 0}], "is_b": False, **more,
    }  # fmt: skip


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Requests of a provider that charges 40 tokens once and 100 for its one tool."""
    path = tmp_path / "calls.jsonl.gz"
    rows = [row(place, base=40, tools=100 * (place % 2)) for place in range(60)]
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in rows)
    return path


def test_constants_are_learnt_from_the_other_sources(recordings: Path) -> None:
    calls = read(recordings, "bpe")
    anew = learnt_anew(calls)
    assert max(abs(call.estimate.tokens - call.truth) for call in calls) > 30
    assert [
        abs(value - call.truth) <= 1 for value, call in zip(anew, calls, strict=True)
    ] == [True] * len(calls)


def test_a_calls_own_truth_does_not_teach_it(recordings: Path) -> None:
    calls = read(recordings, "bpe")
    others = [call for call in calls if call.fold != calls[0].fold]
    assert learnt_anew(calls)[0] == calls[0].bare + learn(others)(calls[0])


def test_the_table_has_a_row_a_provider_and_the_other_formulas(recordings: Path) -> None:
    found = table(read(recordings, "pretoken"), "Title")
    assert [cells[0] for cells in found.rows] == ["OpenAI Chat", "all"]
    assert found.columns[-2:] == ("length/4", "gemini-cli")
    assert all(len(cells) == len(found.columns) for cells in found.rows)


def test_families_can_stand_in_the_place_of_providers(recordings: Path) -> None:
    found = table(read(recordings, "pretoken"), "Title", by="family")
    assert [cells[0] for cells in found.rows] == ["gpt", "all"]
    assert found.columns[0] == "family"


def test_rows_that_can_not_be_compared_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    image = [{"r": "user", "k": "image", "t": "", "m": 0}]
    rows = [
        row(0, base=7),
        row(1, base=7, is_b=True),
        row(2, base=7, usage={}),
        row(3, base=7, atoms=image),
    ]
    path.write_text("\n".join(json.dumps(each) for each in rows), encoding="utf-8")
    assert len(read(path, "pretoken")) == 1
