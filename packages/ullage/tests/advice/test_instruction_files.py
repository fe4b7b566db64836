"""Instruction files: what is beyond 200 lines, and paragraphs that are there twice."""

from tests.advice.story import Story
from tests.advice.test_unreferred import found, used
from ullage.events import Event, MessageAdded
from ullage.messages import Message, SystemBlock, TextPart

RULE = "Every change has a test that fails without it, and a line in the change log that says why. "


def block(text: str, name: str = "CLAUDE.md") -> SystemBlock:
    return SystemBlock(text=text, kind="instructions", name=name)


def told(*blocks: SystemBlock) -> list[Event]:
    return Story(system=blocks).user("go").chat(5).billed()


def test_a_file_of_more_than_200_lines_saves_the_rest() -> None:
    lines = [f"Rule {n}: write short sentences." for n in range(400)]
    events = told(block("\n".join(lines)))
    suggestion = found(events, "instructions")
    assert suggestion is not None
    assert suggestion.title == "400 lines in CLAUDE.md"
    lost = used(events) - used(told(block("\n".join(lines[:200]))))
    assert suggestion.saving.low <= lost <= suggestion.saving.high


def test_a_short_file_is_none() -> None:
    assert found(told(block("Be brief.\n" * 150)), "instructions") is None


def test_a_paragraph_that_two_files_hold_is_found_once() -> None:
    paragraphs = [f"{n} {RULE * 10}" for n in range(6)]
    text = "\n\n".join(paragraphs)
    events = told(block(text), block("More.\n\n" + text, "AGENTS.md"))
    suggestion = found(events, "duplicate")
    assert suggestion is not None
    assert suggestion.title == "6 paragraphs of instructions more than once"
    assert suggestion.text == "in AGENTS.md"
    lost = used(events) - used(told(block(text), block("More.", "AGENTS.md")))
    assert suggestion.saving.low <= lost <= suggestion.saving.high


def test_files_in_one_reminder_are_measured_one_by_one() -> None:
    def reminder(*files: str) -> list[Event]:
        text = "".join(f"\nContents of /{n}.md:\n{file}" for n, file in enumerate(files))
        part = TextPart(id="r.text", text=text, name="instructions")
        message = Message(id="r", role="user", parts=(part,), origin="injected")
        return Story().then(MessageAdded(message=message)).chat(5).billed()

    short = "Be brief and kind.\n" * 150
    assert found(reminder(short, short), "instructions") is None
    suggestion = found(reminder(short, short + short), "instructions")
    assert suggestion is not None
    (part,) = suggestion.items
    assert round(part.share, 1) == 0.2
