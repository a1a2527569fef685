"""The Helm chart: rendered files are of its sources, values are those of its templates and its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest
import yaml

from fll_hbase.runtime.config import PREFIX, Settings
from tools import helm_chart

VALUES: dict[str, Any] = yaml.safe_load((helm_chart.CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((helm_chart.CHART / "values.schema.json").read_text())
TEMPLATES = "\n".join(path.read_text() for path in sorted(helm_chart.CHART.glob("templates/**/*.*")))
FREE = ("settings", "resources", "metrics.serviceMonitor.labels", "ingress.annotations")
"""Values whose members are the user's."""


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the path of each value that a user sets, such as `store.kind`."""
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, dict) and value and path not in FREE and not path.startswith("probes."):
            yield from leaves(value, f"{path}.")
        else:
            yield path


def schema_leaves(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, below in schema["properties"].items():
        path = f"{prefix}{name}"
        if "properties" in below and not path.startswith("probes."):
            yield from schema_leaves(below, f"{path}.")
        else:
            yield path


@pytest.mark.parametrize("name", helm_chart.RELEASES)
def test_what_is_rendered_is_of_these_sources(name: str) -> None:
    """A forgotten `make helm` shows here without Helm; `make release-check` renders again."""
    assert (helm_chart.RENDERED / f"{name}.yaml").read_text().startswith(helm_chart.header(name))


@pytest.mark.parametrize("name", helm_chart.RELEASES)
def test_manifests_are_those_of_the_schemas_of_kubernetes(name: str) -> None:
    """`strict` refuses members that Kubernetes would ignore, such as mistyped ones."""
    assert helm_chart.validate_manifests((helm_chart.RENDERED / f"{name}.yaml").read_text()) == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no manifest"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {port: 80}", "Service a"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {FLL_PORT: 80}", "ConfigMap a"),
    ],
    ids=["empty", "unknown member", "number for text"],
)
def test_wrong_manifests_are_errors(text: str, part: str) -> None:
    errors = helm_chart.validate_manifests(text)
    assert errors
    assert all(part in error for error in errors)


def test_values_are_those_of_the_schema() -> None:
    assert set(leaves(VALUES)) == set(schema_leaves(SCHEMA)) - {"global"}


def test_each_value_is_used_and_each_used_one_exists() -> None:
    used = set(re.findall(r"\.Values\.([\w.]+)", TEMPLATES))
    assert {path for path in leaves(VALUES) if path not in used} == set()
    assert used <= set(leaves(VALUES))


def test_settings_are_those_of_the_server() -> None:
    settings = {PREFIX + field.name.upper() for field in fields(Settings)}
    assert set(re.findall(r"\bFLL_[A-Z_]+", TEMPLATES)) <= settings
    refused = set(SCHEMA["properties"]["settings"]["propertyNames"]["not"]["enum"])
    assert refused <= settings
    # A setting that the template makes would be twice in the ConfigMap.
    config_map = (helm_chart.CHART / "templates" / "configmap.yaml").read_text()
    assert set(re.findall(r"^  (FLL_[A-Z_]+):", config_map, re.MULTILINE)) <= refused


def test_values_to_start_from_are_those_of_the_chart() -> None:
    for name in helm_chart.CHECKED.values():
        values = yaml.safe_load((helm_chart.SOURCES / f"{name}.yaml").read_text())
        assert set(leaves(values)) <= set(leaves(VALUES)), name
