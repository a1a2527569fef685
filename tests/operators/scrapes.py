"""Metrics of a server, parsed as Prometheus would."""

from __future__ import annotations

from collections.abc import Iterator

import requests
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """The samples of one answer to `/metrics`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families: list[Metric] = list(text_string_to_metric_families(text))

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that have these labels."""
        return sum(value for values, value in self.samples(name) if labels.items() <= values.items())

    def samples(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        for family in self.families:
            yield from ((sample.labels, sample.value) for sample in family.samples if sample.name == name)


def scrape(port: int) -> Scrape:
    """Ask a server for its metrics."""
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=120)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(answer.text)
