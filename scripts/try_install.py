"""Build distributions, and use them as a user would: ``uv run python -m scripts.try_install [BUILT]``.

Each trial has an empty home and installs from the built files; what they depend on comes from the package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
LONGEST_S: Final = 600
SESSION: Final = str(ROOT / "examples" / "session.jsonl")


class Trial:
    """A home with nothing in it but what is installed there from ``built``."""

    def __init__(self, home: Path, built: Path) -> None:
        self.home = home
        bin_directory = home / ".local" / "bin"
        kept = {key: os.environ[key] for key in ("UV_CACHE_DIR",) if key in os.environ}
        self.environment: Mapping[str, str] = {
            **kept,
            "HOME": str(home),
            "PATH": os.pathsep.join([str(bin_directory), os.environ["PATH"]]),
            "UV_TOOL_DIR": str(home / "tools"),
            "UV_TOOL_BIN_DIR": str(bin_directory),
            "UV_FIND_LINKS": str(built),
            "UV_SYSTEM_CERTS": "true",
            "COLUMNS": "100",
        } | _index_settings()

    def run(self, command: str, *, exit_code: int = 0) -> str:
        """What a command of the shell prints. Ends the trial where it exits otherwise."""
        print(f"  $ {command}", flush=True)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.home,
            env=self.environment,
            timeout=LONGEST_S,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if done.returncode != exit_code:
            sys.exit(f"{done.stdout}\n{command} ended with {done.returncode}")
        return done.stdout


def main() -> int:
    """0 when every trial went well."""
    with tempfile.TemporaryDirectory(prefix="ullage-install-") as directory:
        top = Path(directory)
        built = top / "built"
        if sys.argv[1:]:
            built = Path(sys.argv[1]).resolve()
        else:
            build = ["uv", "build", "--all-packages", "--quiet", "--out-dir"]
            subprocess.run([*build, str(built)], cwd=ROOT, check=True)
        check_content(built)
        print("uvx:")
        try_uvx(_trial(top / "uvx", built))
        print("uv tool, and the command that a hint names:")
        try_tool(_trial(top / "tool", built))
        print("pip, from the source distribution:")
        try_pip(_trial(top / "pip", built), built)
    return 0


def check_content(built: Path) -> None:
    """Each wheel holds every file of its distribution and no others, and its source distribution too."""
    for folder in sorted((ROOT / "packages").iterdir()):
        name = folder.name.replace("-", "_")
        (wheel,) = built.glob(f"{name}-[0-9]*.whl")
        (source,) = built.glob(f"{name}-[0-9]*.tar.gz")
        listed = subprocess.run(
            ["git", "ls-files", "src"], cwd=folder, check=True, stdout=-1, text=True
        )
        wanted = set(listed.stdout.split())
        with zipfile.ZipFile(wheel) as archive:
            in_wheel = {f"src/{each}" for each in archive.namelist()}
        with tarfile.open(source) as archive:
            in_source = {each.partition("/")[2] for each in archive.getnames()}
        for kind, names in (("wheel", in_wheel), ("source distribution", in_source)):
            if missing := wanted - names:
                sys.exit(f"The {kind} of {folder.name} lacks {sorted(missing)}.")
            inner = {each for each in names if "/" in each and ".dist-info/" not in each}
            if stray := inner - wanted:
                sys.exit(f"The {kind} of {folder.name} also holds {sorted(stray)}.")
        licenses = {each.name for each in folder.glob("*LICENSE")}
        if licenses != {Path(each).name for each in in_wheel if "/licenses/" in each}:
            sys.exit(f"The wheel of {folder.name} lacks one of {sorted(licenses)}.")
        size = f"wheel {wheel.stat().st_size / 1e3:.0f} kB, source {source.stat().st_size / 1e3:.0f} kB"
        print(f"{folder.name}: {len(wanted)} files; {size}")


def try_uvx(trial: Trial) -> None:
    """One command, nothing installed before."""
    _expect("compacts", trial.run(f"uvx ullage context {SESSION}"))
    hint = trial.run("uvx ullage serve --simulate", exit_code=2)
    _expect("uvx --from 'ullage[", hint)
    refused = trial.run("uvx ullage install claude-code", exit_code=2)
    _expect("nothing was changed", refused)


def try_tool(trial: Trial) -> None:
    """Installed as a tool; the hint's own command then brings what was missing."""
    trial.run("uv tool install 'ullage[bpe]'")
    _expect("ullage", trial.run("ullage --version"))
    _expect("compacts", trial.run(f"ullage context {SESSION}"))
    hint = trial.run("ullage demo --fast", exit_code=2)
    command = hint.rpartition("Install it: ")[2].strip()
    _expect("uv tool install 'ullage[bpe,simulators]'", command)
    trial.run(command)
    trial.run("ullage demo --fast")


def try_pip(trial: Trial, built: Path) -> None:
    """The source distribution is enough to build and run it, also with the server."""
    trial.run("uv venv --quiet --seed env")
    source = next(built.glob("ullage-[0-9]*.tar.gz"))
    trial.run(f"env/bin/pip install --quiet --find-links {built} '{source}[server]'")
    _expect("compacts", trial.run(f"env/bin/ullage context {SESSION}"))
    _expect("usage", trial.run("env/bin/ullage serve --help"))
    hint = trial.run("env/bin/ullage demo", exit_code=2)
    _expect("pip install 'ullage[simulators]'", hint)


def _trial(home: Path, built: Path) -> Trial:
    home.mkdir()
    return Trial(home, built)


def _expect(part: str, printed: str) -> None:
    if part not in printed:
        sys.exit(f"{printed}\nThis lacks {part!r}.")


def _index_settings() -> dict[str, str]:
    """Where this machine takes packages from, if not from the public index."""
    prefixes = ("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX", "SSL_", "HTTP", "NO_PROXY")
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(prefixes)
    }


if __name__ == "__main__":
    sys.exit(main())
