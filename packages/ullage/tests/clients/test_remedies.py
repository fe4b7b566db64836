"""What to do about it is said for each program, with its own commands and settings."""

from itertools import product
from typing import get_args

from tests.cases import case, filled
from ullage_programs.advice import Remedied, remedy_of
from ullage_programs.programs import PROGRAMS


def test_every_program_has_a_remedy_for_everything() -> None:
    program_cases: list[str] = ["", "ullage 0.1.0", "nobody-knows-this", *PROGRAMS]
    for program, what in product(program_cases, filled(get_args(Remedied))):
        with case(program, what):
            text = remedy_of(program, what, "github")
            assert text
            assert "{0}" not in text


def test_programs_have_their_own_where_it_is_known() -> None:
    claude = remedy_of("claude-code 2.1.330", "server", "github")
    assert claude.startswith("`claude mcp remove github`")
    assert "mcp_servers.github" in remedy_of("codex 0.169.0", "server", "github")
    assert "result_tokens" in remedy_of("ullage 0.1.0", "outputs")
