from hypothesis import given
from hypothesis import strategies as st

from ullage_agent.tools.shell import PASSED, SECRET_WORDS, clean_environment


def test_a_key_is_never_passed() -> None:
    given = {
        "PATH": "/usr/bin", "LC_ALL": "C", "ANTHROPIC_API_KEY": "x", "GH_TOKEN": "x", "AWS_SECRET": "x",
        "LC_TOKEN": "x", "SSH_AUTH_SOCK": "/x", "DBUS_SESSION_BUS_ADDRESS": "x", "LD_PRELOAD": "x", "BASH_ENV": "x",
    }  # fmt: skip
    assert clean_environment(given) == {"PATH": "/usr/bin", "LC_ALL": "C"}


def test_an_address_with_a_user_in_it_is_not_passed() -> None:
    given = {"HTTP_PROXY": "http://me:pw@proxy:3128", "HTTPS_PROXY": "http://proxy:3128"}
    assert clean_environment(given) == {"HTTPS_PROXY": "http://proxy:3128"}
    for name in ("HTTP_PROXY", "all_proxy", "GOPROXY", "PIP_INDEX_URL"):
        assert clean_environment({name: "me:pw@proxy:3128"}) == {}
        assert clean_environment({name: "https://proxy/?token=x"}) == {}
    found = clean_environment({"GIT_AUTHOR_EMAIL": "me@example.org"})
    assert found == {"GIT_AUTHOR_EMAIL": "me@example.org"}


def test_text_that_may_hold_a_key_is_not_passed() -> None:
    found = clean_environment(
        dict.fromkeys(("LC_MINE", "GOFLAGS", "CFLAGS", "LDFLAGS", "MAKEFLAGS"), "x")
    )
    assert found == {}


@given(
    st.dictionaries(
        st.text("ABEKNOTYCRDS_", max_size=12) | st.sampled_from(sorted(PASSED)),
        st.text(max_size=5),
    )
)
def test_nothing_that_looks_like_a_key_comes_through(environment: dict[str, str]) -> None:
    assert not any(
        word in name for name in clean_environment(environment) for word in SECRET_WORDS
    )
