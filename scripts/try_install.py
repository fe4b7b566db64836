"""Follow the start pages word for word, and use wheels and sources: ``uv run python -m scripts.try_install [BUILT]``.

Each trial has an empty home. The pages' commands are typed into a terminal, in a copy of this checkout; the others
install from the built files. What they depend on comes from the package index. Names of pages try these alone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bench.clients.terminal import Terminal, started
from scripts.house.pages import blocks
from scripts.repository import ROOT, committed

LONGEST_S: Final = 900
SESSION: Final = str(ROOT / "examples" / "session.jsonl")

PAGES: Final = ("install", "claude-code", "loop", "agent", "service")
"""Those of ``docs/start``, each tried in a home of its own."""


class Step(NamedTuple):
    """What a reader sees after a command of a page, and the keys that are pressed then: an answer, or Ctrl-C."""

    command: str
    seen: str = ""
    keys: str = ""


CTRL_C: Final = "\x03"

STEPS: Final = (
    Step(r"cd ~/my-project|export "),
    Step(r"pip install uv", r"Successfully installed uv-|already satisfied: uv"),
    Step(r"pipx install ", r"installed package"),
    Step(r"python3 -m venv ~/\.uv"),
    Step(r"uv tool install ", r"Installed 1 executable: ullage"),
    Step(r"uv pip install ", r"ullage==\d"),
    Step(r"uv run .* ullage --version", r"ullage \d"),
    Step(r"ullage context sample --advice", r"(?s)78 %.*To do: "),
    Step(
        r"ullage context --advice",
        r"(?s)newest session of this directory.*compacts at [\d,]+.*To do: ",
    ),
    Step(r"ullage context --follow", r"compacts at [\d,]+", CTRL_C),
    Step(
        r"ullage install claude-code --statusline",
        r"(?s)gets.*\[y/N\] ",
        "y\r",
    ),
    Step(r"uv run .* examples/loop.py", r"2 compactions\. .* whole: 32 messages"),
    Step(r"uv run .* ullage demo", r"compacted once"),
    Step(r"uv run .* ullage chat --simulate", r"Enter sends", CTRL_C * 2),
    Step(r"(uv run .* )?ullage serve .*(--simulate|--root \.)", r"#link=", CTRL_C),
    Step(r"ullage admin token add ann", r"This is the token 'ann'"),
    Step(r"ullage serve --host 0.0.0.0", r"everybody who has a token", CTRL_C),
)
"""All commands of the pages; one that is not here fails the trial."""

SHELL: Final = (
    """printf '%0100d\\n'; export PS1='[$?]$ '; exec bash --noprofile --norc -i"""
)
PROMPT: Final = re.compile(r"\[(\d+)\]\$ $")


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
    # In the background of a script Ctrl-C is ignored, also by what is started from there.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="ullage-install-") as directory:
        top = Path(directory)
        clone = top / "clone"
        for file in committed():
            copy = clone / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
        alone = [each for each in sys.argv[1:] if each in PAGES]
        for page in alone or PAGES:
            print(f"docs/start/{page}.md:", flush=True)
            try_page(page, clone, top / page)
        if alone:
            return 0
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


def try_page(page: str, clone: Path, home: Path) -> None:
    """Type all commands of a start page, as somebody with a clone and a project that Claude Code has worked in."""
    project = home / "my-project"
    trial = _trial(home, clone)
    logs = home / ".claude" / "projects" / "-my-project"
    logs.mkdir(parents=True)
    sample = (clone / "examples" / "session.jsonl").read_text("utf-8")
    log = re.sub(r'"cwd":"[^"]*"', f'"cwd":"{project}"', sample)
    (logs / "5e0a1c2e-4f6b-4c1d-9a57-3d1f6f0b2a10.jsonl").write_text(log, "utf-8")
    trial.run(f"{sys.executable} -m venv {project}/.venv")
    if not shutil.which("pipx"):
        trial.run("uv tool install pipx")
    environment = {
        name: value
        for name, value in trial.environment.items()
        if not name.startswith(("UV_TOOL", "UV_FIND_LINKS", "COLUMNS"))
    } | {
        "PATH": f"{project}/.venv/bin:{trial.environment['PATH']}",
        "VIRTUAL_ENV": str(project / ".venv"),
    }
    text = (clone / "docs" / "start" / f"{page}.md").read_text("utf-8")
    with started(["bash", "-c", SHELL], clone, environment) as terminal:
        terminal.wait(lambda: bool(PROMPT.search(terminal.text)), LONGEST_S)
        for block in blocks(text):
            if block.language == "sh":
                for line in block.text.splitlines():
                    _type(terminal, line)


def _type(terminal: Terminal, line: str) -> None:
    """One line of a page. Ends the trial where it shows something else, or fails."""
    command = re.sub(r"\s+# .*", "", line)
    print(f"  $ {command}", flush=True)
    step = next((each for each in STEPS if re.match(each.command, command)), None)
    if step is None:
        sys.exit(f"{command}: STEPS in scripts/try_install.py does not say what is seen.")
    start = len(terminal.text)

    def is_over() -> bool:
        return bool(PROMPT.search(terminal.text[start:]))

    def is_seen() -> bool:
        return bool(re.search(step.seen, terminal.text[start:]))

    terminal.write(line)
    terminal.wait(lambda: is_over() or (bool(step.keys) and is_seen()), LONGEST_S)
    if not is_seen():
        sys.exit(f"{terminal.text[start:]}\n{command} did not show {step.seen!r}.")
    os.write(terminal.screen, step.keys.encode())
    terminal.wait(is_over, LONGEST_S)
    ended = PROMPT.search(terminal.text[start:])
    if ended is None or (ended[1] != "0" and CTRL_C not in step.keys):
        sys.exit(f"{terminal.text[start:]}\n{command} did not end well.")


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
