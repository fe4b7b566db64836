"""What a history sees, keeps and leaves alone, and what no tree can make it do."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from tests.file_history.trees import state_of
from ullage.store.leases import new_owner
from ullage_agent.file_history import history as module
from ullage_agent.file_history.changes import FileChange, UndoPlan, content_of
from ullage_agent.file_history.history import FileHistory, HistoryFailed
from ullage_agent.file_history.report import report
from ullage_agent.file_history.restoring import read_content, restore


class World:
    """A tree and its history."""

    def __init__(self, place: Path, owner: str = "") -> None:
        self.place, self.root = place, place / "tree"
        self.root.mkdir(exist_ok=True)
        self.history = FileHistory(
            self.root, place / "data", "store", owner or new_owner()
        )
        self.names = 0

    def begin(self) -> str:
        self.names += 1
        self.history.begin(f"step-{self.names}", "s", ["call"])
        return f"step-{self.names}"

    def undo(self, *steps: str) -> UndoPlan:
        plan, missing = self.history.plan(steps)
        assert not missing
        if plan.moves:
            self.history.prepare("undo", "s", plan.moves)
            assert self.history.carry_out("undo") == {}
        return plan


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_secret_comes_back_with_its_mode(world: World) -> None:
    secret = world.root / ".env"
    secret.write_text("KEY=1")
    secret.chmod(0o600)
    step = world.begin()
    secret.unlink()
    world.history.end(step)
    world.undo(step)
    assert secret.read_text() == "KEY=1" and secret.stat().st_mode & 0o777 == 0o600


def test_a_change_within_the_same_tick_and_size_is_seen(world: World) -> None:
    file = world.root / "a"
    file.write_text("one")
    step = world.begin()
    file.write_text("two")
    changes = world.history.end(step)
    assert [change.path for change in changes] == ["a"]


def test_a_step_that_changes_nothing_is_none(world: World) -> None:
    (world.root / "a").write_text("one")
    step = world.begin()
    (world.root / "a").write_text("one")
    (world.root / "b").write_text("b")
    (world.root / "b").unlink()
    assert world.history.end(step) == ()
    assert world.history.sessions() == []


def test_a_link_among_the_parents_is_never_written_through(world: World) -> None:
    outside = world.place / "outside"
    outside.mkdir()
    (world.root / "sub").mkdir()
    (world.root / "sub" / "a").write_text("before")
    step = world.begin()
    (world.root / "sub" / "a").write_text("after")
    world.history.end(step)
    (world.root / "sub" / "a").rename(outside / "a")
    (world.root / "sub").rmdir()
    (world.root / "sub").symlink_to(outside)
    plan = world.undo(step)
    assert plan.edited == ("sub/a",)
    moves = [FileChange("sub/a", "", "100644 x")]
    left = restore(str(world.root), moves, lambda sha: b"written")
    assert left == {"sub/a": "a directory on the way is a link now, or no directory"}
    assert (outside / "a").read_text() == "after"


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", "a//b", "."])
def test_no_path_leads_out_of_the_root(world: World, path: str) -> None:
    before = state_of(world.place)
    left = restore(str(world.root), [FileChange(path, "", "100644 x")], lambda sha: b"x")
    assert left.keys() == {path}
    assert state_of(world.place) == before


def test_the_other_name_of_a_hard_link_keeps_its_content(world: World) -> None:
    (world.root / "a").write_text("before")
    step = world.begin()
    (world.root / "a").write_text("after")
    world.history.end(step)
    os.link(world.root / "a", world.place / "elsewhere")
    world.undo(step)
    assert (world.root / "a").read_text() == "before"
    assert (world.place / "elsewhere").read_text() == "after"


def test_what_is_not_covered_is_named_with_its_reason(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage_agent.file_history.restoring.LARGEST_FILE", 1_000)
    with open(world.root / "huge", "wb") as file:
        file.truncate(1 << 40)  # sparse
    (world.root / "deep").mkdir()
    step = world.begin()
    with open(world.root / "huge", "ab") as file:
        file.write(b"more")
    os.mkfifo(world.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(world.root / "socket"))
    (world.root / "node_modules").mkdir()
    (world.root / "deep" / ".git").mkdir()
    os.mkdir(os.fsencode(world.root) + b"/\xff")
    world.history.end(step)
    plan = world.undo(step)
    assert plan.not_covered == {
        "huge": "it has more than 1,000 bytes",
        "pipe": "it is no plain file",
        "socket": "it is no plain file",
        "node_modules": "it is a history, a cache, or holds downloaded packages",
        "deep/.git": "it is a history, a cache, or holds downloaded packages",
        "\ufffd": "its name is not UTF-8",
    }
    assert (world.root / "pipe").exists()


def test_too_many_files_are_left_out_and_those_near_the_root_are_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage_agent.file_history.tree.MOST_FILES", 20)
    (world.root / "many").mkdir()
    for number in range(50):
        (world.root / "many" / str(number)).touch()
    (world.root / "src").mkdir()
    (world.root / "src" / "a").write_text("before")
    step = world.begin()
    (world.root / "src" / "a").write_text("after")
    (world.root / "many" / "0").unlink()
    assert [each.path for each in world.history.end(step)] == ["src/a"]


def test_a_tree_that_changes_while_it_is_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (world.root / f"f{number}").write_text("before")
    real = read_content

    def racing(name: str, *given: object) -> bytes:
        other = world.root / f"f{(int(name.rpartition('f')[2]) + 1) % 20}"
        other.unlink(missing_ok=True)
        other.symlink_to("/etc/passwd")
        return real(name, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "read_content", racing)
    step = world.begin()
    world.history.end(step)
    monkeypatch.undo()
    plan, _ = world.history.plan([step])
    assert b"root:" not in b"".join(
        world.history.content(content_of(move.new)) for move in plan.moves if move.new
    )


def test_names_that_differ_in_case_alone_are_two_files(world: World) -> None:
    (world.root / "a").write_text("small")
    step = world.begin()
    (world.root / "a").rename(world.root / "A")
    world.history.end(step)
    before = sorted(os.listdir(world.root))
    world.undo(step)
    assert before == ["A"] and sorted(os.listdir(world.root)) == ["a"]


def test_a_directory_in_which_a_person_put_something_stays(world: World) -> None:
    step = world.begin()
    (world.root / "new").mkdir()
    (world.root / "new" / "a").write_text("agent's")
    world.history.end(step)
    (world.root / "new" / "mine").write_text("a person's")
    plan, _ = world.history.plan([step])
    world.history.prepare("undo", "s", plan.moves)
    assert world.history.carry_out("undo") == {"new": "the directory holds other files"}
    assert os.listdir(world.root / "new") == ["mine"]


def test_an_edit_between_two_steps_ends_the_way_back(world: World) -> None:
    file = world.root / "a"
    file.write_text("1")
    steps = []
    for text in ("2", "3"):
        step = world.begin()
        file.write_text(text)
        world.history.end(step)
        steps.append(step)
        if text == "2":
            file.write_text("a person's")
    plan = world.undo(*steps)
    assert plan.edited == ("a",) and file.read_text() == "a person's"


def test_a_step_whose_process_ended_is_found_with_what_it_changed(world: World) -> None:
    (world.root / "a").write_text("before")
    World(world.place, owner=_dead()).begin()
    (world.root / "a").write_text("after")
    (left,) = world.history.left_over("s")
    assert [change.path for change in left.changes] == ["a"]
    world.history.recorded(left.step)
    assert world.history.left_over("s") == []
    world.undo(left.step)
    assert (world.root / "a").read_text() == "before"


def test_a_rewind_that_the_ledger_lacks_is_not_carried_out(world: World) -> None:
    step = world.begin()
    (world.root / "a").write_text("x")
    world.history.end(step)
    world.history.recorded(step)
    plan, _ = world.history.plan([step])
    World(world.place, owner=_dead()).history.prepare("undo", "s", plan.moves)
    (left,) = world.history.left_over("s")
    assert not left.calls
    world.history.drop(left.step)
    assert world.history.left_over("s") == [] and (world.root / "a").exists()


def test_two_steps_at_once_have_each_its_changes(world: World) -> None:
    first = world.begin()
    (world.root / "a").write_text("a")
    second = world.begin()
    (world.root / "b").write_text("b")
    assert [each.path for each in world.history.end(first)] == ["a", "b"]
    assert [each.path for each in world.history.end(second)] == ["b"]


def test_contents_go_with_their_sessions(world: World) -> None:
    step = world.begin()
    (world.root / "a").write_text("secret")
    (change,) = world.history.end(step)
    (world.root / "a").unlink()
    world.history.end(world.begin())
    assert world.history.content(content_of(change.new)) == b"secret"
    assert world.history.sessions() == ["s"]
    world.history.forget(["s"])
    assert world.history.plan([step]) == (UndoPlan(), 1)
    with pytest.raises(Exception, match="no longer kept"):
        world.history.content(content_of(change.new))


def test_its_own_files_below_the_root_are_no_part_of_the_tree(tmp_path: Path) -> None:
    root = tmp_path
    database = root / "sessions.db"
    database.write_text("rows")
    history = FileHistory(root, root / "data", "store", new_owner(), [database])
    history.begin("step", "s", ["call"])
    database.write_text("more rows")
    (root / "sessions.db-wal").write_text("rows")
    assert history.end("step") == ()


def test_a_full_store_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_STORE", 1)
    (world.root / "a").write_text("before")
    step = world.begin()
    (world.root / "a").write_text("after")
    world.history.end(step)
    assert "is full" in world.undo(step).not_covered["a"]


def test_a_full_store_lets_the_oldest_steps_go(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    for _ in range(6):
        steps.append(world.begin())
        (world.root / "a").write_bytes(os.urandom(200_000))
        assert world.history.end(steps[-1])
    monkeypatch.setattr(module, "LARGEST_STORE", 1_000_000)
    world.history.end(world.begin())
    monkeypatch.undo()
    assert world.history.plan(steps)[1] == 3
    assert world.history.plan(steps[3:])[0].moves


def test_a_damaged_file_of_the_history_is_an_error_that_names_it(world: World) -> None:
    world.history.file.parent.mkdir()
    world.history.file.write_bytes(b"no database" * 1_000)
    with pytest.raises(HistoryFailed, match="file_history to false"):
        world.begin()


def _dead() -> str:
    """The owner of a process that has ended."""
    parts = new_owner().split(":")
    return ":".join((parts[0], "4194303", "1", parts[3]))


def test_a_restoring_that_has_no_room_leaves_nothing_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.root / "a").write_text("one")
    step = world.begin()
    (world.root / "a").write_text("two")
    world.history.end(step)
    plan, _ = world.history.plan([step])
    world.history.prepare("undo", "s", plan.moves)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert world.history.carry_out("undo") == {"a": "No space left on device"}
    assert [path.name for path in world.root.iterdir()] == ["a"]
    assert (world.root / "a").read_text() == "two"


def test_files_behind_the_last_diff_that_is_shown_are_not_compared() -> None:
    states = [f"100644 {number:064x}" for number in range(2)]
    moves = [FileChange(f"f{number:03}", *states) for number in range(100)]
    read: list[str] = []

    def content(sha: str) -> bytes:
        read.append(sha)
        return f"{sha[-1] * 30_000}\n".encode()

    told = report(UndoPlan(tuple(moves)), content)
    assert len(told.files) == 100
    assert len(read) < 30
