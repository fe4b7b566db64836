from hypothesis import given
from hypothesis import strategies as st

from ullage_simulators.seal import digest, seal, unseal


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_a_seal_opens_for_its_wire_alone(carried: dict[str, int | str]) -> None:
    sealed = seal("anthropic", carried)
    assert unseal("anthropic", sealed) == carried
    assert unseal("gemini", sealed) is None


@given(st.integers(0, 200), st.sampled_from("AZaz09+/"))
def test_a_seal_with_one_other_letter_does_not_open(at: int, letter: str) -> None:
    sealed = seal("gemini", {"n": 12, "id": "x" * 100})
    at %= len(sealed)
    altered = sealed[:at] + letter + sealed[at + 1 :]
    assert altered == sealed or unseal("gemini", altered) is None


def test_what_was_never_a_seal_does_not_open() -> None:
    assert [unseal("gemini", each) for each in (None, 1, "", "x", "c2lnbmVk", "é")] == [
        None
    ] * 6


def test_a_digest_forgets_the_order_of_names_and_nothing_else() -> None:
    assert (
        digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    )
