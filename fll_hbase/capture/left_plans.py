"""Plans left in a spool by applications that ended before all lineage was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fll_hbase.capture.plan_delivery import EventSource, PlanDelivery
from fll_hbase.capture.plan_spool import PlanHead, PlanSpool
from fll_hbase.client.remote.http_session import HttpSession

IDLE_SECONDS_MIN = 30.0
"""Age at which a file without an end counts as complete; a JVM outlives its driver by less."""


def send_left(
    spool: PlanSpool,
    client: HttpSession,
    make_source: Callable[[PlanHead], EventSource],
    *,
    destination: str | None,
) -> Iterator[PlanDelivery]:
    """Send the plans left for a destination (None: for any) to `client`.

    Yields the delivery of a file after each step, and once more when the file is done. A file is removed when
    all of it is recorded. A file that may still grow stays, since the JVM of an application outlives its
    driver by a few seconds. Raises LineageError when the server does not answer or a file cannot be used.
    """
    for plan_file in spool.left(destination):
        delivery = PlanDelivery(plan_file, make_source(plan_file.head))
        try:
            while delivery.step(client):
                yield delivery
            if not delivery.is_finished and plan_file.idle_seconds() > IDLE_SECONDS_MIN:
                delivery.finish()
                while delivery.step(client):
                    yield delivery
            if delivery.is_finished:
                delivery.complete()
            yield delivery
        finally:
            if not delivery.is_complete:
                plan_file.close()
