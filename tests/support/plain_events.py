"""OpenLineage events that name datasets and no columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fll_hbase.runtime.json_types import Json

NAMESPACE = "ns1"


def plain_event(
    job: str, number: int, *, day: str, inputs: Iterable[str] = (), outputs: Iterable[str] = (), **more: Any
) -> Json:
    """Return an event of a run of its own, `number` hours after midnight of a day, below 10."""
    return {
        "eventType": "COMPLETE",
        "eventTime": f"{day}T0{number}:00:00Z",
        "producer": "p",
        "schemaURL": "s",
        "run": {"runId": f"0187c3b8-5f0a-7d1e-9c3f-00000000000{number}"},
        "job": {"namespace": NAMESPACE, "name": job},
        "inputs": [{"namespace": NAMESPACE, "name": name} for name in inputs],
        "outputs": [{"namespace": NAMESPACE, "name": name} for name in outputs],
        **more,
    }
