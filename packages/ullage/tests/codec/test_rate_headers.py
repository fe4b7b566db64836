import pytest

from ullage.codec.rate_headers import rate_headers
from ullage.models.rate_limits import MinuteLimit

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def test_anthropic_s_headers_name_requests_input_and_output() -> None:
    headers = {"anthropic-ratelimit-tokens-limit": "9", "retry-after": "5"}
    for kind, most, left in (
        ("requests", 50, 49),
        ("input-tokens", 40_000, 0),
        ("output-tokens", 8_000, 7_900),
    ):
        begin = f"anthropic-ratelimit-{kind}"
        headers |= {f"{begin}-limit": str(most), f"{begin}-remaining": str(left)}
        headers[f"{begin}-reset"] = "2027-01-15T08:01:00Z"
    found = rate_headers(headers, NOW)
    assert found.limits["input_tokens"] == MinuteLimit(40_000, 40_000)
    expected = {"requests": 49, "input_tokens": 0, "output_tokens": 7_900}
    assert found.remaining == expected


@pytest.mark.parametrize(
    ("left", "reset", "per_minute"),
    [
        ("59", "1s", 60),
        ("0", "60s", 60),
        ("30", "30s", 60),
        ("0", "24h0m0s", 60 * 60 / 86_400),
        ("30", "12h", 60 * 60 / 86_400),
        ("0", "6m0s", 10),
        ("59", "12ms", 60),
        ("0", "soon", 60),
        ("0", "", 60),
        ("60", "9m", 60),
    ],
)
def test_the_time_until_a_limit_is_full_shows_whether_it_is_one_per_minute(
    left: str, reset: str, per_minute: float
) -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": left,
        "x-ratelimit-reset-requests": reset,
    }
    found = rate_headers(headers, NOW).limits["requests"]
    assert found.most == 60 and abs(found.per_minute - per_minute) < 0.01


@pytest.mark.parametrize(
    ("most", "left"),
    [("0", "0"), ("-5", "1"), ("nan", "1"), ("60", ""), ("9" * 40, "1"), ("1e5", "2")],
)
def test_limits_that_can_t_be_are_not_taken(most: str, left: str) -> None:
    headers = {
        "x-ratelimit-limit-tokens": most,
        "x-ratelimit-remaining-tokens": left,
        "x-ratelimit-reset-tokens": "1s",
    }
    assert rate_headers(headers, NOW) == ({}, {})
