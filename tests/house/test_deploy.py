"""``deploy/`` says what the program understands, with one version and one port for each thing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.deployed import DEPLOY, compose
from ullage.cli.parser import parser
from ullage_cluster.cli.local_restate import VERSION as RESTATE
from ullage_cluster.postgres.base import CLOSE_S
from ullage_cluster.postgres.news import LOOK_S
from ullage_server.serving import GRACE_S

PROJECT: Final = tomllib.loads(
    (DEPLOY.parent / "packages" / "ullage" / "pyproject.toml").read_text()
)["project"]

POSTGRES: Final = "18"
"""Of the programs of packages/ullage-cluster/tests/postgres.py, which the store is tried with."""

CONFIGURED: Final = {"$(STORE)": "postgresql://u@h/d", "$(ULLAGE_MODEL)": "a:b"}


def manifests() -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = []
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        objects += yaml.safe_load_all(path.read_text())
    return objects


def pods() -> dict[str, dict[str, Any]]:
    """The specification of each pod, by the name of what makes it."""
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in manifests()
        if "template" in each.get("spec", {})
    }


def containers() -> list[dict[str, Any]]:
    return [container for pod in pods().values() for container in pod["containers"]]


def command_lines() -> list[list[str]]:
    """What the files have `ullage` do."""
    lines = [
        service["command"]
        for service in compose().values()
        if service["image"].startswith("ullage")
    ]
    lines += [each["args"] for each in containers() if each["image"] == "ullage"]
    return [
        [
            "".join(CONFIGURED.get(part, part) for part in re.split(r"(\$\(\w+\))", word))
            for word in line
        ]
        for line in lines
    ]


@pytest.mark.parametrize("line", command_lines(), ids=" ".join)
def test_the_program_understands_each_command_line(line: list[str]) -> None:
    assert not [word for word in line if "$(" in word]
    assert parser().parse_args(line)


def option(line: list[str], name: str) -> str:
    (found,) = [word.partition("=")[2] for word in line if word.startswith(f"{name}=")]
    return found


def test_there_is_enough_time_for_a_drain_before_the_kill() -> None:
    closing = CLOSE_S + LOOK_S
    for name, service in compose().items():
        if name.startswith(("server", "worker")):
            grace = float(service["stop_grace_period"].removesuffix("s"))
            requests = GRACE_S if name.startswith("server") else 0
            drain = float(option(service["command"], "--drain"))
            assert grace >= requests + drain + closing, name
    for name in ("ullage-server", "ullage-worker"):
        pod = pods()[name]
        (container,) = pod["containers"]
        before = container.get("lifecycle", {}).get("preStop", {}).get("exec", {})
        asleep = float(before["command"][1]) if before else 0.0
        requests = GRACE_S if name == "ullage-server" else 0
        drain = float(option(container["args"], "--drain"))
        needed = asleep + requests + drain + closing
        assert pod["terminationGracePeriodSeconds"] >= needed, name


def test_ports_agree_between_programs_probes_services_and_the_load_balancer() -> None:
    balancer = compose()["balancer"]["environment"]
    for name, service in compose().items():
        variable = name.upper().replace("-", "_")
        if name.startswith("server"):
            port = option(service["command"], "--port")
            assert balancer[variable] == f"{name}:{port}"
            assert f":{port}/readyz" in service["healthcheck"]["test"][3]
        if name.startswith("worker"):
            listen, metrics = (
                option(service["command"], each).rpartition(":")[2]
                for each in ("--listen", "--metrics")
            )
            assert balancer[variable] == f"{name}:{listen}"
            assert balancer[f"{variable}_METRICS"] == metrics
            assert f":{metrics}/readyz" in service["healthcheck"]["test"][3]
    for name, options in (
        ("ullage-server", {"http": "--port"}),
        ("ullage-worker", {"drives": "--listen", "metrics": "--metrics"}),
    ):
        (container,) = pods()[name]["containers"]
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        for port, said in options.items():
            assert option(container["args"], said).rpartition(":")[2] == str(ports[port])
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in ports
    used = set(re.findall(r'"\$\{(\w+)\}"', (DEPLOY / "haproxy.cfg").read_text()))
    assert used == set(balancer)


def test_the_load_balancer_and_the_probes_ask_for_paths_that_there_are() -> None:
    from ullage_server.app import HANDLERS

    paths = {path for handler in HANDLERS for path in handler.paths}
    asked = set(re.findall(r"uri (\S+) ", (DEPLOY / "haproxy.cfg").read_text()))
    for container in containers():
        if container["image"] == "ullage":
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if probe in container:
                    asked.add(container[probe]["httpGet"]["path"])
    assert asked == {"/healthz", "/readyz", "/drainz"}
    assert asked <= paths


def test_images_have_the_versions_that_the_tests_ran_with() -> None:
    images = {each["image"] for each in compose().values()}
    images |= {each["image"] for each in containers() if each["image"] != "ullage"}
    assert images == {
        f"ullage:{PROJECT['version']}",
        f"postgres:{POSTGRES}",
        f"restatedev/restate:{RESTATE}",
        "haproxy:2.6",
        "prom/prometheus:v3.5.0",
        "grafana/grafana:12.2.0",
    }
    (custom,) = [each for each in manifests() if each["kind"] == "Kustomization"]
    assert custom["images"][0]["newTag"] == PROJECT["version"]
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    pythons = set(re.findall(r"^FROM python:(3\.\d+)-", dockerfile, re.MULTILINE))
    assert len(pythons) == 1
    assert f"Programming Language :: Python :: {pythons.pop()}" in PROJECT["classifiers"]
    assert f"ullage:{PROJECT['version']}" in dockerfile


def test_nothing_runs_as_root_or_writes_to_its_image() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE) == ["10001:10001"]
    for name, pod in pods().items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["automountServiceAccountToken"] is False, name
    for container in containers():
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"]["drop"] == ["ALL"]
        if container["image"] == "ullage":
            assert context["readOnlyRootFilesystem"]
    for service in compose().values():
        if service["image"].startswith("ullage"):
            assert service["read_only"]


def test_what_hangs_is_killed_without_the_time_for_a_drain() -> None:
    probes = [each["livenessProbe"] for each in containers() if "livenessProbe" in each]
    assert len(probes) == 2
    for probe in probes:
        assert probe["terminationGracePeriodSeconds"] == 1


def test_no_service_sets_variables_that_programs_read_as_their_settings() -> None:
    prefixes = ("ULLAGE_", "RESTATE_")
    services = [
        each["metadata"]["name"] for each in manifests() if each["kind"] == "Service"
    ]
    assert any(f"{name.upper()}_".startswith(prefixes) for name in services)
    for name, pod in pods().items():
        assert pod["enableServiceLinks"] is False, name


def test_every_file_is_listed_and_every_selector_finds_something() -> None:
    (custom,) = [each for each in manifests() if each["kind"] == "Kustomization"]
    there = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert {*custom["resources"], "kustomization.yaml"} == there
    labels = [
        each["spec"]["template"]["metadata"]["labels"]["app"]
        for each in manifests()
        if "template" in each.get("spec", {})
    ]
    for each in manifests():
        spec = each.get("spec", {})
        match each["kind"]:
            case "Service":
                assert spec["selector"]["app"] in labels
            case "PodDisruptionBudget":
                assert spec["selector"]["matchLabels"]["app"] in labels
            case "NetworkPolicy":
                assert spec["podSelector"]["matchLabels"]["app"] in labels


def test_no_file_holds_a_secret() -> None:
    for path in sorted(Path(DEPLOY).rglob("*")):
        if path.is_file():
            text = path.read_text()
            assert not re.search(r"(PASSWORD|TOKEN|API_KEY): +[^$ \n\[{]", text), path
