"""Pipeline configs: stages, connections between them, the order of stages, and errors of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, InputError, TooLarge
from fll_hbase.sources.cdap.macros import TEXT_CHARS_MAX, Macros
from fll_hbase.sources.cdap.plugin_datasets import PluginProperties, PluginQuery
from fll_hbase.sources.cdap.plugin_operations import (
    NOT_KNOWN,
    PASSING_PLUGINS,
    PROPERTIES,
    NotImplied,
    implied_operations,
)
from fll_hbase.sources.cdap.record_schema import Schema
from fll_hbase.sources.cdap.stage_operations import Kind, StageOperation, read_operations
from fll_hbase.sources.native.document import read_dataset
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, Validator, child_path, readable

# These plugins have no schema of their own; fields pass through them (docs/record/pipelines.md).
_PASSING_TYPES = ("action", "condition", "windower")


class Role(Enum):
    """Role of a stage, by the end of its plugin's type, as in batchsource, sparksink and batchjoiner."""

    SOURCE = "source"
    SINK = "sink"
    JOINER = "joiner"
    ERRORS = "errortransform"
    PASSING = "passing"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage at a JSON path; `schema` describes its output, or what a sink writes, and is None if unknown.

    `query` is the database query that a source reads.
    """

    name: str
    path: str
    role: Role
    dataset: Dataset
    dataset_description: str
    schema: Schema | None
    operations: tuple[StageOperation, ...]
    query: PluginQuery | None = None


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


def read_pipeline(config: Part, *, namespace: str, macros: Macros) -> Pipeline:
    """Read a config; ignore members that CDAP has in addition to stages and connections.

    A stage without a schema of its own gets the schema that a later stage has for it in `inputSchema`. Parts
    of stages that are invalid add errors; unreadable connections are left out with a warning.
    """
    if not config.as_object().is_object:
        return Pipeline((), ())
    reader = _ConfigReader(namespace, macros)
    items = list(config.items("stages", required=True))
    stages = [reader.read_stage(item) for item in deadline.watched(items)]
    connections = tuple(readable(config.optional_items("connections"), _read_connection))
    # If the schema of a stage is missing or unreadable, the stages that follow it know the schema.
    schemas = {
        name: schema for item in deadline.watched(items) for name, schema in reader.read_input_schemas(item)
    }
    stages = [
        replace(stage, schema=schemas.get(stage.name)) if stage.schema is None else stage for stage in stages
    ]
    return Pipeline(tuple(stages), connections)


def _read_connection(part: Part) -> Connection:
    """Read the names in `from` and `to`, with `?` and errors for missing or invalid ones."""
    if not part.as_object().is_object:
        return Connection("?", "?", part.path)
    return Connection(part.required("from"), part.required("to"), part.path)


class _ConfigReader:
    """Reads the stages of one config."""

    def __init__(self, namespace: str, macros: Macros) -> None:
        self._namespace = namespace
        self._macros = macros

    def read_stage(self, part: Part) -> Stage:
        """Read a stage, with the dataset and operations that its plugin implies if it declares none."""
        plugin = part.as_object().optional_object("plugin")
        properties = plugin.optional_object("properties")
        name = part.required("name", bytes_max=NAME_BYTES_MAX) if part.is_object else "?"
        # Without a type it is unknown whether the stage reads or writes, so it is refused, not left out.
        plugin_type = plugin.optional("type") or part.optional("type")
        dataset, description = self._read_dataset(part, properties, name)
        role, query = _role(plugin_type, plugin.get("name")), None
        schema = self._read_schema(part, properties)
        if role in (Role.SOURCE, Role.SINK) and "endPoint" not in part and "referenceName" not in properties:
            dataset, query = self._named_by_plugin(plugin, properties, dataset, schema)
            query = query if role is Role.SOURCE else None
        return Stage(
            name=name,
            path=part.path,
            role=role,
            dataset=dataset,
            dataset_description=description,
            query=query,
            schema=schema,
            operations=read_operations(part, self._namespace)
            or self._implied_operations(plugin, properties, part.path),
        )

    def _named_by_plugin(
        self, plugin: Part, properties: Part, dataset: Dataset, schema: Schema | None
    ) -> tuple[Dataset, PluginQuery | None]:
        """Return the dataset named by a plugin's properties, else `dataset`, and the query of a source.

        Without a schema, a query that reads all columns of one table becomes that table and None. An
        unreadable query becomes None with a warning.
        """
        plugin_properties = PluginProperties(
            plugin.text("name"),
            lambda key: self._macros.text(properties.text(key)),
            properties.text("connection"),
        )
        name = Part(Validator(), plugin_properties.dataset_name()).name(bytes_max=NAME_BYTES_MAX)
        dataset = dataset if name == "?" else Dataset(self._namespace, name)
        try:
            query = plugin_properties.query(self._namespace, tuple(schema.types) if schema else ())
        except (InputError, TooLarge) as error:
            properties.warning(f"its query cannot be read: {error}")
            return dataset, None
        if query and not schema and not query.columns and len(query.reads) == 1:
            return query.reads[0].source, None
        return dataset, query

    def _implied_operations(self, plugin: Part, properties: Part, path: str) -> tuple[StageOperation, ...]:
        """Return the operations that properties imply; () if none or, with a warning, if they are unknown."""
        name = plugin.text("name")
        texts: dict[str, str] = {}
        for key in PROPERTIES.get(name, ()):
            text = properties.text(key)
            texts[key] = self._macros.name(text, properties.member(key), bytes_max=TEXT_CHARS_MAX)
            if text and not texts[key]:
                return ()
        try:
            return implied_operations(name, texts, path) if texts else ()
        except NotImplied as error:
            properties.warning(f"{error}: {NOT_KNOWN}")
            return ()

    def read_input_schemas(self, part: Part) -> Iterator[tuple[str, Schema]]:
        """Yield names and readable schemas of preceding stages from the `inputSchema` of a stage."""
        # These are fallbacks for the stage's own schema, so a malformed entry is skipped instead of refused.
        for stage in part.member("inputSchema").listed():
            if isinstance(stage.get("name"), str):
                schema = self._macros.schema(stage.member("schema"))
                if schema is not None:
                    yield stage.get("name"), schema

    def _read_dataset(self, part: Part, properties: Part, stage_name: str) -> tuple[Dataset, str]:
        """Read dataset and description of a source or sink; an unresolved name becomes the stage's name."""
        dataset = part.member("endPoint").readable(
            lambda _: self._read_named_dataset(part, properties, stage_name)
        )
        return dataset or (Dataset(self._namespace, stage_name), "")

    def _read_named_dataset(self, part: Part, properties: Part, stage_name: str) -> tuple[Dataset, str]:
        """Return dataset and description by `endPoint`, else the plugin's `referenceName`, else the stage."""
        macros, end_point = self._macros, part.member("endPoint")
        if end_point.is_object:
            dataset, description = read_dataset(part, "endPoint", self._namespace)
            namespace = macros.name(dataset.namespace, end_point.member("namespace"), bytes_max=ID_BYTES_MAX)
            name = macros.name(dataset.name, end_point.member("name"), bytes_max=NAME_BYTES_MAX)
            return Dataset(namespace or self._namespace, name or stage_name), description
        if "endPoint" in part:
            name, holder = part.required("endPoint"), end_point
        else:
            name, holder = properties.optional("referenceName"), properties.member("referenceName")
        name = macros.name(name, holder, bytes_max=NAME_BYTES_MAX)
        return Dataset(self._namespace, name or stage_name), ""

    def _read_schema(self, part: Part, properties: Part) -> Schema | None:
        """Read the first readable schema, from `outputSchema` or the plugin's properties, or return None."""
        output = part.member("outputSchema")
        if isinstance(output.value, list):
            listed = next((item.get("schema") for item in output.listed() if item.is_object), None)
            output = Part(output.validator, listed, output.path)
        schemas = map(self._macros.schema, (output, properties.member("schema")))
        return next((schema for schema in schemas if schema is not None), None)


