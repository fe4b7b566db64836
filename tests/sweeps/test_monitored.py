"""``deploy/monitoring`` with a real Prometheus, which scrapes real servers: each query has series, each alert fires."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from tests.deployed import DEPLOY
from tests.programs import needed
from tests.server.served import WAIT_S, Api, patiently, process, script
from ullage.loop_thread import run_to_end
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.loop.quotas import Quota
from ullage_agent.runtime.quotas import change_quota
from ullage_cluster.cli.local_restate import free_ports
from ullage_simulators import running

MONITORING: Final = DEPLOY / "monitoring"
ALERTS: Final = MONITORING / "alerts.yaml"
DASHBOARD: Final = MONITORING / "dashboard.json"

NOBODY: Final = "127.0.0.1:9"
"""Nothing listens there."""

QUICKLY: Final = {
    r"\bfor: \w+": "for: 0s",
    r"\[\d+[mh]\]": "[30s]",
    "> 3600": "> 1",
    "> 60": "> 1",
    r"> (4|20)\b": "> 0",
}
"""What is changed of the rules, so that none waits for minutes."""

NEEDS_MORE: Final = {"UllageEstimateOff"}
"""Alerts for what the simulators don't do: estimates of their tokens are right. ``alerts-test.yaml`` has them fire."""


class Prometheus:
    """Prometheus's API."""

    def __init__(self, url: str) -> None:
        self._client = httpx2.Client(base_url=url, timeout=WAIT_S)

    def is_ready(self) -> bool:
        """Whether it answers queries."""
        try:
            return self._client.get("/-/ready").status_code == 200
        except httpx2.TransportError:
            return False

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The series of an instant query."""
        answer = self._client.get("/api/v1/query", params={"query": expr}).json()
        assert answer["status"] == "success", (expr, answer)
        return list(answer["data"]["result"])

    def firing(self) -> set[str]:
        """The names of alerts that fire."""
        alerts = self._client.get("/api/v1/alerts").json()["data"]["alerts"]
        return {
            each["labels"]["alertname"] for each in alerts if each["state"] == "firing"
        }


@contextmanager
def prometheus(directory: Path, *targets: str) -> Iterator[Prometheus]:
    """One that scrapes these every second, and judges the rules as often."""
    rules = ALERTS.read_text()
    for slow, quick in QUICKLY.items():
        rules = re.sub(slow, quick, rules)
    (directory / "alerts.yaml").write_text(rules)
    config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (job,) = config["scrape_configs"]
    del job["authorization"]
    job["static_configs"] = [{"targets": list(targets)}]
    (directory / "prometheus.yaml").write_text(yaml.safe_dump(config))
    (port,) = free_ports(1)
    command = [needed("prometheus"), f"--config.file={directory / 'prometheus.yaml'}"]
    command += [f"--storage.tsdb.path={directory / 'data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}"]
    with (directory / "log").open("w") as log:
        program = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        found = Prometheus(f"http://127.0.0.1:{port}")
        for _ in patiently():
            assert program.poll() is None, (directory / "log").read_text()
            if found.is_ready():
                break
        yield found
    finally:
        program.terminate()
        program.wait(WAIT_S)


def queries() -> list[str]:
    """What the dashboard asks."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    exprs = [each["expr"] for panel in panels for each in panel.get("targets", ())]
    return [each.replace("$__rate_interval", "30s") for each in exprs]


def worked(api: Api) -> None:
    """A conversation, a call that waits for a person, a turn that fails, a session that no worker takes."""
    api.say(api.session("talk"), "hello")
    api.say(api.session("asks"), "write it")
    api.say(api.session("fails", model="anthropic:no-such-model"), "hello")
    api.say(api.session("elsewhere", place="attic"), "hello")
    api.say(api.session("quota"), "hello")


def test_the_rules_do_what_they_are_for() -> None:
    promtool = str(Path(needed("prometheus")).with_name("promtool"))
    command = [promtool, "test", "rules", str(MONITORING / "alerts-test.yaml")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_query_has_series_and_every_alert_fires(tmp_path: Path) -> None:
    write = {"name": "write", "arguments": {"path": "a.txt", "content": "a"}}
    read = {"name": "read", "arguments": {"path": "a.txt"}}
    asks = {"when": {"contains": "write it", "after": "user"}, "calls": [write]}
    looks = {"when": {"contains": "now?", "after": "user"}, "calls": [read]}
    says = {"text": "It is half full. " * 20}
    store = tmp_path / "s.db"
    lost = ("--dispatch", "restate", "--restate", f"http://{NOBODY}")
    with (
        running(script(asks, looks, says)) as simulator,
        process(
            simulator.url("anthropic"),
            store,
            *("--tools", "read,write", "--root", str(tmp_path)),
        ) as server,
        process(simulator.url("anthropic"), tmp_path / "other.db", *lost) as not_ready,
        server.api() as api,
        not_ready.api() as other,
        prometheus(tmp_path, server.url[7:], not_ready.url[7:], NOBODY) as monitoring,
    ):
        run_to_end(_limited(store))
        wanted = set(re.findall(r"alert: (\w+)", ALERTS.read_text())) - NEEDS_MORE
        empty, unheard = set(queries()), wanted
        for round_ in range(40):
            if round_ == 0:
                worked(api)
            api.say("talk", "And now?")
            api.say("fails", "And now?")
            api.get("/v1/sessions/none")
            assert other.get("/readyz").status_code == 503
            api.until("talk")
            empty = {each for each in empty if not monitoring.query(each)}
            unheard = unheard - monitoring.firing()
            if not (empty or unheard):
                break
        assert not empty
        assert not unheard, monitoring.query("ALERTS")


async def _limited(path: Path) -> None:
    store = SqliteStore(path)
    await change_quota(store, "default", lambda _: Quota(sessions=5))
    await store.close()
