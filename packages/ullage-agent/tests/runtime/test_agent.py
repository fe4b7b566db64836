"""An agent's shortcuts: one question without a session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.promises.stage import CLAUDE
from ullage import Agent
from ullage.errors import WrongType


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tools": print}, "`tools` takes a list, and not builtin_function_or_method"),
        ({"tools": "none"}, "`tools` takes a list, and not str: write tools="),
        ({"handoffs": Agent(CLAUDE.model, config=False)}, "`handoffs` takes a list"),
        ({"handoffs": {"billing": 1}}, "`handoffs` takes a list, and not dict"),
    ],
)
def test_a_single_one_where_a_list_is_taken_is_named(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(WrongType, match=words):
        Agent(CLAUDE.model, config=False, **arguments)
