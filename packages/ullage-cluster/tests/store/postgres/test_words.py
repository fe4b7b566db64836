"""What goes into PostgreSQL's index of words."""

import pytest

from ullage.encoding import encode
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.policy import SEARCHED_CHARACTERS
from ullage.store.rows import pack
from ullage_cluster.postgres.rows import text_values


@pytest.mark.parametrize("tenant", ["default", "t" * 40])
def test_a_text_of_many_words_fits_into_a_tsvector(tenant: str) -> None:
    text = "".join(chr(0x20000 + number) for number in range(SEARCHED_CHARACTERS))
    message = Message(id="m", role="user", parts=(TextPart(id="p", text=text),))
    body = pack(encode(MessageAdded(message=message)))
    row = {"seq": 1, "name": None, "at": 1.0, "body": body, "upto": 0, "tenant": tenant}
    values = text_values("s", [row])
    assert values is not None
    _, _, prefix, _, (words,) = values
    found = words.split(" ")
    assert found[0] == text[:2]
    # More are not found, or under other words: another tenant's prefix among them.
    assert sum(len(f"{prefix}999999:{word}".encode()) for word in found) < 2**20
    assert len(found) > 16_000
