"""The runs of ullage.attach with old and new SDKs: what fails, and that the script counts as is billed."""

from __future__ import annotations

import pytest

from bench.plugins.attached import SDKS, AttachedRun, AttachedSdk, run_sdk


class HereSdk(AttachedSdk):
    """The SDK of the development environment."""

    @property
    def peer(self) -> None:  # type: ignore[override]
        return None


@pytest.mark.parametrize(
    ("counted", "billed", "problems", "words"),
    [
        ({"sync": [5, 6, 7]}, [5, 6, 7], [], []),
        ({}, [], [], ["no way was tried"]),
        ({"sync": [5, 6]}, [5, 6], [], ["2 calls counted of 3"]),
        ({"sync": [5, None, 7]}, [5, 6, 7], [], ["billed"]),
        ({"sync": [5, 6, 7]}, [5, 6, 7, 8], ["async: no"], ["async: no", "billed"]),
    ],
    ids=["equal", "nothing", "a call too few", "unknown input", "a way that failed"],
)
def test_a_run_passes_only_if_each_call_is_counted_as_it_is_billed(
    counted: dict[str, list[int | None]],
    billed: list[int],
    problems: list[str],
    words: list[str],
) -> None:
    failures = AttachedRun(counted, billed, problems).failures()
    assert len(failures) == len(words)
    for failure, word in zip(failures, words, strict=True):
        assert word in failure


def test_each_sdk_has_an_old_version_and_a_new_one_that_a_quick_run_tries() -> None:
    for package in ("openai", "anthropic", "google-genai"):
        is_quick = [sdk.is_quick for sdk in SDKS if sdk.package == package]
        assert sorted(is_quick) == [False, True]


@pytest.mark.parametrize("sdk", SDKS[1::2], ids=[sdk.package for sdk in SDKS[1::2]])
def test_the_script_counts_what_the_simulator_bills(sdk: AttachedSdk) -> None:
    found = run_sdk(HereSdk(sdk.package, sdk.version, sdk.wire, sdk.root))
    assert found.failures() == []
    assert len(found.counted) in (4, 8)
