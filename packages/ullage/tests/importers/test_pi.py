import msgspec

from tests.importers.folding import FIXTURES, Folded
from ullage_programs.pi.log import PiReader


def lines(name: str) -> list[bytes]:
    return (FIXTURES / "pi" / f"{name}.jsonl").read_bytes().splitlines()


def test_going_back_to_before_a_compaction_undoes_it() -> None:
    reader = PiReader()
    entry = {
        "type": "message",
        "id": "m8",
        "parentId": "m1",
        "message": {"role": "user", "content": "otherwise"},
    }
    session = Folded(
        [*reader.feed([*lines("branch"), msgspec.json.encode(entry)]), *reader.settle()]
    )
    assert session.said() == ["user: one", "user: otherwise"]
