"""Which places a sandboxed command can read and write: an allow-list, and what is taken out of it again.

Directories of the system can be read, the home directory can't but for toolchains that hold no secrets, and only the
workspace can be written. Everything not named here does not exist for the command, or can't be opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ullage.tools.protected_paths import UllageCode, code_problem, protected_below
from ullage.tools.repositories import git_places

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
"""What in a home holds compilers, interpreters and their packages. Not the directories above: ``.cargo`` holds a token,
``.local/share/uv`` those of ``uv auth``, ``.dotnet`` private keys, ``miniconda3`` a ``.condarc``."""

TOOLCHAIN_SETTINGS: Final = (
    ".nvm/versions/node/*/etc", ".nodenv/versions/*/etc", ".asdf/installs/nodejs/*/etc",
    ".local/share/mise/installs/node/*/etc", ".local/share/fnm/node-versions/*/installation/etc",
    ".volta/tools/image/node/*/etc", ".pyenv/versions/*/.condarc", ".local/share/uv/tools/*/pip.conf",
    ".local/share/pipx/venvs/*/pip.conf", ".pyenv/versions/*/pip.conf", "*conda3/envs/*/.condarc",
    "*conda3/envs/*/pip.conf", "m*forge*/envs/*/.condarc", "m*forge*/envs/*/pip.conf",
)  # fmt: skip
"""Settings inside of these that may hold the token of a registry, as patterns: they are hidden."""

TOOLCHAIN_VARIABLES: Final[Mapping[str, str]] = {
    "RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm", "RBENV_ROOT": ".rbenv", "VOLTA_HOME": ".volta",
    "ASDF_DATA_DIR": ".asdf", "GOMODCACHE": "go/pkg/mod",
}  # fmt: skip
"""Where a toolchain lies, for one that would look in a home directory that is private now."""

SECRETS: Final = (
    ".ssh", ".gnupg", ".aws", ".azure", ".config", ".docker", ".kube", ".netrc", ".npmrc", ".pypirc", ".pgpass",
    ".my.cnf", ".git-credentials", ".gitconfig", ".password-store", ".local/share/keyrings", ".local/share/ullage",
    ".local/state", ".mozilla", ".thunderbird", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
    ".m2/settings.xml", ".gradle/gradle.properties", ".terraform.d", ".oci", ".boto", ".s3cfg", ".vault-token",
    ".claude", ".claude.json", ".codex", ".gemini", ".bash_history", ".zsh_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".lesshst", ".viminfo", ".Xauthority",
    ".cache", "snap", "Library",
)  # fmt: skip
"""What is hidden in a home directory below a directory of the system that can be read, such as ``/opt``."""


_OTHER_ROOT: Final = "choose another --root, such as the directory of one project"


class FileAccess(NamedTuple):
    """What a command can get at. All paths are absolute and without links.

    ``hidden`` lies inside what can be read or written, ``protected`` inside what can be written. ``missing`` does not
    exist there and must not come to be. ``own`` is Ullage's own code there, ``own_missing`` what
    is missing of its code and places. ``problem`` says why this workspace can't be confined at all, and what to do.
    """

    root: Path
    home: Path
    readable: tuple[Path, ...]
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    own: tuple[Path, ...] = ()
    own_missing: tuple[Path, ...] = ()
    problem: str = ""

    @property
    def closed(self) -> tuple[Path, ...]:
        """What can be read but not written, there or not."""
        return (*self.protected, *self.missing, *self.own, *self.own_missing)

    def sees(self, path: Path) -> bool:
        """Whether the path lies in a place that can be read."""
        if any(path.is_relative_to(hidden) for hidden in self.hidden):
            return False
        return any(path.is_relative_to(place) for place in (self.root, *self.writable, *self.readable))

    def writes(self, path: Path) -> bool:
        """Whether the path lies in a place that can be written."""
        if any(path.is_relative_to(place) for place in (*self.hidden, *self.closed)):
            return False
        return any(path.is_relative_to(place) for place in (self.root, *self.writable))


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
    """What a command in this workspace can get at, of what exists now.

    ``search_path`` is the ``PATH`` of programs; ``readable`` and ``writable`` are the operator's further directories,
    ``hidden`` what no command may read wherever it lies, ``code`` what none may change.
    """
    root, home = _real(root), _real(home)
    toolchains = [home / each for each in TOOLCHAINS]
    programs = [Path(each) for each in search_path.split(os.pathsep) if os.path.isabs(each)]
    # a home directory on the search path must not open the whole of it
    programs = [each for each in programs if not home.is_relative_to(_real(each))]
    further = tuple(dict.fromkeys(_existing(writable)))
    places = (root, *further)
    seen = _outermost(_existing([*map(Path, SYSTEM), *toolchains, *programs, *readable]))
    hidden = list(hidden)
    settings = [each for pattern in TOOLCHAIN_SETTINGS for each in home.glob(pattern)]
    closed = [*hidden, *settings, *_private_files(os.geteuid() == 0)]
    if _is_below(home, map(_real, map(Path, SYSTEM))):
        closed += [home / each for each in SECRETS]
    granted = (*places, *seen)
    git = git_places(root, further)
    private, own = protected_below(hidden, places), protected_below(code.files, places)
    own_missing = tuple(path for path in (*own.missing, *private.missing) if _can_write(path.parent))
    return FileAccess(
        root=root,
        home=home,
        readable=tuple(place for place in seen if not _is_below(place, places)),
        writable=further,
        hidden=tuple(
            dict.fromkeys(
                each for each in _existing(closed) if _is_below(each, granted) and each not in (root, *own_missing)
            )
        ),
        protected=git.existing,
        missing=tuple(path for path in git.missing if _can_write(path.parent)),
        own=own.existing,
        own_missing=own_missing,
        problem=(
            _too_wide(root, further, home)
            or (git.problem and f"{git.problem}; {_OTHER_ROOT}")
            or code_problem(code, places)
            or own.problem
            or private.problem
        ),
    )


def _can_write(directory: Path) -> bool:
    """Whether a command can make something here; an owner can change the permissions first."""
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
    """A store's database and the files SQLite keeps beside it."""
    if not store.parent.is_dir():
        return ()
    return tuple(sorted(each for each in store.parent.iterdir() if each.name.startswith(store.name)))


@cache
def _private_files(is_root: bool) -> tuple[Path, ...]:
    """What in /etc only root may read: for root itself its permissions hide nothing."""
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
    """The places without those that lie in another one."""
    outer: list[Path] = []
    for place in sorted(set(places)):
        if not _is_below(place, outer):
            outer.append(place)
    return outer


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [_real(path) for path in paths if os.path.exists(path)]


def _is_below(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
