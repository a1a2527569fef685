"""The pages on monitoring, deployment and sizing list metrics, members of logs, alerts, files and sizes."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import yaml

from api.observability import exporter, observer
from tests.support.declared_metrics import declared_metrics
from tests.support.repository import DOCKER, ROOT

PAGE = (ROOT / "docs" / "operate" / "monitoring.md").read_text()
DEPLOY = (ROOT / "docs" / "operate" / "deploy.md").read_text()
SIZING = (ROOT / "docs" / "operate" / "sizing.md").read_text()
ROWS = re.findall(r"^\| `(fll_\w+)` \| (\w+) \|([^|]*)\|", PAGE, re.MULTILINE)
LOGS = PAGE[PAGE.index("## Logs") : PAGE.index("## Access log")]


def test_every_metric_with_its_type_and_labels() -> None:
    exporter.connect()
    documented = {name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROWS}
    assert len(documented) == len(ROWS)
    build = {"fll_build_info": ("gauge", ("version", "python"))}
    assert documented == build | {
        metric.name: (type(metric).__name__.lower(), metric.labels) for metric in declared_metrics()
    }


def test_every_reason_with_its_status() -> None:
    source = inspect.getsource(observer)
    reasons = dict(re.findall(r'"(\d{3})": "(\w+)"', source))
    assert len(reasons) >= 9
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| `fll_http_refused_total`")]
    for status, reason in reasons.items():
        part = row.partition(f"`{reason}` (")[2].partition(")")[0]
        assert status in part, (status, reason)


def test_every_member_of_a_line() -> None:
    documented = {
        name
        for names in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", LOGS, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    }
    sources = [(ROOT / "api" / "observability" / name).read_text() for name in ("logs.py", "observer.py")]
    written = {name for source in sources for name in re.findall(r'"([a-z_]+)": ', source)}
    assert documented == written


def test_every_alert() -> None:
    rules = yaml.safe_load((DOCKER / "prometheus" / "alerts.yml").read_text())["groups"][0]["rules"]
    assert re.findall(r"^\| `(Lineage\w+)` \|", PAGE, re.MULTILINE) == [rule["alert"] for rule in rules]


def test_sizes_are_those_of_the_benchmarks() -> None:
    benchmarks = (ROOT / "docs" / "develop" / "benchmarks.md").read_text()
    figures = re.findall(r"\| ([\d.,]+) (?:ms|runs/s|bytes|MiB)", SIZING[: SIZING.index("## HBase")])
    assert len(figures) >= 8
    for figure in figures:
        exact = figure.replace(",", "")
        numbers = [
            float(number.replace(",", ""))
            for number in re.findall(r" (\d[\d,]*(?:\.\d+)?) (?:ms|µs|runs/s|B|MiB)\b", benchmarks)
        ]
        # Rounded, and milliseconds there may be microseconds.
        digits = len(exact.partition(".")[2])
        scales = (1, 1000) if digits else (1,)
        close = [n for n in numbers for scale in scales if abs(n / scale - float(exact)) <= 0.5 * 10**-digits]
        assert close, figure


def test_every_file_of_docker_is_described() -> None:
    described = PAGE + DEPLOY
    for path in (
        "prometheus/prometheus.yml",
        "prometheus/kubernetes.yml",
        "grafana/lineage.json",
        "systemd/fll.service",
    ):
        assert f"docker/{path}" in described
    for path in ("kubernetes/lineage.yaml", "nginx/lineage.conf", "compose.monitoring.yaml"):
        assert f"docker/{path}" in described
    assert json.loads((Path(DOCKER) / "grafana" / "lineage.json").read_text())["uid"]
