"""A session for the tests of pictures."""

from tests.advice.story import Story, prose
from tests.meter.session import said
from ullage.events import CompactionCommitted, Event

HOSTILE = (
    "</title></svg><script>alert(1)</script>\x00\x1b[31m\u202eexe.\u2066 \"'&<b>\ufffe"
)
"""What a title, a file or a tool could be called: markup, control characters, characters that turn the writing."""


def session(name: str = "src/app.py") -> list[Event]:
    """Eight calls: a file is read twice, the cache is missed once, and a compaction takes the first file out."""
    story = Story().user("hello").read(name, prose(400)).read(name, prose(400)).chat(2)
    done = CompactionCommitted(
        compaction="k", summary=said("s", "in short"), summarised=("t1.r",)
    )
    story.then(done).tool("Bash", '{"command":"make"}', prose(900)).chat(2)
    return story.billed(lost=frozenset({4}))
