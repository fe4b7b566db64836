import json
import urllib.request
from pathlib import Path

from bench.clients.comparison import compared
from bench.clients.serving import proxying, serving
from ullage_simulators import read


def test_a_call_through_the_proxy_is_in_the_ledger_with_its_bill(tmp_path: Path) -> None:
    message = {"role": "user", "content": "Hello."}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [message]}
    headers = {"content-type": "application/json", "x-api-key": "any-key"}
    headers["anthropic-version"] = "2023-06-01"
    with (
        serving(read({"answers": [{"text": "Fine."}]})) as simulators,
        proxying(simulators.address, tmp_path) as address,
    ):
        url = f"{address}/anthropic/v1/messages"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            usage = json.load(answer)["usage"]
    found = compared(tmp_path, {"ULLAGE_DATA": str(tmp_path)}, [], {})
    (lane,) = found.lanes
    assert (lane.lane, lane.wrong) == ("main", (usage["input_tokens"],))
    (estimate,) = found.estimates
    assert estimate.billed == usage["input_tokens"]
