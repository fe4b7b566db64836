"""Files last read or edited come back behind a summary, as the session knows them, and never make it fail."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.histories import history
from tests.context.sessions import FakeModel, attempted, fold_of, turns, words
from tests.meter.session import result, said
from tests.tiers import examples
from ullage.context.attached_files import KnownFile, known_files
from ullage.context.budget import aim_of
from ullage.context.policy import FILES_ATTACHED
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import Commit, Strategies
from ullage.context.summary import Summarize
from ullage.context.summary_message import earlier_text, is_file_part
from ullage.events import CompactionCommitted, MessageAdded
from ullage.messages import Message, TextPart, ToolCallPart

WITHOUT = CompactionRules(reattach_tokens=0)


def called(name: str, tool: str, **arguments: object) -> Message:
    call = ToolCallPart(
        id=f"{name}.call", call_id=name, name=tool, arguments=json.dumps(arguments)
    )
    return Message(id=name, role="assistant", parts=(call,))


def read(name: str, path: str, text: str, offset: int = 1) -> list[Message]:
    lines = enumerate(text.split("\n"), offset)
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in lines)
    return [
        called(name, "read", path=path, offset=offset),
        result(f"{name}.result", name, numbered),
    ]


def edit(name: str, path: str, old: str, new: str, **more: object) -> list[Message]:
    return [
        called(name, "edit", path=path, old=old, new=new, **more),
        result(f"{name}.result", name, "Replaced 1."),
    ]


def write(name: str, path: str, content: str) -> list[Message]:
    return [
        called(name, "write", path=path, content=content),
        result(f"{name}.result", name, "Wrote it."),
    ]


def files_of(*bunches: Iterable[Message]) -> dict[str, KnownFile]:
    return known_files(message for bunch in bunches for message in bunch)


def attached(message: Message | None) -> list[str]:
    """The files behind a summary, each with its heading."""
    assert message is not None
    parts = message.of_type(TextPart)
    return [part.text for part in parts if is_file_part(message, part)]


def compacted(
    messages: list[Message], *, window: int = 32_000, rules: CompactionRules | None = None
) -> tuple[CompactionCommitted, Situation]:
    situation = Situation(
        fold=fold_of(*messages, window=window),
        trigger="asked",
        rules=rules or CompactionRules(),
    )
    outcome = attempted(situation, FakeModel())
    (event,) = [each for each in outcome.events if isinstance(each, CompactionCommitted)]
    return event, situation


# -- what a session knows of a file --


def test_a_read_file_is_known_without_its_line_numbers() -> None:
    files = files_of(read("x1", "a.py", "one\ntwo", offset=7))
    assert files == {"a.py": KnownFile("a.py", "one\ntwo", 7, "x1.result")}


def test_an_edit_is_followed_and_makes_the_file_the_newest() -> None:
    files = files_of(
        read("x1", "a.py", "x = 1\ny = 1"),
        read("x2", "b.py", "z"),
        edit("e1", "a.py", "y = 1", "y = 2"),
    )
    assert list(files) == ["b.py", "a.py"]
    assert files["a.py"].text == "x = 1\ny = 2"


def test_a_file_with_an_edit_that_cant_be_followed_is_known_no_more() -> None:
    """What was edited may have been another text by then, so its tool's limit does not hold here."""
    long = "a" * 100_000
    for text, old, new, more in (
        ("one one", "not shown", "1", {}),
        ("one one", "one", "1", {}),
        (long, "a", long, {"replace_all": True}),
    ):
        history = [*read("x1", "a.py", text), *edit("e1", "a.py", old, new, **more)]
        assert files_of(history) == {}
    history = [
        *read("x1", "a.py", "one one"),
        *edit("e1", "a.py", "one", "1", replace_all=True),
    ]
    assert files_of(history)["a.py"].text == "1 1"


def test_what_was_written_is_the_file() -> None:
    files = files_of(read("x1", "a.py", "old"), write("w1", "a.py", "new"))
    assert files == {"a.py": KnownFile("a.py", "new", 1, "w1")}


def test_failed_calls_other_tools_and_broken_arguments_say_nothing() -> None:
    broken = ToolCallPart(id="p", call_id="b1", name="read", arguments='{"path": ')
    failed = result("x2.result", "x2", "no such file").parts[0]
    assert not files_of(
        [called("s1", "search", path="a.py"), result("s1.result", "s1", "a.py:1: x")],
        [Message(id="b1", role="assistant", parts=(broken,)), result("x", "b1", "text")],
        edit("e1", "never-read.py", "a", "b"),
        [called("x3", "read", path=["a"]), result("x3.result", "x3", "x")],
    )
    error = msgspec.structs.replace(failed, is_error=True)
    message = Message(id="x2.result", role="tool", parts=(error,))
    assert not files_of([called("x2", "read", path="a.py"), message])


# -- behind a summary --


