import os
import shutil
import subprocess
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import case, filled
from tests.tiers import examples
from ullage.turns.simple_command import simple_command

BASH = shutil.which("bash") or "/bin/bash"

SIMPLE = {
    "git status": ("git", "status"),
    "  git\tstatus --short \n": ("git", "status", "--short"),
    "git log HEAD~1 HEAD^ a..b": ("git", "log", "HEAD~1", "HEAD^", "a..b"),
    "git commit -m 'a; b | c > d $(e) `f`'": (
        "git",
        "commit",
        "-m",
        "a; b | c > d $(e) `f`",
    ),
    'echo "two words" and one': ("echo", "two words", "and", "one"),
    "gi't' \"st\"atus": ("git", "status"),
    "echo ''": ("echo", ""),
    "printf %s,%s x=1": ("printf", "%s,%s", "x=1"),
    "rg 'größer als'": ("rg", "größer als"),
}

NOT_SIMPLE = [
    "",
    "   ",
    "git status; touch x",
    "git status & touch x",
    "git status && touch x",
    "git status || touch x",
    "git status | sh",
    "git status |& sh",
    "git status\ntouch x",
    "git status\rtouch x",
    "git status `touch x`",
    "git status $(touch x)",
    'git status "$(touch x)"',
    'git status "`touch x`"',
    "git status ${x:-$(touch x)}",
    "git status $x",
    'git status "$x"',
    "git status $'\\n' touch",
    'git status $"x"',
    "git status > x",
    "git status >> x",
    "git status 2>x",
    "git status &> x",
    "git status >| x",
    "git status < x",
    "git status << x",
    "git status <<< x",
    "git status <(touch x)",
    "git status >(touch x)",
    "GIT_PAGER=x git status",
    "PATH=. git status",
    "a+=b git status",
    "a[0]=b git status",
    "git status \\\n; touch x",
    "git st\\atus",
    "git status \\; touch x",
    "git status 'a",
    'git status "a',
    "git status 'a''b\ntouch x",
    'git status "a\nb"',
    "(git status)",
    "{ git status; }",
    "! git status",
    "if git status",
    "while true",
    "function git",
    "git() status",
    "case git in",
    "[[ a ]]",
    "((a))",
    "git status *",
    "git status ?",
    "git status [a]",
    "git status {a,b}",
    "git status @(a)",
    "git status ~",
    "git status ~root",
    "git status a=~",
    "git status a:~",
    "git status # touch",
    "git status !!",
    'git status "!!"',
    "git status\x00touch x",
    "git status\x1b[2Ktouch x",
    "git\u00a0status",
    "git status\u2028touch x",
    "git status\u202e touch",
    "git status \u200btouch",
    "gìt status",
]


@pytest.mark.parametrize("text", SIMPLE)
def test_a_simple_command_is_read_as_its_words(text: str) -> None:
    assert simple_command(text) == SIMPLE[text]


@pytest.mark.slow
@pytest.mark.parametrize("text", SIMPLE)
def test_bash_reads_a_simple_command_the_same_way(text: str) -> None:
    assert words_by_bash([text]) == [SIMPLE[text]]


def test_whatever_could_do_more_is_no_simple_command() -> None:
    for text in filled(NOT_SIMPLE):
        with case(text):
            assert simple_command(text) is None


PIECES = st.sampled_from(
    [
        *" \t\n\r;&|<>()`$\"'\\{}[]*?!#~=+@:^%,./-_é\u00a0\u202e\0\x1b1", "a", "b", "git", "status", "if", "x=1", "$(",
        "${", "$'", "<(", "&&", "||", ">>", "2>", "\\\n", "-c", "=~", "'a b'", '"a b"', "{a,b}",
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=9).map("".join))
def test_bash_reads_every_command_that_is_taken_as_the_same_words_and_nothing_else(
    text: str,
) -> None:
    words = simple_command(text)
    if words is not None:
        assert words_by_bash([text]) == [words]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(
            st.text("ab1 -_./:=@%+,^~'\"", min_size=1, max_size=6), min_size=1, max_size=5
        ).map(" ".join)
    )
)
@pytest.mark.program
def test_bash_reads_words_of_harmless_characters_and_quotes_as_they_are_read_here(
    texts: list[str],
) -> None:
    taken = [text for text in texts if simple_command(text) is not None]
    assert words_by_bash(taken) == [simple_command(text) for text in taken]


def words_by_bash(texts: list[str]) -> list[tuple[str, ...]]:
    """What bash makes of each command, as the arguments of ``set``; fails if it ran or wrote anything else."""
    if not texts:
        return []
    script = "".join(
        f'set -- {text.strip(chr(10))}\nprintf \'%s\\0\' "$#" "$@"\n' for text in texts
    )
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [BASH, "--norc", "--noprofile", "-c", script],
            cwd=folder, env={"PATH": "/nonexistent", "LC_ALL": "C.UTF-8", "HOME": "/home-of-nobody"},
            capture_output=True, check=False,
        )  # fmt: skip
        assert not os.listdir(folder), "it wrote a file"
    assert (done.returncode, done.stderr) == (0, b"")
    told = iter(done.stdout.decode().split("\0")[:-1])
    return [tuple(next(told) for _ in range(int(count))) for count in told]
