"""Settings of the OpenLineage agent for Spark."""

from __future__ import annotations

AGENT = {
    "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
    "spark.openlineage.namespace": "shop",
    "spark.openlineage.transport.type": "composite",
    "spark.openlineage.transport.transports.server.type": "http",
    "spark.openlineage.transport.transports.server.compression": "gzip",
    "spark.openlineage.transport.transports.copy.type": "file",
}
"""As docs/record/openlineage.md has it; a file also gets every event, to compare."""
