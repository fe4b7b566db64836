"""What ``deploy/compose.yaml`` describes, as processes of this machine: the same commands, variables and HAProxy file.

Only addresses differ: each name of a service is replaced by a free port of this machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from tests.postgres import new_server
from tests.programs import needed
from tests.restate import new_restate
from tests.server.served import WAIT_S, Api, patiently
from ullage_cluster.cli.local_restate import free_ports

DEPLOY: Final = Path(__file__).parents[1] / "deploy"

GIVEN: Final = {
    "ULLAGE_DB_PASSWORD": "between us",
    "POSTGRES_PASSWORD": "the superuser's",
    "ULLAGE_TOKEN": "a-token-of-the-tests-0123456789",
    "ANTHROPIC_API_KEY": "x",
}
"""What a user writes into ``.env``."""


def compose(given: Mapping[str, str] = GIVEN) -> dict[str, Any]:
    """The services of the file, with the variables of ``.env`` in their places."""

    def value(found: re.Match[str]) -> str:
        name, how, default = found.groups()
        assert how != ":?" or name in given, f"{name} is not in .env"
        return given.get(name, default if how == ":-" else "")

    def filled(part: Any) -> Any:
        match part:
            case str():
                return re.sub(r"\$\{(\w+)(:[-?])?([^}]*)\}", value, part)
            case dict():
                return {name: filled(each) for name, each in part.items()}
            case list():
                return [filled(each) for each in part]
            case _:
                return part

    return dict(filled(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))["services"])


class DeployedProcess:
    """One service as a process. What it says is in ``log``."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._environment = environment
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.log.parent,
                start_new_session=True,
            )

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)

    def end(self) -> int:
        """End it in good order; gives its exit code."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(2 * WAIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def restart(self) -> None:
        """End it in good order and start it again."""
        assert self.end() in (0, 143, -15), self.log.read_text()[-2000:]
        self.start()


class Deployment:
    """All services, running. ``url`` is the load balancer's plain address, ``tls`` its HTTP/2 one."""

    def __init__(self, folder: Path, provider: str, stack: ExitStack) -> None:
        self.folder = folder
        self._services = compose()
        self._provider = provider
        self.processes: dict[str, DeployedProcess] = {}
        postgres = new_server("listen_addresses = '127.0.0.1'\n", free_ports(1)[0])
        stack.callback(postgres.remove)
        self.postgres = postgres
        restate = new_restate()
        stack.callback(restate.kill)
        names = ["server-1", "server-2", "worker-1", "worker-2", "plain", "tls", "drives"]
        names += ["worker-1 metrics", "worker-2 metrics"]
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.url = f"http://127.0.0.1:{self.ports['plain']}"
        self.tls = f"https://127.0.0.1:{self.ports['tls']}"
        self._replaced = {
            "http://restate:8080": restate.ingress,
            "http://restate:9070": restate.admin,
            "@postgres/ullage": f"@127.0.0.1:{postgres.port}/ullage",
            "http://balancer:9080": f"http://127.0.0.1:{self.ports['drives']}",
        }
        self.place = f"postgresql://ullage@127.0.0.1:{postgres.port}/ullage"

        self._make_role()
        for name in ("server-1", "server-2", "worker-1", "worker-2"):
            self.processes[name] = self._ullage(name)
            stack.callback(self.end, name)
        self._begin_balancer()
        stack.callback(self.end, "balancer")
        self.until_ready()

    def _make_role(self) -> None:
        """Run the script that the image of PostgreSQL runs when it makes its data."""
        self.postgres.run_script(DEPLOY / "postgres-role.sh", GIVEN)

    def _arguments(self, name: str) -> list[str]:
        given: list[str] = self._services[name]["command"]
        arguments = [self._here(name, argument) for argument in given]
        return [sys.executable, "-m", "ullage", *arguments]

    def _here(self, name: str, argument: str) -> str:
        """An argument with addresses of this machine."""
        for old, new in self._replaced.items():
            if old in argument:
                return argument.replace(old, new)
        own = {"8801": name, "9080": name, "9464": f"{name} metrics"}
        option, colon, port = argument.rpartition(":" if ":" in argument else "=")
        mine = self.ports.get(own.get(port, ""))
        return argument if mine is None else f"{option}{colon}{mine}"

    def _environment(self, name: str) -> dict[str, str]:
        service = self._services[name].get("environment", {})
        home = self.folder / name
        home.mkdir(exist_ok=True)
        return {**os.environ, "ULLAGE_DATA": str(home), **service}

    def _ullage(self, name: str) -> DeployedProcess:
        command = [*self._arguments(name), "--base-url", self._provider]
        log = self.folder / f"{name}.log"
        return DeployedProcess(name, command, self._environment(name), log)

    def _begin_balancer(self) -> None:
        certificates = self.folder / "certificates"
        certificates.mkdir()
        make_certificate(certificates)
        variables = self._services["balancer"]["environment"] | {
            "BALANCER_PLAIN": f"127.0.0.1:{self.ports['plain']}",
            "BALANCER_TLS": f"127.0.0.1:{self.ports['tls']}",
            "BALANCER_DRIVES": f"127.0.0.1:{self.ports['drives']}",
            "BALANCER_CERTIFICATES": str(certificates),
        }
        for name in ("server-1", "server-2", "worker-1", "worker-2"):
            variable = name.upper().replace("-", "_")
            variables[variable] = f"127.0.0.1:{self.ports[name]}"
            if name.startswith("worker"):
                variables[f"{variable}_METRICS"] = str(self.ports[f"{name} metrics"])
        command = [needed("haproxy"), "-db", "-f", str(DEPLOY / "haproxy.cfg")]
        environment = {**os.environ, **variables}
        log = self.folder / "balancer.log"
        self.processes["balancer"] = DeployedProcess(
            "balancer", command, environment, log
        )

    def api(self) -> Api:
        """A client of the load balancer."""
        headers = {"Authorization": f"Bearer {GIVEN['ULLAGE_TOKEN']}"}
        return Api(base_url=self.url, timeout=WAIT_S, headers=headers)

    def is_ready(self, name: str) -> bool:
        """What a service says at ``/readyz``."""
        port = self.ports[f"{name} metrics" if name.startswith("worker") else name]
        try:
            answer = httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=5)
        except httpx2.HTTPError:
            return False
        return answer.status_code == 200

    def streams(self, name: str) -> float:
        """How many clients follow a session at a server, as its metrics have it."""
        answer = httpx2.get(
            f"http://127.0.0.1:{self.ports[name]}/metrics",
            headers={"Authorization": f"Bearer {GIVEN['ULLAGE_TOKEN']}"},
            timeout=WAIT_S,
        )
        (line,) = re.findall(r"^ullage_event_streams (\S+)$", answer.text, re.MULTILINE)
        return float(line)

    def until_ready(self, *names: str) -> None:
        wanted = names or ("server-1", "server-2", "worker-1", "worker-2")
        for _ in patiently():
            if all(self.is_ready(name) for name in wanted):
                return
            time.sleep(0.2)
        raise AssertionError({name: self.said(name)[-800:] for name in wanted})

    def said(self, name: str) -> str:
        return self.processes[name].log.read_text(errors="replace")

    def end(self, name: str) -> None:
        process = self.processes[name]
        if process.process.poll() is None:
            process.tell(signal.SIGCONT)
            process.kill()


def make_certificate(folder: Path) -> None:
    """The certificate of ``deploy/README.md``."""
    subprocess.run(
        [
            "openssl",
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"),
            *("-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    both = (folder / "cert.pem").read_text() + (folder / "key.pem").read_text()
    (folder / "cert.pem").unlink()
    (folder / "key.pem").unlink()
    (folder / "ullage.pem").write_text(both)


@contextmanager
def deployed(folder: Path, provider: str) -> Iterator[Deployment]:
    """Everything, until the block ends. Logs are added to a failure."""
    with ExitStack() as stack:
        running = Deployment(folder, provider, stack)
        try:
            yield running
        except BaseException as problem:
            for name in running.processes:
                problem.add_note(f"{name} said:\n{running.said(name)[-1500:]}")
            raise
