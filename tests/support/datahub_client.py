"""DataHub's own client, installed and unmodified; kept from calling home, and out of one's home directory."""

from __future__ import annotations

import tempfile
import warnings

import pytest

with (
    tempfile.TemporaryDirectory() as home,
    pytest.MonkeyPatch.context() as environment,
    warnings.catch_warnings(action="ignore"),
):
    environment.setenv("HOME", home)
    environment.setenv("DATAHUB_TELEMETRY_ENABLED", "false")
    import datahub.metadata.schema_classes as models
    from datahub.configuration.common import ConfigurationError, OperationalError
    from datahub.emitter.mce_builder import make_dataset_urn, make_schema_field_urn
    from datahub.emitter.mcp import MetadataChangeProposalWrapper as Proposal
    from datahub.emitter.rest_emitter import DatahubRestEmitter, EmitMode
    from datahub.errors import SdkUsageError
    from datahub.ingestion.run.pipeline import Pipeline
    from datahub.metadata.urns import DataFlowUrn, DataJobUrn
    from datahub.sdk import DataFlow, DataHubClient, DataJob, Dataset
    from datahub.specific.datajob import DataJobPatchBuilder
    from datahub.specific.dataset import DatasetPatchBuilder

__all__ = [
    "ConfigurationError",
    "DataFlow",
    "DataFlowUrn",
    "DataHubClient",
    "DataJob",
    "DataJobPatchBuilder",
    "DataJobUrn",
    "DatahubRestEmitter",
    "Dataset",
    "DatasetPatchBuilder",
    "EmitMode",
    "OperationalError",
    "Pipeline",
    "Proposal",
    "SdkUsageError",
    "make_dataset_urn",
    "make_schema_field_urn",
    "models",
]
