"""What does a pipeline config say: its stages with what each declares, and which stage leads to which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.cdap.macro_values import Texts
from fll_hbase.sources.cdap.macros import Macros
from fll_hbase.sources.cdap.record_schema import Schema
from fll_hbase.sources.cdap.stage_operations import StageOperation, read_operations
from fll_hbase.sources.native.shared_members import read_end_point
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, each, inside

_PASSING = ("action", "condition", "windower")


class Role(Enum):
    """What a stage is to fields, by how the type of its plugin ends: batchsource, sparksink, batchjoiner."""

    SOURCE = "source"
    SINK = "sink"
    JOINER = "joiner"
    PASSING = "passing"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage; `schema` is that of its output, for a sink of what it writes, None where not known."""

    name: str
    at: str
    role: Role
    end_point: Dataset
    end_point_description: str
    schema: Schema | None
    declared: tuple[StageOperation, ...]


@dataclass(frozen=True, slots=True)
class Connection:
    """One stage leads to another."""

    origin: str
    target: str
    at: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages and connections as they stand in the config."""

    stages: tuple[Stage, ...]
    connections: tuple[Connection, ...]


def read_pipeline(checks: Validator, config: object, *, namespace: str, macros: Macros) -> Pipeline:
    """The pipeline that a config says. What CDAP keeps there beside stages and connections is passed over."""
    said = _object(checks, config, "config")
    if not isinstance(config, dict):
        return Pipeline((), ())
    reader = _Reader(checks, namespace, Texts(checks, macros))
    items = [*each(checks.items(said, "stages", "config", required=True), "config.stages")]
    stages = [reader.stage(item, at) for item, at in items]
    arrows = each(checks.items(said, "connections", "config"), "config.connections")
    connections = tuple(reader.connection(item, at) for item, at in arrows)
    told = {name: schema for item, at in items for name, schema in reader.inputs(item, at)}
    return Pipeline(
        tuple(
            replace(stage, schema=told[stage.name]) if stage.schema is None and stage.name in told else stage
            for stage in stages
        ),
        connections,
    )


class _Reader:
    """Reads the parts of one config."""

    def __init__(self, checks: Validator, namespace: str, texts: Texts) -> None:
        self._checks = checks
        self._namespace = namespace
        self._texts = texts

    def stage(self, item: object, at: str) -> Stage:
        checks = self._checks
        said = _object(checks, item, at)
        plugin = _member(checks, said, "plugin", at)
        properties = _member(checks, plugin, "properties", inside(at, "plugin"))
        name = checks.required(said, "name", at, bytes_max=NAME_BYTES_MAX) if isinstance(item, dict) else "?"
        kind = checks.optional(plugin, "type", inside(at, "plugin")) or checks.optional(said, "type", at)
        end_point, description = self._end_point(said, properties, name, at)
        return Stage(
            name=name,
            at=at,
            role=_role(kind),
            end_point=end_point,
            end_point_description=description,
            schema=self._schema(said, properties, at),
            declared=read_operations(checks, said, at, self._namespace),
        )

    def connection(self, item: object, at: str) -> Connection:
        said = _object(self._checks, item, at)
        if not isinstance(item, dict):
            return Connection("?", "?", at)
        return Connection(self._checks.required(said, "from", at), self._checks.required(said, "to", at), at)

    def inputs(self, item: object, at: str) -> Iterator[tuple[str, Schema]]:
        """What a stage says of the stages before it, in `inputSchema`: their names and schemas."""
        said = item.get("inputSchema") if isinstance(item, dict) else None
        if not isinstance(said, list):
            return
        for one, place in each(said, inside(at, "inputSchema")):
            if isinstance(one, dict) and isinstance(one.get("name"), str):
                schema = self._texts.schema(one.get("schema"), inside(place, "schema"))
                if schema is not None:
                    yield one["name"], schema

    def _end_point(
        self, said: dict[str, Any], properties: dict[str, Any], name: str, at: str
    ) -> tuple[Dataset, str]:
        """The end point that a source or sink names; by a macro that stays unresolved it names none."""
        texts, place = self._texts, inside(at, "endPoint")
        if isinstance(said.get("endPoint"), dict):
            own, description = read_end_point(self._checks, said, "endPoint", at, self._namespace)
            namespace = texts.name(own.namespace, inside(place, "namespace"), bytes_max=ID_BYTES_MAX)
            own_name = texts.name(own.name, inside(place, "name"), bytes_max=NAME_BYTES_MAX)
            return Dataset(namespace or self._namespace, own_name or name), description
        if "endPoint" in said:
            own_name = self._checks.required(said, "endPoint", at)
        else:
            place = inside(at, "plugin.properties.referenceName")
            own_name = self._checks.optional(properties, "referenceName", inside(at, "plugin.properties"))
        return Dataset(self._namespace, texts.name(own_name, place, bytes_max=NAME_BYTES_MAX) or name), ""

    def _schema(self, said: dict[str, Any], properties: dict[str, Any], at: str) -> Schema | None:
        """The first of the places for a schema that has one."""
        output = said.get("outputSchema")
        place = inside(at, "outputSchema")
        if isinstance(output, list):
            places = [(one.get("schema"), place) for one in output if isinstance(one, dict)][:1]
        else:
            places = [(output, place)]
        places.append((properties.get("schema"), inside(at, "plugin.properties.schema")))
        found = (self._texts.schema(value, where) for value, where in places)
        return next((schema for schema in found if schema is not None), None)


def _role(kind: str) -> Role:
    word = kind.lower()
    for role in (Role.SOURCE, Role.SINK, Role.JOINER):
        if word.endswith(role.value):
            return role
    return Role.PASSING if word in _PASSING else Role.OTHER


def _object(checks: Validator, item: object, at: str) -> dict[str, Any]:
    return item if isinstance(item, dict) else checks.members(item, at, ())


def _member(checks: Validator, said: dict[str, Any], name: str, at: str) -> dict[str, Any]:
    return _object(checks, said[name], inside(at, name)) if name in said else {}
