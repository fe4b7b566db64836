import msgspec

from ullage.messages import Message, SystemBlock, TextPart, Tool
from ullage.meter import fingerprint


def said(message_id: str, text: str = "hello", *, revision: int = 0) -> Message:
    part = TextPart(id=f"{message_id}.1", text=text)
    return Message(id=message_id, role="user", parts=(part,), revision=revision)


def test_equal_histories_have_equal_digests_and_rolling_on_extends_them() -> None:
    whole = fingerprint.of_messages([said("a"), said("b")])
    assert whole == fingerprint.of_messages([said("a"), said("b")])
    assert whole == fingerprint.roll(fingerprint.of_messages([said("a")]), said("b"))


def test_order_ids_and_revisions_are_part_of_the_digest() -> None:
    digests = {
        fingerprint.of_messages(history)
        for history in (
            [],
            [said("a")],
            [said("a"), said("b")],
            [said("b"), said("a")],
            [said("a"), said("b", revision=1)],
        )
    }
    assert len(digests) == 5


def test_pieces_are_not_confused_with_their_concatenation() -> None:
    assert fingerprint.digest("ab", "c") != fingerprint.digest("a", "bc")


def test_a_lone_surrogate_does_not_break_a_digest() -> None:
    assert len(fingerprint.digest("\ud800")) == 16


def test_system_and_tools_are_named_by_content() -> None:
    tool = Tool(name="read", schema=msgspec.Raw(b'{"type":"object"}'))
    assert fingerprint.of_tools([tool]) != fingerprint.of_tools(
        [msgspec.structs.replace(tool, deferred=True)]
    )
    assert fingerprint.of_system([SystemBlock(text="x")]) != fingerprint.of_system(
        [SystemBlock(text="y")]
    )
