import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import perform


def environment_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "ULLAGE_DATA": str(home)}


@contextmanager
def proxy(home: Path, *words: str) -> Iterator[str]:
    """What a running proxy has printed when it listens, up to its first empty line."""
    command = [sys.executable, "-m", "ullage", "proxy", "--port", "0", *words]
    process = subprocess.Popen(
        command,
        env=environment_of(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        printed = process.stdout.readline()
        yield printed
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_it_says_where_it_listens_and_answers_there(tmp_path: Path) -> None:
    with proxy(tmp_path) as printed:
        address = printed.split()[4]
        assert printed == f"Ullage's proxy listens at {address} until Ctrl-C.\n"
        with urllib.request.urlopen(f"{address}/ullage/health") as answer:
            health = json.load(answer)
    assert health["program"] == "ullage"
    assert {"anthropic", "openai", "gemini", "deepseek"} <= set(health["upstreams"])


def test_quiet_it_prints_one_line_for_programs(tmp_path: Path) -> None:
    with proxy(tmp_path, "--quiet", "--upstream", "lab=http://127.0.0.1:9") as printed:
        address = json.loads(printed)["listening"]
        with urllib.request.urlopen(f"{address}/ullage/health") as answer:
            assert "lab" in json.load(answer)["upstreams"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--upstream", "lab"), "Give one such as https"),
        (("--port", "70000"), "give one from 1 to 65535"),
        (("--keep-days", "-1"), "give one like 30"),
        (("--store", "a", "--no-store"), "not allowed with"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_starts(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    refused = perform(tmp_path, environment_of(tmp_path), "proxy", *words)
    assert refused.returncode == 2
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "no token is set"),
        (("--host", "0.0.0.0", "--token-file", "none"), "can't be read"),
    ],
)
def test_other_machines_need_a_token(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    command = [sys.executable, "-m", "ullage", "proxy", "--port", "0", *words]
    refused = subprocess.run(
        command, env=environment_of(tmp_path), capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert said in refused.stderr
