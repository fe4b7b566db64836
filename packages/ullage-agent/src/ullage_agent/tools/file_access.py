"""Which places a sandboxed command can read and write: an allow-list, and the exceptions inside it.

Commands can read directories of the system and, in the home directory, toolchains that hold no secrets. They can write
only the workspace. Everything else does not exist for the command, or can't be opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ullage_agent.tools.protected_paths import (
    UllageCode,
    code_problem,
    is_below,
    protected_below,
)
from ullage_agent.tools.repositories import git_places

SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store",
    "/run/current-system", "/sys/devices/system", "/var/lib/dpkg", "/var/lib/rpm",
)  # fmt: skip
"""Programs, libraries and their configuration."""

TOOLCHAINS: Final = (
    ".asdf/installs", ".asdf/shims", ".asdf/bin", ".asdf/plugins", ".bun/bin", ".cargo/bin", ".deno/bin",
    ".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk", ".dotnet/sdk-manifests", ".dotnet/shared",
    ".dotnet/templates", ".dotnet/tools", ".elan/bin", ".elan/toolchains", ".ghcup/bin", ".ghcup/ghc", ".goenv/bin",
    ".goenv/libexec", ".goenv/shims", ".goenv/versions", ".juliaup/bin", ".julia/juliaup", ".local/bin", ".local/lib",
    ".local/share/fnm/node-versions", ".local/share/fnm/aliases", ".local/share/mise/installs",
    ".local/share/mise/shims", ".local/share/pipx/venvs", ".local/share/pnpm", ".local/share/uv/python",
    ".local/share/uv/tools", ".nodenv/bin", ".nodenv/libexec", ".nodenv/shims", ".nodenv/versions", ".npm-global/bin",
    ".npm-global/lib", ".nvm/alias", ".nvm/nvm.sh", ".nvm/nvm-exec", ".nvm/versions", ".opam", ".pyenv/bin",
    ".pyenv/libexec", ".pyenv/shims", ".pyenv/version", ".pyenv/versions", ".rbenv/bin", ".rbenv/libexec",
    ".rbenv/shims", ".rbenv/version", ".rbenv/versions", ".rustup/settings.toml", ".rustup/toolchains",
    ".sdkman/candidates", ".swiftly/bin", ".swiftly/toolchains", ".volta/bin", ".volta/tools/image", "go/bin",
    "go/pkg/mod",
    *(f"{name}/{part}" for name in ("anaconda3", "mambaforge", "miniconda3", "miniforge3")
      for part in ("bin", "condabin", "envs", "include", "lib", "libexec", "pkgs", "share", "ssl")),
)  # fmt: skip
"""Where a home directory holds compilers, interpreters and packages. Not the directories above: ``.cargo`` holds a
token, ``.local/share/uv`` those of ``uv auth``, ``.dotnet`` private keys, ``miniconda3`` a ``.condarc``."""

TOOLCHAIN_SETTINGS: Final = (
    ".nvm/versions/node/*/etc", ".nodenv/versions/*/etc", ".asdf/installs/nodejs/*/etc",
    ".local/share/mise/installs/node/*/etc", ".local/share/fnm/node-versions/*/installation/etc",
    ".volta/tools/image/node/*/etc", ".pyenv/versions/*/.condarc", ".local/share/uv/tools/*/pip.conf",
    ".local/share/pipx/venvs/*/pip.conf", ".pyenv/versions/*/pip.conf", "*conda3/envs/*/.condarc",
    "*conda3/envs/*/pip.conf", "m*forge*/envs/*/.condarc", "m*forge*/envs/*/pip.conf",
)  # fmt: skip
"""Patterns of settings inside these that may hold a registry's token, and are hidden."""

SECRETS: Final = (
    ".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube", ".netrc", ".npmrc", ".pypirc", ".pgpass",
    ".my.cnf", ".git-credentials", ".gitconfig", ".password-store", ".local/share/keyrings", ".local/share/ullage",
    ".local/state", ".mozilla", ".thunderbird", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".gradle/gradle.properties", ".terraform.d", ".oci", ".boto", ".s3cfg", ".vault-token",
    ".claude", ".claude.json", ".codex", ".gemini", ".bash_history", ".zsh_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".viminfo", ".Xauthority",
    ".cache", "snap", "Library",
)  # fmt: skip
"""What is hidden in a home directory that lies in a readable directory of the system, such as ``/opt``."""


_OTHER_ROOT: Final = "choose another --root, such as the directory of one project"


