import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.tools import spool
from ullage.tools.spool import Spool


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(0, 60), st.integers(1, 60))
def test_the_beginning_and_the_end_are_kept_whatever_comes(pieces: list[bytes], head: int, tail: int) -> None:
    data = b"".join(pieces).translate(bytes(0x61 + each % 26 for each in range(256)))
    at = 0
    with Spool(head_bytes=head, tail_bytes=tail) as kept:
        for piece in pieces:
            kept.take(data[at : at + len(piece)])
            at += len(piece)
        text = kept.text()
    assert kept.size_bytes == len(data)
    whole = data.decode()
    if "[" in text:
        start, end = text.split("\n[")[0], text.split("]\n")[1]
        assert whole.startswith(start) and whole.endswith(end)
        assert len(start) == head and len(end) >= tail
        assert f"{len(whole) - len(start) - len(end):,} bytes were not kept" in text
    else:
        assert text == whole


def test_what_goes_to_the_disk_comes_back() -> None:
    data = b"0123456789" * 300_000
    with Spool(head_bytes=10_000_000) as kept:
        for at in range(0, len(data), 65_536):
            kept.take(data[at : at + 65_536])
        assert kept.text() == data.decode()
        assert kept.sample() == data[:8_000]


def test_no_character_is_torn_at_the_gap() -> None:
    with Spool(head_bytes=10, tail_bytes=10) as kept:
        kept.take("日本語日本語日本語日本語".encode())
        assert "\ufffd" not in kept.text()


def test_what_is_over_the_limit_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Spool(head_bytes=2_000_000) as kept:
        for _ in range(5_000):
            kept.take(bytes(65_536))
    assert kept.size_bytes == 5_000 * 65_536
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB, of 320,000


def test_a_full_disk_shortens_the_beginning_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    with Spool(head_bytes=50_000_000, tail_bytes=100) as kept, open("/dev/full", "r+b", buffering=0) as full:
        kept._file = full
        for _ in range(40):
            kept.take(b"x" * 65_536)
        assert kept.problem == "No space left on device"
        kept._file = None
        assert "(No space left on device)" in kept.text()
    assert kept.size_bytes == 40 * 65_536 > spool.IN_MEMORY
