import json

from scripts.audit import NOT_CHECKED, read_report, verdict
from scripts.check import OUTCOMES

FINE = {"name": "msgspec", "version": "0.20.0", "vulns": []}
WEAK = {
    "name": "h11",
    "version": "0.1",
    "vulns": [{"id": "PYSEC-2025-1", "fix_versions": ["0.2"]}],
}
UNASKED = {"name": "rich", "skip_reason": "Dependency not found on PyPI"}


def said_of(*packages: object) -> tuple[int, str]:
    return verdict(
        read_report(json.loads(json.dumps({"dependencies": packages, "fixes": []})))
    )


def test_a_dependency_with_a_known_weakness_fails_the_check_and_is_named() -> None:
    code, said = said_of(FINE, WEAK, UNASKED)
    assert code == 1 and code not in OUTCOMES
    assert "h11 0.1: PYSEC-2025-1, fixed in 0.2" in said


def test_dependencies_that_nobody_could_ask_about_are_neither_a_success_nor_a_failure() -> (
    None
):
    for packages in ((UNASKED,), (FINE, UNASKED), ()):
        code, said = said_of(*packages)
        assert code == NOT_CHECKED and OUTCOMES[code] == "NOT CHECKED"
        assert "NOT CHECKED" in said


def test_dependencies_without_a_known_weakness_pass() -> None:
    assert said_of(FINE) == (0, "1 packages, no known weakness")
