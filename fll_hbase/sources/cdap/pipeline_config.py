"""Pipeline configs: their stages with what each declares, and the connections between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.cdap.macros import TEXT_CHARS_MAX, Macros, MacroValues
from fll_hbase.sources.cdap.plugin_operations import PASSING_PLUGINS, PROPERTIES, implied_operations
from fll_hbase.sources.cdap.plugin_properties import NOT_KNOWN, NotImplied
from fll_hbase.sources.cdap.record_schema import Schema
from fll_hbase.sources.cdap.stage_operations import StageOperation, read_operations
from fll_hbase.sources.native.shared_members import read_dataset
from fll_hbase.sources.openlineage import json_access
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

# These plugins have no schema of their own: fields pass through them (docs/sources/pipelines.md).
_PASSING_TYPES = ("action", "condition", "windower")


class Role(Enum):
    """Role of a stage, by the end of its plugin's type: batchsource, sparksink, batchjoiner."""

    SOURCE = "source"
    SINK = "sink"
    JOINER = "joiner"
    ERRORS = "errortransform"
    PASSING = "passing"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage at a JSON path; `schema` is that of its output, of a sink what it writes, None if unknown."""

    name: str
    path: str
    role: Role
    dataset: Dataset
    dataset_description: str
    schema: Schema | None
    operations: tuple[StageOperation, ...]


@dataclass(frozen=True, slots=True)
class Connection:
    """Connection of one stage to the next, at a JSON path."""

    origin: str
    target: str
    path: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages and connections in the order of the config."""

    stages: tuple[Stage, ...]
    connections: tuple[Connection, ...]


def read_pipeline(validator: Validator, config: object, *, namespace: str, macros: Macros) -> Pipeline:
    """Read a config; members that CDAP has beside stages and connections are ignored.

    A stage without a schema of its own gets the one that a later stage has for it in `inputSchema`.
    """
    members = _object(validator, config, "config")
    if not isinstance(config, dict):
        return Pipeline((), ())
    reader = _ConfigReader(validator, namespace, MacroValues(validator, macros))
    items = [*items_with_path(validator.items(members, "stages", "config", required=True), "config.stages")]
    stages = [reader.read_stage(item, path) for item, path in items]
    arrows = items_with_path(
        json_access.list_items(validator, members, "connections", "config"), "config.connections"
    )
    connections = tuple(validator.readable(arrows, reader.read_connection))
    # The stages that follow know the schema of a stage whose own is missing or unreadable.
    schemas = {name: schema for item, path in items for name, schema in reader.read_input_schemas(item, path)}
    stages = [
        replace(stage, schema=schemas.get(stage.name)) if stage.schema is None else stage for stage in stages
    ]
    return Pipeline(tuple(stages), connections)


