"""For every test: no network but loopback, a home of its own, hypothesis profiles, and its tier (tests/marks.py).

HYPOTHESIS_PROFILE=sweep uv run pytest         more examples, as in the second tier
HYPOTHESIS_PROFILE=thorough uv run pytest      many more
HYPOTHESIS_PROFILE=few uv run pytest           fewer, as in ``make fast``
"""

import gc
import importlib
import os
import pkgutil
import signal
import socket
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import again, guard, left, marks, programs
from tests.programs import not_here
from tests.tiers import PROFILE

guard.install()
_meter = guard.Meter()

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


def is_whole(config: pytest.Config) -> bool:
    """Whether no paths are named."""
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


def is_first_tier(config: pytest.Config) -> bool:
    """Whether neither paths nor marks are named."""
    return is_whole(config) and not config.option.markexpr


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes the list of slow tests."""
    parser.addoption("--measure", action="store_true", help="write tests/slow.txt anew")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """``.ci/run`` runs the tests of benches with them; the first tier does not load what is of sweeps alone."""
    if not is_whole(config) or "tests" not in collection_path.parts:
        return None
    place = marks.below_tests(collection_path).as_posix()
    is_left_out = place == "bench" or (is_first_tier(config) and place in marks.SWEEPS)
    return True if is_left_out else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Tests that need programs do not begin without them."""
    config = session.config
    asked = config.option.markexpr
    if not is_whole(config) or hasattr(config, "workerinput"):
        return
    if any(name in asked for name in ("program", "second", "sweep")):
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(programs.all_named())
        if absent := programs.missing():
            raise pytest.UsageError(programs.said(absent))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Marks the tiers. Where neither paths nor marks are named, the first tier is run."""
    for item in items:
        marks.mark(item)
    left_out = [item for item in items if marks.rests(item, marks.turn())]
    if is_first_tier(config):
        later = ("program", "sweep") if config.option.measure else marks.LATER
        left_out = [item for item in items if any(map(item.get_closest_marker, later))]
    items.sort(key=lambda item: not marks.is_long(item))
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        resting = set(left_out)
        items[:] = [item for item in items if item not in resting]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test of the first tier starts no program."""
    _meter.begin()
    with guard.watched(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test of the first tier took."""
    report = yield
    if report.when == "teardown" and not item.get_closest_marker("second"):
        _meter.end(report)
    return report


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


ELSEWHERE = frozenset({"ullage.plugins.google_adk", "ullage.plugins.litellm"})
"""Plug-ins of frameworks that this environment can't hold: ``bench.plugins`` runs them in environments of their own."""

PACKAGES = tuple(each.name for each in Path(__file__).parents[1].glob("packages/*/src/*"))


def load_all() -> None:
    """Import all modules of the project.

    Hypothesis also draws the constants that stand in loaded modules, so the examples of a test would otherwise depend
    on which tests the same process ran before it, and a failure in one run would not come again in the next. Where
    only some distributions are installed (``scripts.borders``) nothing is imported.
    """
    if not all(map(find_spec, (*PACKAGES, "langchain", "textual"))):
        return
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__") and module.name not in ELSEWHERE:
                importlib.import_module(module.name)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Paths as short as in one process: what shows a path on a narrow terminal breaks its lines elsewhere otherwise."""
    if hasattr(config, "workerinput"):
        given = Path(config.option.basetemp)
        config.option.basetemp = given.with_name(given.name.removeprefix("popen-gw"))
    again.register(config)
    if config.option.numprocesses:  # what one process shares it ends when it ends itself
        left.register(config)
    if not hasattr(config, "workerinput") and is_first_tier(config):
        config.pluginmanager.register(guard.Budget(config), "budget")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process where paths are named: starting more takes longer than most directories do.

    Otherwise one more than there are cores, since many tests wait.
    """
    if not is_whole(config):
        return 0
    return (os.cpu_count() or 1) + 1


if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # a shell's background job: its children would ignore Ctrl-C too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


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
    not_here.update(getattr(node, "workeroutput", {}).get("not_here", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["not_here"] = not_here


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say aloud what could not be tested on this machine."""
    for package, what in not_here.items():
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


@pytest.fixture(autouse=True)
def _no_exception_goes_untaken() -> Iterator[None]:
    yield
    said = "\n".join(guard.untaken.take())
    assert not said, said


@pytest.fixture(autouse=True)
def _no_program_goes_unseen() -> Iterator[None]:
    yield
    guard.complain()