def test_files_that_leave_are_attached_and_those_that_stay_are_not() -> None:
    text = words(300, 7)
    event, _ = compacted(
        [
            *read("x1", "old.py", text),
            *edit("e1", "old.py", text[:30], "changed"),
            *turns(40, size=200),
            *read("x2", "new.py", "stays in view"),
        ]
    )
    (only,) = attached(event.summary)
    assert only.startswith('File "old.py" from line 1, as this conversation')
    assert only.endswith("changed" + text[30:])
    assert event.rung == "summary" and "x2.result" not in event.summarised


def test_with_the_setting_at_0_nothing_is_attached() -> None:
    messages = [*read("x1", "a.py", words(300)), *turns(40, size=200)]
    event, _ = compacted(messages, rules=WITHOUT)
    assert attached(event.summary) == []


def test_at_most_five_files_are_attached_the_newest_last() -> None:
    reads = [read(f"x{n}", f"f{n}.py", words(60, n)) for n in range(8)]
    messages = [message for one in reads for message in one]
    event, _ = compacted([*messages, *turns(40, size=200)])
    names = [text.split('"')[1] for text in attached(event.summary)]
    assert names == [f"f{n}.py" for n in range(8 - FILES_ATTACHED, 8)]


def test_a_long_file_is_cut_to_its_ends() -> None:
    messages = [*read("x1", "long.py", words(3_000)), *turns(30, size=200)]
    event, situation = compacted(messages, rules=CompactionRules(reattach_tokens=800))
    (text,) = attached(event.summary)
    assert "characters are left out here" in text
    assert situation.count(text) <= 800


def test_an_attached_file_is_followed_and_attached_again() -> None:
    event, situation = compacted(
        [*read("x1", "kept.py", "first = 1\nsecond = 2"), *turns(40, size=200)]
    )
    fold = situation.fold
    later = [*edit("e9", "kept.py", "second = 2", "second = 3")]
    for message in [*later, *turns(25, size=200, start=50)]:
        fold.apply(MessageAdded(message=message))
    again = Situation(fold=fold, trigger="asked", compaction="next")
    outcome = attempted(again, FakeModel())
    (second,) = [each for each in outcome.events if isinstance(each, CompactionCommitted)]
    assert attached(second.summary)[0].endswith("first = 1\nsecond = 3")
    assert "first = 1" not in earlier_text([event.summary] if event.summary else [])


def test_the_only_strategy_of_an_urgent_compaction_attaches_files_too() -> None:
    messages = [*read("x1", "file.py", words(300, 7)), *turns(40, size=200)]
    situation = Situation(fold=fold_of(*messages, window=32_000), trigger="limit")
    end = attempted(situation, FakeModel(), Strategies((Summarize(),))).end
    assert isinstance(end, Commit) and end.strategy == "summary"
    (event,) = [each for each in end.events if isinstance(each, CompactionCommitted)]
    assert 'File "file.py"' in attached(event.summary)[0]


def test_a_small_window_attaches_little_or_nothing() -> None:
    reads = [read(f"x{n}", f"f{n}.py", words(400, n)) for n in range(6)]
    messages = [message for one in reads for message in one]
    event, situation = compacted([*messages, *turns(8, size=100)], window=6_000)
    aim = aim_of(situation)
    assert event.after is not None and event.after <= aim.goal
    spent = sum(situation.count(text) for text in attached(event.summary))
    assert spent <= 0.1 * (aim.limit or 0)


@settings(max_examples=examples(15, thorough=300), deadline=None)
@given(
    st.integers(0, 10_000),
    st.lists(
        st.tuples(
            st.sampled_from(["read", "write", "edit"]),
            st.sampled_from(["a", "b", 'c "\n\\', "d"]),
            st.text(max_size=300),
        ),
        max_size=12,
    ),
    st.sampled_from([1, 300, 10_000, 1_000_000]),
)
def test_no_compaction_fails_because_of_attached_files(
    seed: int, uses: list[tuple[str, str, str]], budget: int
) -> None:
    drawn = history(seed)
    messages: list[Message] = []
    for number, (tool, path, text) in enumerate(uses):
        name = f"file{number}"
        if tool == "read":
            messages += read(name, path, text)
        elif tool == "write":
            messages += write(name, path, text)
        else:
            messages += edit(name, path, text[:3], text[3:])
    request = said("the-request", "Go on.")
    ends = []
    for rules in (WITHOUT, CompactionRules(reattach_tokens=budget)):
        situation = Situation(
            fold=fold_of(*messages, *drawn.situation.messages, request, window=8_000),
            trigger="limit",
            rules=rules,
        )
        ends.append((attempted(situation, FakeModel()).end, situation))
    (plain, _), (full, situation) = ends
    assert type(plain) is type(full)
    if isinstance(full, Commit) and isinstance(plain, Commit):
        assert full.strategy == plain.strategy
        limit = aim_of(situation).limit
        assert limit is None or full.verdict.high <= limit
