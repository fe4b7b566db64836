"""bench.many: what is made of the measurements."""

from bench.live import Delays
from bench.many import Latencies, latency_table


def test_latencies_are_shares_of_all_in_their_order() -> None:
    hundred = [number / 1e3 for number in range(100, 0, -1)]
    pieces = Delays({"s1 5.0 ": 5.25})
    table = latency_table(Latencies(hundred, hundred, pieces, hundred))
    assert table.rows[0] == ("send", "51", "96", "100", "100")
    assert table.rows[2][1] == "250"
