"""Long outputs of commands are suggested for cutting; long files are not."""

from tests.advice.story import Story, code, prose
from tests.advice.test_unreferred import found, used
from ullage.advice.outputs import ENOUGH


def test_a_long_output_saves_what_is_beyond_enough() -> None:
    told = Story().user("go").tool("Bash", '{"command":"make"}', prose(900)).chat(2)
    suggestion = found(told.billed(), "long_output")
    assert suggestion is not None
    none = Story().user("go").tool("Bash", '{"command":"make"}', "").chat(2)
    lost = used(told.billed()) - used(none.billed()) - ENOUGH
    assert suggestion.saving.low <= lost <= suggestion.saving.high


def test_a_long_file_and_a_short_output_are_none() -> None:
    story = Story().user("go").read("/a", code("kettle", 600))
    story.tool("Bash", '{"command":"make"}', prose(50))
    assert found(story.chat(2).billed(), "long_output") is None
