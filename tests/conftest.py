"""For every test: no network but loopback, a home of its own, hypothesis profiles, and which are of the fast tier.

HYPOTHESIS_PROFILE=sweep uv run pytest         more examples, as in the second tier
HYPOTHESIS_PROFILE=thorough uv run pytest      many more
HYPOTHESIS_PROFILE=few uv run pytest           fewer, as in the fast tier
"""

import gc
import importlib
import os
import pkgutil
import signal
import socket
import sys
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import ullage_simulators
from hypothesis import HealthCheck, settings

import ullage
from tests import again
from tests.postgres import database_url  # noqa: F401 - a fixture for all
from tests.programs import bring, missing
from tests.tiers import PROFILE, each_tenth, examples

settings.register_profile(
    "quick",
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.register_profile(
    "thorough",
    settings.get_profile("quick"),
    max_examples=2_000,
    derandomize=False,
    print_blob=True,
)
settings.register_profile("sweep", settings.get_profile("quick"), max_examples=60)
settings.register_profile("few", settings.get_profile("quick"), max_examples=4)
settings.load_profile(PROFILE)


IS_LINUX = sys.platform.startswith("linux")

FAST = frozenset(
    {
        "types",
        "models",
        "tokens",
        "test_reasoning.py",
        "codec",
        "meter",
        "checkpoint",
        "context",
        "advice",
        "agent",
        "importers",
    }
)
"""Directories of the fast tier, apart from single tests that are marked slow: their tests start no server, process or
browser and wait for nothing. The tests of all others are slow."""

SWEEPS = frozenset(
    {
        "compaction",
        "hostile",
        "importers/test_deep_logs.py",
        "integration/test_long_loops.py",
        "integration/test_readings.py",
        "promises/test_long_loops.py",
        "promises/test_reading.py",
        "runtime/test_damaged.py",
        "store/sqlite/test_size.py",
        "sweeps",
    }
)
"""Directories and files of the second tier: they try every moment of something, or very many histories. Single tests
and cases are marked where they stand (``first_of`` in tests/tiers.py). Tests that open a browser are of it too."""


LINUX = frozenset(
    {
        "hostile",
        "promises/test_cancel_elsewhere.py",
        "tools/test_escapes.py",
        "tools/test_processes.py",
        "tools/test_protected_paths.py",
        "tools/test_repositories.py",
        "tools/test_sandbox.py",
        "tools/test_shell.py",
    }
)
"""Directories and files of tests that need Linux: they try bubblewrap, or look into /proc."""

SANDBOXED = LINUX | {"runtime/test_ceiling.py"}
"""Those that run commands in the sandbox."""


def is_first_tier(config: pytest.Config) -> bool:
    """Whether neither paths nor marks are named."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return is_whole and not config.option.markexpr


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The first tier is without the tests of the benches, which ``.ci/run`` runs with them."""
    is_of_the_benches = collection_path == Path(__file__).parent / "bench"
    return True if is_of_the_benches and is_first_tier(config) else None


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Marks the tiers. Where neither paths nor marks are named, the first tier is run."""
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here)
        if path.parts[0] not in FAST:
            item.add_marker(pytest.mark.slow)
        opens_browser = "browser" in getattr(item, "fixturenames", ())
        if opens_browser or not SWEEPS.isdisjoint((path.parts[0], path.as_posix())):
            item.add_marker(pytest.mark.sweep)
        if not IS_LINUX and not LINUX.isdisjoint((path.parts[0], path.as_posix())):
            missing["Linux"] = "the sandbox, and what is read from /proc"
            item.add_marker(pytest.mark.skip("needs Linux"))
        names = vars(getattr(item, "module", None) or object)
        has_examples = (
            names.get("examples") is examples or names.get("each_tenth") is each_tenth
        )
        if has_examples or item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.property)
    if is_first_tier(config):
        second_tier = [item for item in items if item.get_closest_marker("sweep")]
        config.hook.pytest_deselected(items=second_tier)
        items[:] = [item for item in items if not item.get_closest_marker("sweep")]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collecting makes a million objects that all stay: looking for garbage among them takes half of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.get_closest_marker("property") for item in session.items):
        load_all()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Installs Debian's bubblewrap for the tests of the sandbox; without it they fail."""
    path = item.path.relative_to(Path(__file__).parent)
    if IS_LINUX and not SANDBOXED.isdisjoint((path.parts[0], path.as_posix())):
        bring("bubblewrap", "bwrap")


ELSEWHERE = frozenset({"ullage.plugins.google_adk", "ullage.plugins.litellm"})
"""Plug-ins of frameworks that this environment can't hold: ``bench.plugins`` runs them in environments of their own."""


def load_all() -> None:
    """Import all modules of the project.

    Hypothesis also draws the constants that stand in loaded modules, so the examples of a test would otherwise depend
    on which tests the same process ran before it, and a failure in one run would not come again in the next.
    """
    for package in (ullage, ullage_simulators):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and module.name not in ELSEWHERE:
                importlib.import_module(module.name)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Paths as short as in one process: what shows a path on a narrow terminal breaks its lines elsewhere otherwise."""
    if hasattr(config, "workerinput"):
        given = Path(config.option.basetemp)
        config.option.basetemp = given.with_name(given.name.removeprefix("popen-gw"))
    again.register(config)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process where paths are named: starting more takes longer than most directories do.

    Otherwise one more than there are cores, since many tests wait.
    """
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return 0
    return (os.cpu_count() or 1) + 1


if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell's background job: its children would ignore Ctrl-C too
    signal.signal(signal.SIGINT, signal.default_int_handler)


class NetworkUsed(AssertionError):
    """A test reached for the network: a fake is missing. Not an ``OSError``, so that no retry swallows it."""


LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")

_attempts: list[str] = []


def _is_local(address: Any) -> bool:
    host = address[0] if isinstance(address, tuple) and address else address
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    return (
        host in (None, "")
        or not isinstance(host, str)
        or host.startswith(("/", "\0", *LOOPBACK))
    )


def _guarded(name: str, original: Any, address_at: int) -> Any:
    def guard(*args: Any, **keywords: Any) -> Any:
        address = args[address_at] if args[address_at:] else None
        if not _is_local(address):
            _attempts.append(f"{name}({address!r})")
            raise NetworkUsed(
                f"The network is off in tests, but {name}({address!r}) was called: use a fake."
            )
        return original(*args, **keywords)

    return guard


@pytest.fixture(scope="session", autouse=True)
def _network_is_off() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(
                socket.socket, name, _guarded(name, getattr(socket.socket, name), 1)
            )
        patch.setattr(
            socket.socket, "sendto", _guarded("sendto", socket.socket.sendto, -1)
        )
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
            patch.setattr(socket, name, _guarded(name, getattr(socket, name), 0))
        yield


PLACES = (
    "ULLAGE_DATA",
    "ULLAGE_CONFIG",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
)
"""Variables that would lead a test out of its home."""

SIZES = ("COLUMNS", "LINES")
"""Variables that win over the size of a terminal. The processes that run the tests are given the first."""

_numbers = count()


@pytest.fixture(scope="session", autouse=True)
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the tests' homes are; the home of what is made for many tests."""
    homes = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        for name in (*PLACES, *SIZES):
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(homes))
        yield homes


