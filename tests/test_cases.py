import pytest

from tests.cases import case, filled


def test_a_failure_names_its_case() -> None:
    with pytest.raises(AssertionError) as caught, case("wine", 3):
        raise AssertionError
    assert caught.value.__notes__ == ["The case: 'wine', 3"]


def test_no_case_at_all_is_a_failure() -> None:
    assert filled(value for value in (1, 2)) == [1, 2]
    with pytest.raises(AssertionError, match="no cases"):
        filled([])