def _role(plugin_type: str, plugin: object) -> Role:
    """Return the role at the end of a plugin's type, else PASSING for one that passes fields, else OTHER."""
    name = plugin_type.lower()
    for role in (Role.SOURCE, Role.SINK, Role.JOINER, Role.ERRORS):
        if name.endswith(role.value):
            return role
    passes = name in _PASSING_TYPES or (isinstance(plugin, str) and plugin in PASSING_PLUGINS)
    return Role.PASSING if passes else Role.OTHER


@dataclass(frozen=True, slots=True)
class StageOrder:
    """Stages, each after all stages that lead to it, with preceding and following stages by name."""

    stages: tuple[Stage, ...]
    preceding: dict[str, tuple[str, ...]]
    following: dict[str, tuple[str, ...]]


def find_errors(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error for each part of the config that is not a valid pipeline.

    Errors are repeated names of stages, or of operations in a stage, connections from or to unknown stages,
    cycles, and a pipeline without a stage that reads or one that writes. A stage needs no connections.
    """
    yield from _repeated_names(pipeline.stages, "a pipeline")
    for stage in pipeline.stages:
        unique = (operation for operation in deadline.watched(stage.operations) if operation.has_unique_name)
        yield from _repeated_names(unique, "a stage")
    yield from _unknown_stages(pipeline)
    yield from _cycles(pipeline)
    yield from _missing_ends(pipeline)


def stage_order(pipeline: Pipeline) -> StageOrder:
    """Return the order of a pipeline for which `find_errors` returned nothing.

    Stages whose order is free are sorted by name, those that lead to no other stage first.
    """
    preceding = _origins(pipeline)
    following: dict[str, set[str]] = {name: set() for name in preceding}
    for target, origins in preceding.items():
        for origin in origins:
            following[origin].add(target)
    by_name = {stage.name: stage for stage in pipeline.stages}
    # Handling a last stage as early as possible saves a copy of the fields.
    names = topology.topological_sort(preceding, rank=lambda name: bool(following[name]))
    return StageOrder(
        tuple(by_name[name] for name in names),
        {name: tuple(sorted(names)) for name, names in preceding.items()},
        {name: tuple(sorted(names)) for name, names in following.items()},
    )


def _origins(pipeline: Pipeline) -> dict[str, set[str]]:
    """Return the names that lead to each stage, even unknown ones, by its name; a first stage has none."""
    origins: dict[str, set[str]] = {stage.name: set() for stage in pipeline.stages}
    for connection in pipeline.connections:
        # An unknown stage is a separate error; cycles among the other stages are reported with it.
        if connection.target in origins:
            origins[connection.target].add(connection.origin)
    return origins


def _repeated_names(parts: Iterable[Stage | StageOperation], holder: str) -> Iterator[FieldError]:
    """Yield an error at the `name` of each part of `holder` that repeats an earlier name."""
    first: dict[str, str] = {}
    for part in parts:
        path = first.setdefault(part.name, part.path)
        if path != part.path:
            detail = f"{part.name!r} is also the name of {path}; names are unique in {holder}"
            yield FieldError(child_path(part.path, "name"), detail)


def _unknown_stages(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error for each `from` or `to` of a connection that names an unknown stage."""
    names = {stage.name for stage in pipeline.stages}
    for connection in pipeline.connections:
        for member, name in (("from", connection.origin), ("to", connection.target)):
            if name not in names:
                path = child_path(connection.path, member)
                yield FieldError(path, f"{name!r} is not a stage of this pipeline")


def _cycles(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error per cycle, at its first stage in the config."""
    # The first of several stages with the same name counts.
    numbers = {stage.name: number for number, stage in reversed([*enumerate(pipeline.stages)])}
    for names in topology.cycles(_origins(pipeline)):
        path = pipeline.stages[min(numbers[name] for name in names)].path
        if len(names) == 1:
            yield FieldError(path, f"{names[0]!r} leads to itself")
        else:
            yield FieldError(path, f"a cycle: {', '.join(map(repr, names))} lead to one another")


def _missing_ends(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error if there is neither a source nor a READ, and one if neither a sink nor a WRITE."""
    kinds = {operation.kind for stage in pipeline.stages for operation in stage.operations}
    roles = {stage.role for stage in pipeline.stages}
    for role, kind in ((Role.SOURCE, Kind.READ), (Role.SINK, Kind.WRITE)):
        if role not in roles and kind not in kinds:
            end = f"no {role.value}: no stage has a plugin of that type"
            yield FieldError("config.stages", f"{end}, and none declares a {kind.value}")
