"""Tags of fields that OpenLineage events and DataHub aspects carry."""

from __future__ import annotations

from typing import Any

from fll_hbase.model.datasets import Dataset, DeclaredTag
from fll_hbase.sources.datahub import aspects
from fll_hbase.sources.openlineage import event
from fll_hbase.sources.validation import Part, Validator

PEOPLE = Dataset("ns", "people")


def dataset_event(*tags: Any, **facet: Any) -> dict[str, Any]:
    schema = {"fields": [{"name": "home", "type": "struct", "fields": [{"name": "city"}]}]}
    return {
        "eventTime": "2026-11-01T06:00:00Z",
        "producer": "https://example.org/agent",
        "dataset": {
            "namespace": "ns",
            "name": "people",
            "facets": {"schema": schema, "tags": {"tags": list(tags), **facet}},
        },
    }


def openlineage_tags(document: dict[str, Any]) -> list[DeclaredTag]:
    return [tag for item in event.read(document).schemas for tag in item.tags]


def test_tags_of_an_openlineage_facet() -> None:
    tags = [
        {"key": "pii", "value": "true", "source": "USER", "field": "email"},
        {"key": "level", "value": "high", "field": "home.city"},
        {"key": "gold", "value": "true"},
    ]
    producer = "https://example.org/agent"
    assert openlineage_tags(dataset_event(*tags)) == [
        DeclaredTag("email", "pii", producer),
        DeclaredTag("home/city", "level=high", producer),
    ]
    assert openlineage_tags(dataset_event(*tags[:1], _producer="scanner"))[0].by == "scanner"
    assert openlineage_tags(dataset_event(*tags, _deleted=True)) == []


def test_every_broken_tag_of_an_openlineage_facet_is_named() -> None:
    document = dataset_event(
        {"field": "f", "value": 7}, {"field": "", "key": "k" * 1_025}, 7, {"field": "g", "key": "PII"}
    )
    parsed = event.read(document)
    assert [tag.field for item in parsed.schemas for tag in item.tags] == ["g"]
    paths = sorted(warning.path.removeprefix("dataset.facets.tags.tags.") for warning in parsed.warnings)
    assert paths == ["0.key", "0.value", "1", "1.field", "2"]


def tagged(*names: Any) -> dict[str, Any]:
    return {"tags": [{"tag": name} for name in names]}


def test_tags_of_datahub_schemas() -> None:
    validator = Validator()
    schema = {"fields": [{"fieldPath": "email", "globalTags": tagged("urn:li:tag:PII", "urn:li:tag:PII")}]}
    assert aspects.schema(Part(validator, schema), PEOPLE).tags == (DeclaredTag("email", "PII", "DataHub"),)
    edited = {"editableSchemaFieldInfo": [{"fieldPath": "age", "globalTags": tagged("urn:li:tag:a b")}]}
    assert aspects.edited_schema(Part(validator, edited), PEOPLE).tags == (
        DeclaredTag("age", "a b", "DataHub"),
    )
    assert not validator.errors
    assert not validator.warnings
    broken = {"fields": [{"fieldPath": "email", "globalTags": tagged(7, "urn:li:tag:")}]}
    aspects.schema(Part(validator, broken), PEOPLE)
    assert [warning.path for warning in validator.warnings] == [
        "fields.0.globalTags.tags.0.tag",
        "fields.0.globalTags.tags.1.tag",
    ]
