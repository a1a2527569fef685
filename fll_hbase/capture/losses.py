"""Executions that capture lost, as a fact of the run of their application."""

from __future__ import annotations

from datetime import UTC, datetime

from fll_hbase.capture.plan_spool import Losses
from fll_hbase.capture.resolver.dump import Application
from fll_hbase.capture.resolver.events import PRODUCER, run_id
from fll_hbase.runtime.json_types import Json


def loss_event(application: Application, namespace: str, losses: Losses) -> Json:
    """Return the event of the application's run that says how many executions are missing from the file.

    The run is the parent of all runs of the application. The API shows its `errorMessage`.
    """
    text = f"capture lost {describe(losses)}"
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


def describe(losses: Losses) -> str:
    """Return how many executions were lost and why, as a string for logs and errors; "" if none were."""
    texts = []
    if losses.unwritten:
        texts.append(f"{losses.unwritten} executions of this application, because the spool was full")
    if losses.unseen:
        # Not all executions write, and Spark does not say which ones it dropped.
        texts.append(
            f"up to {losses.unseen} executions of this application: Spark dropped their events, as the queue"
            " of the listener was full (spark.scheduler.listenerbus.eventqueue.fll.capacity)"
        )
    return "; ".join(texts)
