import pytest

from tests.importers.ledgers import LEDGERS, NAMES, ledger_of


@pytest.mark.parametrize("name", NAMES)
def test_a_log_gives_its_ledger(name: str) -> None:
    kept = (LEDGERS / f"{name}.jsonl").read_text("utf-8")
    assert ledger_of(name).splitlines() == kept.splitlines()
