"""bench.capacity: the calculation of what many sessions need."""

from pathlib import Path

import pytest

from bench import capacity

SMALL = capacity.Population(sessions=100, events=864_000, days=1, peak=2, step_s=10)
EASY = capacity.Measured(
    driving_ms=50, following_ms=10, postgres_ms=25, restate_ms=5, events=10, syncs=2
)


def test_the_rate_is_that_of_the_busiest_time() -> None:
    found = capacity.rates(SMALL, EASY)
    assert found.steps == 86_400
    assert found.steps_s == pytest.approx(2)
    assert found.working == pytest.approx(20)
    few = capacity.rates(SMALL._replace(sessions=7), EASY)
    assert few.working == 7, "no more sessions work at once than there are"


def test_cores_have_their_reserve_and_are_whole() -> None:
    busy = SMALL._replace(events=864_000 * 100)
    found = capacity.cores(capacity.rates(busy, EASY), EASY, capacity.Limits(planned=0.5))
    assert found == (20, 4, 10, 2)


def test_the_limit_that_is_reached_first_is_on_top() -> None:
    found = capacity.bottlenecks(SMALL, EASY, capacity.Limits(wal_bytes_s=10_000))
    assert found[0].name == "PostgreSQL: bytes of its log a second"
    assert [each.used for each in found] == sorted(
        (each.used for each in found), reverse=True
    )


def test_without_restate_its_limit_is_not_used() -> None:
    leases = capacity.Measured(restate_ms=0)
    limits = capacity.bottlenecks(SMALL, leases, capacity.Limits())
    assert [each.used for each in limits if each.name.startswith("Restate")] == [0]


def test_there_are_as_many_shards_as_the_first_limit_of_a_database_asks_for() -> None:
    limits = [
        capacity.Bottleneck("Restate: invocations at once", 9.0, False, ""),
        capacity.Bottleneck("PostgreSQL: connections", 5.0, True, ""),
        capacity.Bottleneck("PostgreSQL: CPU", 2.1, True, ""),
    ]
    assert capacity.shards(limits) == 3
    assert capacity.shards([capacity.Bottleneck("PostgreSQL: CPU", 0.1, True, "")]) == 1


def test_twice_the_price_is_twice_the_bill_and_a_standby_is_paid() -> None:
    once = capacity.bill(
        SMALL, EASY, capacity.Limits(), capacity.Prices(core_hour=1, gb_month=1)
    )
    twice = capacity.bill(
        SMALL, EASY, capacity.Limits(), capacity.Prices(core_hour=2, gb_month=2)
    )
    assert (twice.cores, twice.disks) == (2 * once.cores, 2 * once.disks)
    needed = capacity.cores(capacity.rates(SMALL, EASY), EASY, capacity.Limits())
    assert once.cores == (sum(needed) + needed.database) * 730


def test_figures_come_from_a_file_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text('{"driving_ms": 1.5}')
    assert capacity.measured_in(path).driving_ms == 1.5
    assert capacity.measured_in(None) == capacity.Measured()
    path.write_text('{"driving": 1.5}')
    with pytest.raises(SystemExit, match=r"bench\.many --json"):
        capacity.measured_in(path)
