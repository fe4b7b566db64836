"""bench.capacity: the calculation of what many sessions need."""

import pytest

from bench.capacity import Given, Limit, bill, limits, needs, shards

SMALL = Given(
    sessions=100, events=864_000, days=1, peak=2, step_s=10,
    driving_ms=50, following_ms=10, postgres_ms=25, restate_ms=5, step_events=10, step_syncs=2, pages=0,
)  # fmt: skip


def test_the_rate_is_that_of_the_busiest_time() -> None:
    assert SMALL.steps == 86_400
    assert (SMALL.steps_s, SMALL.working) == pytest.approx((2, 20))
    few = SMALL._replace(sessions=7)
    assert few.working == 7, "no more sessions work at once than there are"


def test_cores_have_their_reserve_and_are_whole() -> None:
    found = dict(needs(SMALL._replace(events=864_000 * 100)))
    assert [count for name, count in found.items() if name.startswith("cores ")] == [
        *(20, 4, 10, 2)
    ]


def test_open_pages_are_cores_of_servers_and_of_the_database() -> None:
    read = SMALL._replace(pages=5_000, page_s=5, list_ms=2, list_postgres_ms=0.5)
    # half used: 2 steps of 10 and 25 ms, and 1,000 lists a second
    assert (read.serving, read.database) == (5, 2)
    assert read.cores(read.driving_ms) == SMALL.cores(SMALL.driving_ms)
    assert bill(read)[0] > bill(SMALL)[0]


def test_the_limit_that_is_reached_first_is_on_top() -> None:
    found = limits(SMALL._replace(wal_bytes_s=10_000))
    assert found[0].name == "bytes of its log a second"
    assert [each.used for each in found] == sorted(
        (each.used for each in found), reverse=True
    )


def test_without_restate_its_limit_is_not_used() -> None:
    found = limits(SMALL._replace(restate_ms=0))
    assert [each.used for each in found if each.name.startswith("Restate")] == [0]


def test_there_are_as_many_shards_as_the_first_limit_of_a_database_asks_for() -> None:
    pooled = Limit("connections", 5.0, "", is_of_database=False)
    assert shards([pooled, Limit("CPU", 2.1, "")]) == 3
    assert shards([Limit("CPU", 0.1, "")]) == 1


def test_twice_the_price_is_twice_the_bill_and_a_standby_is_paid() -> None:
    once = bill(SMALL._replace(core_hour=1, gb_month=1))
    assert bill(SMALL._replace(core_hour=2, gb_month=2)) == (2 * once[0], 2 * once[1])
    needed = [SMALL.cores(ms) for ms in (50, 10, 25, 25, 5)]
    assert once[0] == sum(needed) * 730
