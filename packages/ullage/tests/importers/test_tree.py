from tests.importers.folding import Folded
from ullage.importers.rows import EventWriter
from ullage.importers.tree import Tree
from ullage.messages import Message, Role, TextPart


class Log:
    """Lines by key and parent, each with one message."""

    def __init__(self) -> None:
        self.rows = EventWriter("s")
        self.tree = Tree(self.rows)

    def line(self, key: str, parent: str, role: Role = "user") -> None:
        self.tree.follow(parent)
        name = self.rows.unique(key)
        self.rows.add(
            Message(id=name, role=role, parts=(TextPart(id=f"{name}/0", text=key),))
        )
        self.tree.place(key, parent, name)

    def texts(self) -> list[str]:
        session = Folded(self.rows.take(final=True))
        assert session.view == list(self.rows.view)
        parts = {
            part.id for name in session.view for part in session.messages[name].parts
        }
        assert len(parts) == len(session.view)
        return [said.split(": ")[1] for said in session.said()]


def test_results_of_parallel_calls_are_no_branches() -> None:
    log = Log()
    log.line("u", "")
    log.line("a", "u", "assistant")
    log.line("r1", "a", "tool")
    log.line("r2", "a", "tool")
    log.line("b", "r1", "assistant")
    assert log.texts() == ["u", "a", "r1", "r2", "b"]


def test_one_can_go_back_and_forth_between_branches() -> None:
    log = Log()
    log.line("u", "")
    for side in ("left", "right"):
        log.line(side, "u")
        log.line(f"{side}2", side)
    log.line("left3", "left2")
    log.line("right3", "right2")
    log.line("left4", "left3")
    assert log.texts() == ["u", "left", "left2", "left3", "left4"]


def test_a_parent_that_was_never_seen_is_followed_as_if_it_were_the_last() -> None:
    log = Log()
    log.line("u", "missing")
    log.line("v", "also missing")
    assert log.texts() == ["u", "v"]
    assert "u" in log.tree
    assert log.tree.before("v") == ""
    assert log.tree.before("missing") is None


def test_a_parent_that_is_its_own_ends_the_walk() -> None:
    log = Log()
    log.line("u", "")
    log.tree.place("circle", "circle", "lost")
    log.line("v", "circle")
    assert log.texts() == ["v"]
