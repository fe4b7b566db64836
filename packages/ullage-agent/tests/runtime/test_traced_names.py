"""What of ours has the names of the conventions."""

from __future__ import annotations

from ullage.codec.blocks import Options
from ullage.events import CallEnded
from ullage.usage import Usage
from ullage_agent.runtime.session_view import SessionView
from ullage_agent.runtime.traced_names import (
    address_of,
    asked,
    params_of,
    served,
    usage_of,
)


def test_a_temperature_of_zero_is_known_and_what_is_not_set_is_left_out() -> None:
    assert asked(SessionView(options=Options(temperature=0.0))) == {
        "gen_ai.request.temperature": 0.0
    }
    assert asked(SessionView(has_output_type=True, is_compacted=True)) == {
        "gen_ai.output.type": "json",
        "gen_ai.conversation.compacted": True,
    }
    assert asked(SessionView()) == {}


def test_parameters_of_a_wire_have_the_conventions_names() -> None:
    params = {"top_p": 0.5, "seed": 0, "stop": "END", "user": "a", "top_k": None}
    assert params_of(params) == {
        "gen_ai.request.top_p": 0.5,
        "gen_ai.request.seed": 0,
        "gen_ai.request.stop_sequences": ["END"],
    }
    several = params_of({"stop_sequences": ["a", "b"]})
    assert several == {"gen_ai.request.stop_sequences": ["a", "b"]}


def test_where_and_by_whom_a_call_is_served() -> None:
    assert address_of("https://api.example.org/v1") == {
        "server.address": "api.example.org",
        "server.port": 443,
    }
    assert address_of("http://[::1]:8080/v1")["server.port"] == 8080
    assert address_of("") == {}
    assert served("google", "g") == {
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "g",
    }
    assert served("", "") == {}


def test_tokens_that_were_not_reported_are_left_out() -> None:
    assert usage_of(CallEnded(call="c")) == {}
    assert usage_of(CallEnded(call="c", usage=Usage(input=3, cache_write=0))) == {
        "input_tokens": 3,
        "cache_write.input_tokens": 0,
    }
