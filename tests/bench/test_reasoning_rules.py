import json
from pathlib import Path

import pytest

from bench.reasoning_rules import Judged, shares_in
from bench.recorded import RecordedRow
from tests.bench.recorded import pair


def atom(role: str, kind: str, text: str, **more: object) -> RecordedRow:
    return {"r": role, "k": kind, "t": text, "m": 0, **more}


def row(number: int, *, truth: int, encrypted: bool) -> RecordedRow:
    """A user turn of grok-4.3 after 500 tokens and an answer of 301, 300 of them to reason."""
    thought = atom("assistant", "reasoning", "A sum.", enc=900 if encrypted else 0)
    answer = [thought, atom("assistant", "text", "4")]
    return {
        **pair(number, truth=truth, spent=500),
        "api": "responses",
        "provider": "xai",
        "model": "grok-4.3",
        "usage_a": {"input": 500, "output": 301, "reasoning": 300},
        "a_response": answer,
        "b_echo": answer,
        "reasoning_sent_back": "yes",
        "new": [atom("user", "text", "and five?")],
    }


def test_a_pair_tells_which_share_of_the_reasoning_the_next_input_holds(
    tmp_path: Path,
) -> None:
    rows = [
        row(1, truth=815, encrypted=True),
        row(2, truth=515, encrypted=True),
        row(3, truth=515, encrypted=False),
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    kept, against, as_text = shares_in(path)
    name = "*/responses/grok"
    assert kept.judged == against.judged == Judged(name, True, "sent")
    assert as_text.judged == Judged(name, True, "in another form")
    assert [each.share for each in (kept, against, as_text)] == pytest.approx(
        [1.0, 0.0, 0.0], abs=0.1
    )
    assert [each.is_against for each in (kept, against, as_text)] == [False, True, False]