@pytest.fixture(autouse=True)
def _home_of_its_own(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test teaches a model is neither the user's nor the next test's; no session of the user's is found."""
    home = _homes / str(next(_numbers))
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker process could not test is known to the process that reports."""
    missing.update(getattr(node, "workeroutput", {}).get("missing", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["missing"] = missing


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say aloud what could not be tested on this machine."""
    for package, what in missing.items():
        terminalreporter.write_line(
            f"NOT TESTED: {what} ({package} is not here)",
            red=True,
        )


@pytest.fixture(scope="session", autouse=True)
def _counts_and_limits_are_waited_for() -> Iterator[None]:
    """A call goes out without a count or a model's limits that come late, and is another call then.

    On a busy machine they come late. A test of what comes late sets its own limit.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ullage.wire.asking.ASIDE_S", 60.0)
        yield


@pytest.fixture
def network_attempts() -> Iterator[list[str]]:
    """What was tried so far; for the tests of the guard, which forgive their own attempts."""
    yield _attempts
    _attempts.clear()


@pytest.fixture(autouse=True)
def _no_attempt_goes_unseen(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if _attempts and "network_attempts" not in request.fixturenames:
        tried = ", ".join(_attempts)
        _attempts.clear()
        raise NetworkUsed(
            f"This test reached for the network and something swallowed the refusal: {tried}."
        )
