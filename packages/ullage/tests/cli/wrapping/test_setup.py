from pathlib import Path

import pytest

from tests.cli.wrapping.starts import start_in, write
from ullage.cli.wrapping.setup import BASE, ClientSetup, Start, UsedAddress, WrapRefused
from ullage.errors import SettingError


def used(url: str) -> UsedAddress:
    return UsedAddress(url, "SOME_VARIABLE", "lab")


def test_an_address_of_a_known_provider_has_the_providers_name(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert start.through(used("https://api.deepseek.com/v1")) == f"{BASE}/deepseek"
    assert start.upstreams == {"deepseek": "https://api.deepseek.com/v1"}


def test_an_unknown_address_has_the_name_that_its_user_gave_it(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert start.through(used("https://llm.example/v1/")) == f"{BASE}/lab"
    assert start.upstreams == {"lab": "https://llm.example/v1"}


def test_two_addresses_of_one_name_are_two_upstreams(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    assert start.through(used("https://one.example")) == f"{BASE}/lab"
    assert start.through(used("https://two.example")) == f"{BASE}/lab-2"
    assert start.through(used("https://one.example")) == f"{BASE}/lab"


def test_a_name_is_spelled_with_letters_of_addresses(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    named = UsedAddress("https://one.example", "models.json", "My Lab/EU")
    assert start.through(named) == f"{BASE}/My-Lab-EU"


def test_a_name_that_the_proxy_uses_itself_is_another_one(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    named = UsedAddress("https://one.example", "models.json", "ullage")
    assert start.through(named) == f"{BASE}/other-ullage"


def test_an_address_that_can_not_be_used_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="SOME_VARIABLE"):
        start_in(tmp_path).through(used("ftp://one.example"))


def test_settings_that_can_not_be_read_start_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write(path, "{")
    with pytest.raises(WrapRefused, match="nothing was started"):
        start_in(tmp_path).setting(path, ["env"])


def test_settings_that_may_not_be_written_are_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write(path, {"env": {"A": "b"}})
    path.chmod(0o444)
    assert start_in(tmp_path).setting(path, ["env", "A"]) == "b"


def dotenv(start: Start, name: str, trust: bool | None = None) -> UsedAddress:
    return start.from_dotenv(UsedAddress("", name, "lab"), ".gemini", lambda place: trust)


def test_the_nearest_env_file_counts_and_no_other(tmp_path: Path) -> None:
    write(tmp_path / ".env", "ADDRESS=http://far.example\nOTHER=1\n")
    start = start_in(tmp_path)
    assert dotenv(start, "ADDRESS").url == "http://far.example"
    near = tmp_path / "project" / ".gemini" / ".env"
    write(near, "export ADDRESS = 'http://near.example'")
    found = dotenv(start, "ADDRESS")
    assert (found.url, found.where) == ("http://near.example", f"ADDRESS in {near}")
    assert dotenv(start, "OTHER").url == ""


def test_a_directorys_env_file_is_asked_about_unless_trusted(tmp_path: Path) -> None:
    start = start_in(tmp_path)
    write(tmp_path / "project" / ".env", "ADDRESS=http://near.example")
    assert dotenv(start, "ADDRESS").place == tmp_path / "project"
    assert dotenv(start, "ADDRESS", trust=True).place is None
    assert dotenv(start, "ADDRESS", trust=False).url == ""


def test_the_users_own_env_file_is_not_asked_about(tmp_path: Path) -> None:
    write(tmp_path / ".env", "ADDRESS=http://far.example")
    for trust in (None, False):
        found = dotenv(start_in(tmp_path), "ADDRESS", trust)
        assert (found.url, found.place) == ("http://far.example", None)


def test_an_env_file_of_empty_lines_takes_no_time(tmp_path: Path) -> None:
    write(tmp_path / "project" / ".env", "\n" * 2_000_000)
    assert dotenv(start_in(tmp_path), "ADDRESS").url == ""


def test_a_directorys_address_waits_for_the_users_agreement(tmp_path: Path) -> None:
    asked: list[tuple[str, str, Path]] = []

    def agree(url: str, where: str, place: Path) -> None:
        asked.append((url, where, place))
        raise WrapRefused("no")

    start = start_in(tmp_path)
    start.agree = agree
    foreign = UsedAddress("http://one.example/", "opencode.json", "lab", tmp_path)
    with pytest.raises(WrapRefused):
        start.through(foreign)
    assert asked == [("http://one.example", "opencode.json", tmp_path)]
    assert not start.upstreams
    start.through(foreign._replace(place=None))
    assert len(asked) == 1


def test_the_address_is_filled_in_once_the_proxy_listens() -> None:
    waiting = ClientSetup({"A": f"{BASE}/x"}, ["-c", BASE], ["said"], {"FILE": BASE})
    found = waiting.at("http://127.0.0.1:7")
    assert found.environment == {"A": "http://127.0.0.1:7/x"}
    assert found.arguments == ["-c", "http://127.0.0.1:7"]
    assert found.files == {"FILE": "http://127.0.0.1:7"}
    assert found.said == ["said"]
