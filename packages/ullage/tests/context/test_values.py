import msgspec
import pytest

from tests.meter.session import said
from ullage.context.values import is_number, lost_values, values_in
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart


def call(name: str, arguments: dict[str, str]) -> Message:
    text = msgspec.json.encode(arguments).decode()
    part = ToolCallPart(id=f"{name}.1", call_id="c", name="read", arguments=text)
    return Message(id=name, role="assistant", parts=(part,))


def result(name: str, text: str) -> Message:
    content = (TextPart(id=f"{name}.2", text=text),)
    part = ToolResultPart(id=f"{name}.1", call_id="c", content=content)
    return Message(id=name, role="tool", parts=(part,))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "See src/app/main.py:12, and ./docs/a-b.md.",
            ["src/app/main.py", "./docs/a-b.md"],
        ),
        ("in /etc/hosts and ~/notes/x.txt", ["/etc/hosts", "~/notes/x.txt"]),
        (r"C:\work\app\main.cs is it", [r"C:\work\app\main.cs"]),
        ("open setup.cfg (or test_values.test.ts)", ["setup.cfg", "test_values.test.ts"]),
        ("at https://example.com/a?b=c#d, and", ["https://example.com/a?b=c#d"]),
        ("ask ann.lee@example.org.", ["ann.lee@example.org"]),
        ("commit 0ccc2776, not deadbee or 1234567", ["0ccc2776", "1234567"]),
        (
            "id 123e4567-e89b-12d3-a456-426614174000",
            ["123e4567-e89b-12d3-a456-426614174000"],
        ),
        ("ABC-123 and ERR_2040 and #77", ["ABC-123", "ERR_2040", "#77"]),
        ("v2.10.3 and 10.0.0.1, 3.14", ["v2.10.3", "10.0.0.1"]),
        ("12,345 of 1_000_000 in 2026-11-29", ["12,345", "1_000_000", "2026-11-29"]),
        ("K5 = 48213. Year 1999; 123 is short", ["48213", "1999"]),
        ("Nothing here: e.g. either/or a.b() at 10:30", ["either/or"]),
        ("twice a/b.py, a/b.py", ["a/b.py"]),
        ("pool 1/5, 3/50. on 9/11/2001 at 1/x and 2.0/3a", ["1/x", "2.0/3a"]),
    ],
)
def test_values_are_found_whole_and_once(text: str, values: list[str]) -> None:
    assert list(values_in(text)) == values


@pytest.mark.parametrize(
    "piece", ["a.", "a/", "A-", "1,111", "a@", "0", "x+", "a:\\", "#1"]
)
def test_hostile_texts_take_a_bounded_time(piece: str) -> None:
    assert len(values_in(piece * 1_000_000)) < 40_000


def test_a_number_needs_its_line_and_a_path_does_not() -> None:
    assert is_number("48213")
    assert is_number("12,345.5")
    assert not is_number("src/a.py")
    assert not is_number("0ccc2776")


def test_values_that_would_be_lost_come_in_the_order_of_their_use() -> None:
    leaving = [
        said("u1", "Fix src/a.py, ticket ABC-123."),
        call("m1", {"path": "src/a.py"}),
        result("t1", "src/a.py imports src/b.py; see /var/log/x.log"),
        call("m2", {"path": "src/b.py"}),
    ]
    lost = lost_values(leaving, [said("s", "About ABC-123.")])
    assert [(each.value, each.message, each.uses) for each in lost] == [
        ("src/a.py", "t1", 2),
        ("src/b.py", "m2", 1),
        ("/var/log/x.log", "t1", 0),
    ]


def test_nothing_is_lost_that_a_message_that_stays_holds() -> None:
    leaving = [said("u", "Port 48213.")]
    assert lost_values(leaving, [result("t", "listens on 48213")]) == ()
