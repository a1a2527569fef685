"""A server, and what captured jobs recorded there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests


@dataclass(frozen=True)
class Lineage:
    """A server, and what is recorded there."""

    url: str

    def runs(self, application: str) -> list[str]:
        """The ids of the runs of an application: a run that was recorded twice would be twice in it."""
        listed: list[str] = []
        path: str | None = "/v3/runs?start=0&end=now%2B1000d&limit=1000"
        while path:
            answer = requests.get(f"{self.url}{path}", timeout=120)
            assert answer.status_code == 200, answer.text
            listed += [run["run"] for run in answer.json()["runs"] if run["application"] == application]
            link = answer.links.get("next")
            path = link["url"].removeprefix(self.url) if link else None
        return listed

    def datasets(self, namespace: str, prefix: str) -> list[str]:
        """The names of datasets that begin with a prefix."""
        path = f"{self.url}/v3/namespaces/{namespace}/endpoints"
        answer = requests.get(path, {"prefix": prefix}, timeout=120)
        return [item["name"] for item in answer.json()["endpoints"]] if answer.ok else []

    def namespaces_of(self, namespace: str, name: str) -> set[str]:
        """The namespaces of the programs that wrote a dataset."""
        path = f"{self.url}/v3/namespaces/{namespace}/endpoints/{quote(name, safe='')}/runs"
        answer = requests.get(path, {"start": "now-1h", "end": "now+1h"}, timeout=120)
        return {self.run(run["run"])["namespace"] for run in answer.json()["runs"]}

    def run(self, run: str) -> dict[str, Any]:
        """All that is recorded of a run."""
        answer = requests.get(f"{self.url}/v3/runs/{run}", timeout=120)
        assert answer.status_code == 200, answer.text
        details: dict[str, Any] = answer.json()
        return details
