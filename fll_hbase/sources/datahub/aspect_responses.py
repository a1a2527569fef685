"""Aspects for responses to DataHub's clients, built from the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.sources.datahub import schema_paths, urns

KEY = "datasetKey"
SCHEMA = "schemaMetadata"


def key(dataset: Dataset) -> dict[str, Any]:
    """Return the `datasetKey` aspect, which clients read to check that a dataset exists."""
    platform, environment = urns.platform_and_environment(dataset.namespace)
    data = {"platform": f"urn:li:dataPlatform:{platform}", "name": dataset.name, "origin": environment}
    return _aspect("com.linkedin.metadata.key.DatasetKey", data)


def schema(dataset: Dataset, fields: Iterable[Field]) -> dict[str, Any]:
    """Return the `schemaMetadata` aspect with native types; the catalogue does not store DataHub's types."""
    data = {
        "schemaName": dataset.name,
        "platform": f"urn:li:dataPlatform:{urns.platform_and_environment(dataset.namespace)[0]}",
        # The class requires version, hash, platformSchema and a type of each field, which are not stored.
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.Schemaless": {}},
        "fields": [
            {
                "fieldPath": schema_paths.field_path(field.name),
                "nativeDataType": field.type,
                "type": {"type": {"com.linkedin.schema.NullType": {}}},
            }
            for field in fields
        ],
    }
    return _aspect("com.linkedin.schema.SchemaMetadata", data)


def _aspect(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return an aspect by the name of its class, `kind`, with version 0, as DataHub's API returns it."""
    return {"version": 0, "aspect": {kind: data}}
