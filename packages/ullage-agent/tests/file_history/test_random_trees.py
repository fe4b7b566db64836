"""Random trees and random commands: every step is undone and done again byte for byte, and nothing else is touched."""

from __future__ import annotations

import random
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.file_history.trees import COMMANDS, made_tree, state_of, write
from tests.tiers import first_of
from ullage.store.leases import new_owner
from ullage_agent.file_history.history import FileHistory

STEPS = 30


class World:
    """A tree, its history, what the tree held after each step, and who touched what last."""

    def __init__(self, seed: int, place: Path) -> None:
        self.rng = random.Random(seed)
        self.root = made_tree(self.rng, place / "tree")
        (place / "outside").mkdir()
        (place / "outside" / "kept").write_text("kept")
        self.outside = place / "outside"
        self.history = FileHistory(self.root, place / "data", "store", new_owner())
        self.steps: list[str] = []
        self.last: dict[str, str] = {}
        self.left: dict[str, object] = {}
        """What the agent has left at each path that it changed."""

    def act(self, who: str, command: Callable[[random.Random, Path], None]) -> None:
        before = state_of(self.root)
        command(self.rng, self.root)
        after = state_of(self.root)
        for path in before.keys() | after.keys():
            if before.get(path) != after.get(path):
                self.last[path] = who
                if who == "agent":
                    self.left[path] = after.get(path)

    def step(self) -> None:
        step = secrets.token_hex(8)
        self.history.begin(step, "s", ["call"])
        self.act("agent", self.rng.choice(COMMANDS))
        self.history.end(step)
        self.steps.append(step)

    def undo(self, steps: list[str]) -> dict[str, str]:
        plan, _ = self.history.plan(steps)
        assert not plan.not_covered
        if not plan.moves:
            return {}
        step = secrets.token_hex(8)
        self.history.prepare(step, "s", plan.moves)
        left = self.history.carry_out(step)
        self.steps.append(step)
        return left


@pytest.mark.parametrize("seed", first_of(range(200)))
def test_any_step_is_undone_and_done_again_byte_for_byte(
    seed: int, tmp_path: Path
) -> None:
    world = World(seed, tmp_path)
    states, marks = [state_of(world.root)], [0]
    steps = STEPS if seed else 6  # the first tier has a small one
    for _ in range(steps):
        world.step()
        states.append(state_of(world.root))
        marks.append(len(world.steps))
    for number in (steps - 1, steps // 2, 0, *world.rng.sample(range(steps + 1), 3)):
        before, begun = state_of(world.root), len(world.steps)
        assert world.undo(world.steps[marks[number] :]) == {}
        assert state_of(world.root) == states[number]
        assert world.undo(world.steps[begun:]) == {}
        assert state_of(world.root) == before
    assert state_of(world.outside) == {"kept": state_of(world.outside)["kept"]}


@pytest.mark.parametrize("seed", first_of(range(200)))
def test_what_others_did_last_is_never_touched(seed: int, tmp_path: Path) -> None:
    world = World(seed, tmp_path)
    for _ in range(STEPS if seed else 6):
        world.step()
        if world.rng.random() < 0.5:
            world.act("person", world.rng.choice((write, *COMMANDS)))
    before = state_of(world.root)
    world.undo(world.steps)
    after = state_of(world.root)
    for path, who in world.last.items():
        is_as_left = path in world.left and before.get(path) == world.left[path]
        if who == "person" and not is_as_left:
            assert before.get(path) == after.get(path)


KILLED = """
import os, sys, signal
from pathlib import Path
from ullage.store.leases import new_owner
from ullage_agent.file_history import restoring
from ullage_agent.file_history.history import FileHistory

root, data, steps, after = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].split(), int(sys.argv[4])
history = FileHistory(root, data, "store", new_owner())
plan, _ = history.plan(steps)
history.prepare("rewind", "s", plan.moves)
calls = 0

def counted(real):
    def call(*given, **named):
        global calls
        calls += 1
        if calls > after:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call

for name in ("replace", "unlink", "rmdir", "mkdir", "symlink", "fchmod", "fsync"):
    setattr(restoring.os, name, counted(getattr(os, name)))
history.carry_out("rewind")
"""


@pytest.mark.program
@pytest.mark.parametrize("seed", first_of(range(40)))
def test_a_rewind_that_is_killed_is_finished_by_the_next_start(
    seed: int, tmp_path: Path
) -> None:
    world = World(seed, tmp_path)
    first = state_of(world.root)
    for _ in range(STEPS):
        world.step()
    last = state_of(world.root)
    world.history.close()
    after = world.rng.randrange(40)
    arguments = (
        str(world.root),
        str(tmp_path / "data"),
        " ".join(world.steps),
        str(after),
    )
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], check=False, timeout=60
    )
    assert ended.returncode in (0, -signal.SIGKILL)
    again = FileHistory(world.root, tmp_path / "data", "store", new_owner())
    again.left_over("s")
    assert state_of(world.root) == first
    assert not [name for name in state_of(world.root) if ".ullage-" in name]
    plan, _ = again.plan(["rewind"])
    assert not plan.edited
    again.prepare("back", "s", plan.moves)
    assert again.carry_out("back") == {} and state_of(world.root) == last
