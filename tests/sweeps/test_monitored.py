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
from tests.machines import worker
from tests.postgres import new_server
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

TOKEN: Final = "a-token-of-the-tests-0123456789"

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

LACKS: Final = 'ullage_lacks{what="store"}'

WITHOUT_STORE: Final = {"UllageLacks", "UllageHttpErrors"}
"""Alerts of a store that is away."""

NEEDS_MORE: Final = {"UllageEstimateOff", "UllageHttpErrors"}
"""Estimates of the simulators' tokens are right: ``alerts-test.yaml`` has that alert fire."""


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
def prometheus(
    directory: Path, *targets: str, token: str = "", every: str = "1s"
) -> Iterator[Prometheus]:
    """One that scrapes these so often, and judges the rules every second."""
    (directory / "token").write_text(token or "none")
    rules = ALERTS.read_text()
    for slow, quick in QUICKLY.items():
        rules = re.sub(slow, quick, rules)
    (directory / "alerts.yaml").write_text(rules)
    config = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": every, "evaluation_interval": "1s"}
    (job,) = config["scrape_configs"]
    job["authorization"] = {"credentials_file": str(directory / "token")}
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
        prometheus(tmp_path, server.url[7:], not_ready.url[7:], NOBODY) as monitoring,
    ):
        run_to_end(_limited(store))
        wanted = set(re.findall(r"alert: (\w+)", ALERTS.read_text())) - NEEDS_MORE
        empty, unheard = set(queries()), wanted
        worked(api)
        for _ in patiently(4 * WAIT_S):
            api.say("talk", "And now?")
            api.say("fails", "And now?")
            api.get("/v1/sessions/none")
            api.until("talk")
            empty = {each for each in empty if not monitoring.query(each)}
            unheard = unheard - monitoring.firing()
            if not (empty or unheard):
                break
        assert not empty
        assert not unheard, monitoring.query("ALERTS")


def test_a_server_and_its_worker_say_that_postgresql_is_away(tmp_path: Path) -> None:
    postgres = new_server()
    (port,) = free_ports(1)
    lease = ("--dispatch", "lease")
    watched = ("--metrics", f"127.0.0.1:{port}")
    try:
        with (
            running(script({"text": "It is half full. " * 20})) as simulator,
            process(
                simulator.url("anthropic"),
                tmp_path / "unused",
                *lease,
                "--no-drive",
                database=(url := postgres.url(postgres.new_database())),
                ULLAGE_TOKEN=TOKEN,
            ) as server,
            worker(simulator.url("anthropic"), url, tmp_path, *lease, *watched),
            prometheus(
                tmp_path, server.url[7:], f"127.0.0.1:{port}", token=TOKEN, every="5s"
            ) as monitoring,
            Api(
                base_url=server.url,
                timeout=WAIT_S,
                headers={"Authorization": f"Bearer {TOKEN}"},
            ) as api,
        ):
            api.say(api.session("talk"), "hello")
            api.until("talk")

            def until(expr: str, *values: str) -> None:
                for _ in patiently():
                    series = monitoring.query(expr)
                    if [each["value"][1] for each in series] == list(values):
                        return
                raise AssertionError((expr, series))

            calls = "gen_ai_client_inference_duration_seconds_count"
            until(f'{calls}{{instance="127.0.0.1:{port}"}}', "1")
            until(f'{calls}{{instance!="127.0.0.1:{port}"}}')
            until(LACKS, "0", "0")
            postgres.stop("immediate")
            until(LACKS, "1", "1")
            until('max(ullage_sessions{state="failed"})', "NaN")
            for _ in patiently():
                assert api.get("/readyz").status_code == 503
                if monitoring.firing() >= WITHOUT_STORE:
                    break
            assert monitoring.firing() >= WITHOUT_STORE
            assert "UllageDown" not in monitoring.firing()
            postgres.start()
            until(LACKS, "0", "0")
            until('max(ullage_sessions{state="failed"})', "0")
    finally:
        postgres.remove()


async def _limited(path: Path) -> None:
    store = SqliteStore(path)
    await change_quota(store, "default", lambda _: Quota(sessions=5))
    await store.close()