class _ConfigReader:
    """Reads the stages and connections of one config."""

    def __init__(self, validator: Validator, namespace: str, values: MacroValues) -> None:
        self._validator = validator
        self._namespace = namespace
        self._values = values

    def read_stage(self, item: object, path: str) -> Stage:
        validator = self._validator
        members = _object(validator, item, path)
        plugin_path = child_path(path, "plugin")
        plugin = _member_object(validator, members, "plugin", path)
        properties = _member_object(validator, plugin, "properties", plugin_path)
        name = "?"
        if isinstance(item, dict):
            name = validator.required(members, "name", path, bytes_max=NAME_BYTES_MAX)
        # Without it it is not known whether the stage reads or writes: it is refused, not left out.
        plugin_type = validator.optional(plugin, "type", plugin_path)
        plugin_type = plugin_type or validator.optional(members, "type", path)
        dataset, description = self._read_dataset(members, properties, name, path)
        return Stage(
            name=name,
            path=path,
            role=_role(plugin_type, plugin.get("name")),
            dataset=dataset,
            dataset_description=description,
            schema=self._read_schema(members, properties, path),
            operations=read_operations(validator, members, path, self._namespace)
            or self._implied_operations(plugin, properties, path),
        )

    def _implied_operations(
        self, plugin: dict[str, Any], properties: dict[str, Any], path: str
    ) -> tuple[StageOperation, ...]:
        """Return the operations that the properties of a plugin imply; empty, with a warning, if unknown."""
        name = json_access.text(self._validator, plugin, "name", child_path(path, "plugin"))
        properties_path = child_path(path, "plugin.properties")
        texts: dict[str, str] = {}
        for key in PROPERTIES.get(name, ()):
            text = json_access.text(self._validator, properties, key, properties_path)
            texts[key] = self._values.name(text, child_path(properties_path, key), bytes_max=TEXT_CHARS_MAX)
            if text and not texts[key]:
                return ()
        try:
            return implied_operations(name, texts, path) if texts else ()
        except NotImplied as error:
            self._validator.warning(properties_path, f"{error}: {NOT_KNOWN}")
            return ()

    def read_connection(self, item: object, path: str) -> Connection:
        members = _object(self._validator, item, path)
        if not isinstance(item, dict):
            return Connection("?", "?", path)
        origin = self._validator.required(members, "from", path)
        return Connection(origin, self._validator.required(members, "to", path), path)

    def read_input_schemas(self, item: object, path: str) -> Iterator[tuple[str, Schema]]:
        """Yield names and readable schemas of preceding stages in the `inputSchema` of a stage."""
        inputs = item.get("inputSchema") if isinstance(item, dict) else None
        if not isinstance(inputs, list):
            return
        # A fallback for the stage's own schema, so a malformed entry is skipped instead of refused.
        for stage, stage_path in items_with_path(inputs, child_path(path, "inputSchema")):
            if isinstance(stage, dict) and isinstance(stage.get("name"), str):
                schema = self._values.schema(stage.get("schema"), child_path(stage_path, "schema"))
                if schema is not None:
                    yield stage["name"], schema

    def _read_dataset(
        self, members: dict[str, Any], properties: dict[str, Any], stage_name: str, stage_path: str
    ) -> tuple[Dataset, str]:
        """Read the dataset of a source or sink and its description; unresolved names are the stage's."""
        errors_before = self._validator.errors.count
        dataset = self._read_named_dataset(members, properties, stage_name, stage_path)
        if self._validator.leave_out(child_path(stage_path, "endPoint"), errors_before=errors_before):
            return Dataset(self._namespace, stage_name), ""
        return dataset

    def _read_named_dataset(
        self, members: dict[str, Any], properties: dict[str, Any], stage_name: str, stage_path: str
    ) -> tuple[Dataset, str]:
        """Return dataset and description by `endPoint`, else the plugin's `referenceName`, else the stage."""
        values, path = self._values, child_path(stage_path, "endPoint")
        if isinstance(members.get("endPoint"), dict):
            dataset, description = read_dataset(
                self._validator, members, "endPoint", stage_path, self._namespace
            )
            namespace = values.name(dataset.namespace, child_path(path, "namespace"), bytes_max=ID_BYTES_MAX)
            name = values.name(dataset.name, child_path(path, "name"), bytes_max=NAME_BYTES_MAX)
            return Dataset(namespace or self._namespace, name or stage_name), description
        if "endPoint" in members:
            name = self._validator.required(members, "endPoint", stage_path)
        else:
            properties_path = child_path(stage_path, "plugin.properties")
            path = child_path(properties_path, "referenceName")
            name = self._validator.optional(properties, "referenceName", properties_path)
        name = values.name(name, path, bytes_max=NAME_BYTES_MAX)
        return Dataset(self._namespace, name or stage_name), ""

    def _read_schema(self, members: dict[str, Any], properties: dict[str, Any], path: str) -> Schema | None:
        """Read the first readable schema, of `outputSchema` or the plugin's properties; None without."""
        output, output_path = members.get("outputSchema"), child_path(path, "outputSchema")
        if isinstance(output, list):
            candidates = [(item.get("schema"), output_path) for item in output if isinstance(item, dict)][:1]
        else:
            candidates = [(output, output_path)]
        candidates.append((properties.get("schema"), child_path(path, "plugin.properties.schema")))
        schemas = (self._values.schema(value, value_path) for value, value_path in candidates)
        return next((schema for schema in schemas if schema is not None), None)


def _role(plugin_type: str, plugin: object) -> Role:
    """Return the role of a stage: by the end of its plugin's type, else whether fields pass it unchanged."""
    name = plugin_type.lower()
    for role in (Role.SOURCE, Role.SINK, Role.JOINER, Role.ERRORS):
        if name.endswith(role.value):
            return role
    passes = name in _PASSING_TYPES or (isinstance(plugin, str) and plugin in PASSING_PLUGINS)
    return Role.PASSING if passes else Role.OTHER


def _object(validator: Validator, item: object, path: str) -> dict[str, Any]:
    """Return an object with any members; {} with an error for another value."""
    return item if isinstance(item, dict) else validator.members(item, path, ())


def _member_object(validator: Validator, members: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    return json_access.members(validator, members.get(name), child_path(path, name), optional=True)
