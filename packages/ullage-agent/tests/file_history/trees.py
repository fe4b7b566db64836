"""Random trees of files, random commands on them, and what a tree holds byte for byte."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

NAMES = (
    "a.py", "B.py", "b.py", "c", "d e.txt", "ü.md", "new\nline", "-x", "'q\"", "*", "$(id)", ".env", "Makefile",
    "node.js", "sub", "lib", "src",
)  # fmt: skip
MODES = (0o644, 0o600, 0o755, 0o400, 0o666, 0o640, 0o700)
DIRECTORY_MODES = (0o755, 0o700, 0o775, 0o500)
Command = Callable[[random.Random, Path], None]


def state_of(root: Path) -> dict[str, object]:
    """Kind, mode and bytes of everything below the root, and the bytes that stand beside it."""
    found: dict[str, object] = {}
    for directory, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(directory, name)
            mode = path.lstat().st_mode
            shown = os.fsdecode(os.path.relpath(path, root))
            if stat.S_ISLNK(mode):
                found[shown] = os.readlink(path)
            elif stat.S_ISREG(mode):
                found[shown] = mode, sha256(path.read_bytes()).hexdigest()
            else:
                found[shown] = mode
    return found


def made_tree(rng: random.Random, root: Path) -> Path:
    """A tree of some files, directories, links, and a repository inside."""
    root.mkdir(parents=True)
    for _ in range(rng.randrange(1, 25)):
        write(rng, root)
    for _ in range(rng.randrange(3)):
        link(rng, root)
    if rng.random() < 0.3:
        (root / "inner" / ".git").mkdir(parents=True)
        (root / "inner" / "file").write_text("in a repository inside")
    return root


def directories(root: Path) -> list[Path]:
    found = [root]
    for directory, names, _ in os.walk(root):
        found += [
            Path(directory, name)
            for name in names
            if not Path(directory, name).is_symlink() and name != ".git"
        ]
    return [each for each in found if ".git" not in each.parts]


def anything(rng: random.Random, root: Path) -> Path | None:
    """A random path below the root, or ``None`` for an empty tree."""
    found = [
        Path(directory, name)
        for directory, names, files in os.walk(root)
        for name in (*names, *files)
        if name != "inner" and ".git" not in Path(directory, name).parts
    ]
    return rng.choice(sorted(found)) if found else None


def new_path(rng: random.Random, root: Path) -> Path:
    path = rng.choice(sorted(directories(root)))
    for _ in range(rng.randrange(3)):
        path /= rng.choice(NAMES)
        if path.is_symlink() or path.is_file():
            return path
    return path / rng.choice(NAMES)


def remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)


def write(rng: random.Random, root: Path) -> None:
    path = new_path(rng, root)
    if path.parent.is_symlink() or path.parent.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        return
    remove(path)
    path.write_bytes(rng.randbytes(rng.choice((0, 1, 30, 5_000))))
    path.chmod(rng.choice(MODES))


def append(rng: random.Random, root: Path) -> None:
    path = anything(rng, root)
    if path is not None and path.is_file() and not path.is_symlink():
        with path.open("ab") as file:
            file.write(b"more\r\n")


def delete(rng: random.Random, root: Path) -> None:
    if path := anything(rng, root):
        remove(path)


def move(rng: random.Random, root: Path) -> None:
    path, to = anything(rng, root), new_path(rng, root)
    if path is None or to.is_relative_to(path) or os.path.lexists(to):
        return
    if to.parent.is_dir() and not to.parent.is_symlink():
        os.rename(path, to)


def change_mode(rng: random.Random, root: Path) -> None:
    path = anything(rng, root)
    if path is not None and not path.is_symlink():
        path.chmod(rng.choice(DIRECTORY_MODES if path.is_dir() else MODES))


def link(rng: random.Random, root: Path) -> None:
    path = new_path(rng, root)
    if os.path.lexists(path) or not path.parent.is_dir() or path.parent.is_symlink():
        return
    path.symlink_to(
        rng.choice(
            (
                root.parent / "outside",
                Path("nowhere"),
                Path("a.py"),
                Path("..", "..", "outside"),
            )
        )
    )


def hard_link(rng: random.Random, root: Path) -> None:
    path, to = anything(rng, root), new_path(rng, root)
    is_file = path is not None and path.is_file() and not path.is_symlink()
    if path is not None and is_file and to.parent.is_dir() and not os.path.lexists(to):
        os.link(path, to)


def new_directory(rng: random.Random, root: Path) -> None:
    path = new_path(rng, root)
    if (
        not os.path.lexists(path)
        and not path.parent.is_symlink()
        and not path.parent.is_file()
    ):
        path.mkdir(parents=True)


def change_kind(rng: random.Random, root: Path) -> None:
    """A file becomes a directory with a file in it, or the other way round."""
    path = anything(rng, root)
    if path is None:
        return
    was_directory = path.is_dir() and not path.is_symlink()
    remove(path)
    if was_directory:
        path.write_text("was a directory")
    else:
        path.mkdir()
        (path / "inside").write_text("was a file")


def many(rng: random.Random, root: Path) -> None:
    for _ in range(20):
        rng.choice((write, append, delete, move))(rng, root)


COMMANDS: tuple[Command, ...] = (
    write, write, append, append, delete, move, change_mode, link, hard_link, new_directory, change_kind, many,
)  # fmt: skip