class FileAccess(NamedTuple):
    """Where a command can read and write. All paths are absolute and without links.

    ``hidden`` lies inside readable or writable places, ``protected`` inside writable ones. ``missing`` does not exist
    there and must stay missing. ``code`` is Ullage's own code there, ``code_missing`` the missing parts of its code and
    places. ``problem`` says why this workspace can't be confined at all, and what to do.
    """

    root: Path
    home: Path
    readable: tuple[Path, ...]
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    code: tuple[Path, ...] = ()
    code_missing: tuple[Path, ...] = ()
    problem: str = ""

    @property
    def places(self) -> tuple[Path, ...]:
        """The workspace and the other writable places."""
        return (self.root, *self.writable)

    @property
    def closed(self) -> tuple[Path, ...]:
        """Places inside these that are read-only, whether they exist or not."""
        return (*self.protected, *self.missing, *self.code, *self.code_missing)


def file_access_of(
    root: Path,
    *,
    home: Path,
    search_path: str = "",
    readable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
    hidden: Iterable[Path] = (),
    code: UllageCode = UllageCode(),  # noqa: B008
) -> FileAccess:
    """Where a command in this workspace can read and write, among what exists now.

    ``search_path`` is the ``PATH`` of programs; ``readable`` and ``writable`` are the operator's further directories.
    No command may read ``hidden`` or change ``code``, wherever they lie.
    """
    root, home = _real(root), _real(home)
    further = tuple(dict.fromkeys(_existing(writable)))
    places = (root, *further)
    toolchains = [home / each for each in TOOLCHAINS]
    # a home directory on the search path must not open the whole of it
    programs = [
        each for each in _directories(search_path) if not home.is_relative_to(_real(each))
    ]
    seen = _outermost(_existing([*map(Path, SYSTEM), *toolchains, *programs, *readable]))
    hidden = list(hidden)
    git = git_places(root, further)
    private, own = protected_below(hidden, places), protected_below(code.files, places)
    code_missing = [
        path for path in (*own.missing, *private.missing) if _can_write(path.parent)
    ]
    problem = _too_wide(root, further, home)
    if git.problem and not problem:
        problem = f"{git.problem}; {_OTHER_ROOT}"
    return FileAccess(
        root=root,
        home=home,
        readable=tuple(place for place in seen if not is_below(place, places)),
        writable=further,
        hidden=_hidden(
            [*hidden, *_secrets(home)], (*places, *seen), (root, *code_missing)
        ),
        protected=git.existing,
        missing=tuple(path for path in git.missing if _can_write(path.parent)),
        code=own.existing,
        code_missing=tuple(code_missing),
        problem=problem or code_problem(code, places) or own.problem or private.problem,
    )


def _directories(search_path: str) -> list[Path]:
    return [Path(each) for each in search_path.split(os.pathsep) if os.path.isabs(each)]


def _secrets(home: Path) -> Iterator[Path]:
    """What readable places may hold that no command may read."""
    for pattern in TOOLCHAIN_SETTINGS:
        yield from home.glob(pattern)
    yield from _private_files(os.geteuid() == 0)
    if is_below(home, [_real(Path(each)) for each in SYSTEM]):
        yield from (home / each for each in SECRETS)


def _hidden(
    paths: Iterable[Path], granted: Iterable[Path], kept: Iterable[Path]
) -> tuple[Path, ...]:
    """The existing paths that lie in granted places, once each, but for ``kept``."""
    hidden = dict.fromkeys(path for path in _existing(paths) if is_below(path, granted))
    for path in kept:
        hidden.pop(path, None)
    return tuple(hidden)


def _can_write(directory: Path) -> bool:
    """Whether a command can make a file here; an owner can change the permissions first."""
    if os.statvfs(directory).f_flag & os.ST_RDONLY:
        return False
    return os.access(directory, os.W_OK) or directory.stat().st_uid == os.geteuid()


def _too_wide(root: Path, further: Iterable[Path], home: Path) -> str:
    """A home directory is full of files that start programs or hold keys, and of places for more of them."""
    for place in (root, *further):
        if home.is_relative_to(place) or place == Path("/"):
            remedy = _OTHER_ROOT if place == root else "take it out of sandbox_write"
            return f"{place} holds the home directory, with files that start programs and hold keys; {remedy}"
    return ""


def store_files(store: Path) -> tuple[Path, ...]:
    """A store's database and the files that SQLite puts beside it."""
    if not store.parent.is_dir():
        return ()
    return tuple(
        sorted(
            each for each in store.parent.iterdir() if each.name.startswith(store.name)
        )
    )


@cache
def _private_files(is_root: bool) -> tuple[Path, ...]:
    """The files of /etc that only root may read: for root itself their permissions hide nothing."""
    return tuple(_unreadable(Path("/etc"))) if is_root else ()


def _unreadable(directory: Path) -> Iterator[Path]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_symlink():
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if not mode & stat.S_IROTH:
                yield Path(entry.path)
            elif stat.S_ISDIR(mode):
                yield from _unreadable(Path(entry.path))


def _outermost(places: Iterable[Path]) -> list[Path]:
    """The places without those that lie in another place."""
    outer: list[Path] = []
    for place in sorted(set(places)):
        if not is_below(place, outer):
            outer.append(place)
    return outer


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [_real(path) for path in paths if os.path.exists(path)]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
