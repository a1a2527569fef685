"""Executions that capture lost, as a fact of the run of their application."""

from __future__ import annotations

from datetime import UTC, datetime

from fll_hbase.capture.resolver.dump import Application
from fll_hbase.capture.resolver.events import PRODUCER, run_id
from fll_hbase.json_types import Json


def loss_event(application: Application, namespace: str, dropped: int) -> Json:
    """Return the event of the run of an application that says how many executions are in no line.

    The run is the parent of all runs of the application; its `errorMessage` is what the API shows.
    """
    text = f"capture lost {dropped} executions of this application: its spool was full"
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": PRODUCER,
        "run": {
            "runId": run_id(application),
            "facets": {"errorMessage": {"message": text, "programmingLanguage": "python"}},
        },
        "job": {"namespace": namespace, "name": application.name},
        "inputs": [],
        "outputs": [],
    }
