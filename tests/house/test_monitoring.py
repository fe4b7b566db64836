"""The dashboard, the alert rules and the table of metrics name what a server tells, and all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from tests.deployed import DEPLOY
from ullage_server.metrics import Metrics

MONITORING: Final = DEPLOY / "monitoring"
OPERATING: Final = Path("docs/operating.md").read_text()

OF_PROMETHEUS: Final = frozenset({"instance", "job", "alertname", "alertstate"})
"""Labels that it adds itself."""

_MATCHERS: Final = re.compile(r"{([^}]*)}")
_GROUPS: Final = re.compile(r"\b(?:by|on|group_left) *\(([^)]*)\)")
_METRIC: Final = re.compile(
    r"\b(?:ullage|gen_ai|http_server|process|python)_\w+|\bup\b|\bALERTS\b"
)
_ENDS: Final = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_sum", "_count"),
    "gauge": ("",),
    "info": ("_info",),
}


def samples() -> dict[str, frozenset[str]]:
    """The labels of all that `/metrics` tells, by the names that queries use."""
    metrics = Metrics()
    own = [*vars(metrics).values(), *metrics.tokens.values()]
    labels = {
        each._name: each._labelnames
        for each in own
        if isinstance(each, MetricWrapperBase)
    }
    found: dict[str, frozenset[str]] = {"up": frozenset(), "ALERTS": frozenset()}
    for family in metrics.registry.collect():
        added = {"le"} if family.type == "histogram" else set[str]()
        for end in _ENDS[family.type]:
            told = {name for sample in family.samples for name in sample.labels}
            names = {*labels.get(family.name, ()), *told, *added}
            found[family.name + end] = frozenset(names)
    return found


SAMPLES: Final = samples()


def unknown(expr: str) -> set[str]:
    """Metrics that do not exist, and labels that none of the metrics in the query has."""
    groups = [
        name for found in _GROUPS.findall(expr) for name in re.findall(r"\w+", found)
    ]
    matched = [
        name
        for found in _MATCHERS.findall(expr)
        for name in re.findall(r"(\w+) *[=!]", found)
    ]
    metrics = set(_METRIC.findall(_GROUPS.sub("", _MATCHERS.sub("", expr))))
    labels = OF_PROMETHEUS.union(*(SAMPLES.get(each, ()) for each in metrics))
    return (metrics - SAMPLES.keys()) | ({*groups, *matched} - labels)


def queries() -> Iterator[str]:
    for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]
    for rule in rules():
        yield rule["expr"]
    for test in yaml.safe_load((MONITORING / "alerts-test.yaml").read_text())["tests"]:
        for series in test["input_series"]:
            yield series["series"]


def rules() -> list[Mapping[str, Any]]:
    (group,) = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    return list(group["rules"])


@pytest.mark.parametrize("expr", list(queries()))
def test_a_query_names_metrics_and_labels_that_exist(expr: str) -> None:
    assert _METRIC.search(expr)
    assert unknown(expr) == set()


def test_a_name_that_does_not_exist_is_found() -> None:
    assert unknown("sum(rate(ullage_model_calls_total[5m]))") == {
        "ullage_model_calls_total"
    }
    assert unknown("max by (model) (ullage_sessions)") == {"model"}
    assert unknown('ullage_sessions{status="failed"}') == {"status"}
    assert unknown("ullage_turns") == {"ullage_turns"}


def test_every_metric_is_in_the_table_and_no_other() -> None:
    (table,) = re.findall(r"## Metrics\n(.*?)\n## ", OPERATING, re.DOTALL)
    named = {
        name.partition("{")[0]
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    of_process = ("process_", "python_")
    known = {
        re.sub("_(bucket|sum|count)$", "", name)
        for name in SAMPLES
        if name.partition("_")[0] in ("ullage", "gen", "http")
    }
    assert {name for name in named if not name.startswith(of_process)} == known


def test_every_alert_has_its_section_and_says_where() -> None:
    sections = re.findall(r"^### (\w+)", OPERATING, re.MULTILINE)
    assert sections == [rule["alert"] for rule in rules()]
    for rule in rules():
        where = f"docs/operating.md#{rule['alert'].lower()}"
        assert rule["annotations"]["runbook"] == where


def test_panels_have_places_and_numbers_of_their_own() -> None:
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24 and not cells & taken
        taken |= cells
