"""The relay and the core agree on names and paths; neither imports the other."""

from __future__ import annotations

from ullage.codec.routes import route_of
from ullage_programs.marks import NAMED_SESSION
from ullage_proxy.relay.requests import METERED, SESSION


def test_the_user_s_name_of_a_session_has_one_header() -> None:
    assert SESSION.decode() == NAMED_SESSION


def test_the_relay_taps_the_paths_of_calls_to_a_model() -> None:
    for end in METERED:
        assert route_of("POST", f"/v1/models/some-model{end}").is_metered
    for path in ("/v1/messages/count_tokens", "/v1/models/m:countTokens", "/v1/batches"):
        assert not path.endswith(METERED)
        assert not route_of("POST", path).is_metered
