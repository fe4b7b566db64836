import pytest

from ullage.context.rules import CompactionRules
from ullage.errors import SettingError


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep": 0.0},
        {"keep": 1.0},
        {"goal": 1.5},
        {"protect_tokens": -1},
        {"most_pieces": 0},
    ],
)
def test_a_value_that_cannot_be_is_an_error(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        CompactionRules(**wrong)  # type: ignore[arg-type]
