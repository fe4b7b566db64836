"""bench.many: what is made of the measurements."""

from bench.live import Delays
from bench.many import Latencies, figures, latency_table

CPU = {"servers": 2.0, "workers": 3.0, "PostgreSQL": 1.0, "Restate": 0.5}


def test_workers_drive_and_servers_serve_followers() -> None:
    found = figures(CPU, turns=100)
    assert (found.driving_ms, found.following_ms) == (30, 20)
    assert (found.postgres_ms, found.restate_ms) == (10, 5)
    alone = figures({**CPU, "workers": 0.0}, turns=100)
    assert (alone.driving_ms, alone.following_ms) == (20, 0)


def test_latencies_are_shares_of_all_in_their_order() -> None:
    hundred = [number / 1e3 for number in range(100, 0, -1)]
    pieces = Delays({"s1 5.0 ": 5.25})
    table = latency_table(Latencies(hundred, hundred, pieces, hundred))
    assert table.rows[0] == ("send", "51", "96", "100", "100")
    assert table.rows[2][1] == "250"
