"""Datasets of sources and sinks without a `referenceName`, by the properties that name them.

Such a dataset is named as in CDAP's own lineage, which gives the stage its fully qualified name:
`gcs:bucket.path`, `bigquery:project.dataset.table`, `postgres://host:5432/database.table`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fll_hbase.model.checksum import digest
from fll_hbase.model.dataset_spelling import namespace_key
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence, InputField, Read, Transform, Write
from fll_hbase.sources import sql
from fll_hbase.sources.dialect_names import dialect_of, scheme_of

_SYSTEMS = ("BigQuery", "Spanner", "Bigtable", "Datastore", "PubSub", "Kafka", "Salesforce", "MongoDB")
"""Beginnings of the names of plugins whose location is not a URL."""

_LOCATIONS = ("datasetProject", "project", "kafkaBrokers", "brokers", "instance", "instanceId", "database")
_OBJECTS = (
    *("tableName", "table", "topic", "topics", "subscription", "sObjectName", "collection", "kind", "name"),
)
_QUERIES = ("importQuery", "query", "sqlQuery")
_CONNECTION = re.compile(r"\$\{conn\(([^()]+)\)\}")
_URL = re.compile(r"(?:jdbc:)?(\w+):.*?(?://|@)(?:[^/@;?]*@)?([\w.-]+(?::\d+)?)(?:[/:]([^/?;]+))?")
_DATABASE = re.compile(r"[;?&](?:databaseName|database|db)=([^;&]+)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"//[^/@]*@")
_GCS = re.compile(r"gs://([^/]+)/(.*)")


@dataclass(frozen=True, slots=True)
class PluginQuery:
    """A query: its tables, a TRANSFORM for each known column, and the inputs of all its rows."""

    reads: tuple[Read, ...]
    columns: tuple[Transform, ...]
    rows: tuple[InputField, ...]


class PluginProperties:
    """Properties of one plugin; `value` returns a property with macros resolved, or "" if it is missing."""

    def __init__(self, plugin: str, value: Callable[[str], str], connection: str) -> None:
        self._plugin = plugin
        self._value = value
        self._connection = _CONNECTION.fullmatch(connection)

    def dataset_name(self) -> str:
        """Return the name of the dataset that the plugin reads or writes, or "" if no property names it."""
        if path := self._value("path"):
            bucket = _GCS.fullmatch(path if "://" in path or self._plugin[:3] != "GCS" else f"gs://{path}")
            return f"gcs:{bucket[1]}.{bucket[2].rstrip('/')}" if bucket else _CREDENTIALS.sub("//", path)
        name = self._first(_OBJECTS)
        if not name and (query := self._first(_QUERIES)):
            # One name for each text, since nothing else identifies the dataset.
            name = f"query-{digest(query.encode())}"
        return self.in_place(name) if name else ""

    def in_place(self, name: str) -> str:
        """Return a table's name with the plugin's system, location and schema, if given, in front of it."""
        system = next((system for system in _SYSTEMS if self._plugin.startswith(system)), "")
        parts = [self._value(key) for key in _LOCATIONS]
        if parts[0]:
            # BigQuery may run jobs in one project on data of another.
            parts[1] = ""
        parts = [part for part in parts if part and part != "auto-detect"]
        schema = self._value("dataset") or self._value("schemaName") or self._value("dbSchemaName")
        names = ([schema] if schema and not name.startswith(f"{schema}.") else []) + [name]
        if self._connection is not None:
            parts.insert(0, self._connection[1])
        if system:
            return f"{system.lower()}:{'.'.join([*parts, *names])}"
        return ".".join(filter(None, (self._server() or ".".join(parts), *names)))

    def query(self, namespace: str, fields: Sequence[str]) -> PluginQuery | None:
        """Return the database query that the plugin reads, or None.

        There is none if a property names a table, without a text, or with an unknown dialect. `fields` are
        the fields of the stage's schema, to which `*` of the only table refers. Raises InputError or TooLarge
        for a query that cannot be read.
        """
        text = "" if self._first(_OBJECTS) else self._first(_QUERIES)
        dialect = dialect_of(scheme_of(self._server()) or self._plugin.lower())
        if not text or dialect is None:
            return None
        # The plugin replaces this with conditions for each part that it reads.
        text = text.replace("$CONDITIONS", "1 = 1")
        query = _read_query(text, dialect, namespace, {})
        columns_known = {field.name.casefold() for column in query.columns for field in column.outputs}
        missing = [Field(name) for name in fields if name.casefold() not in columns_known]
        if missing and len(query.reads) == 1:
            read = query.reads[0]
            columns = dict.fromkeys((*missing, *(Field(field.name) for field in read.outputs)))
            query = _read_query(text, dialect, namespace, {read.source.name: tuple(columns)})
        sources = [Dataset(read.source.namespace, self.in_place(read.source.name)) for read in query.reads]
        reads = (replace(read, source=source) for read, source in zip(query.reads, sources, strict=True))
        return replace(query, reads=tuple(reads))

    def _server(self) -> str:
        """Return server and database of the connection, a digest if its text is not a URL, or ""."""
        if host := self._value("host"):
            port = f":{self._value('port')}" if self._value("port") else ""
            return _server_name(f"{self._plugin.lower()}://{host}{port}", self._value("database"))
        text = self._value("connectionString")
        if not (url := _URL.match(text)):
            # Show no part of the text, since it may contain a password.
            return f"{scheme_of(text)}-{digest(text.encode())}" if text else ""
        database = _DATABASE.search(text)
        return _server_name(f"{url[1]}://{url[2]}", database[1] if database else url[3] or "")

    def _first(self, keys: Sequence[str]) -> str:
        """Return the first non-empty value among the properties, or ""."""
        return next(filter(None, map(self._value, keys)), "")


def _server_name(server: str, database: str) -> str:
    """Return a server with its default port, and with the database unless it is empty."""
    return f"{namespace_key(server)}/{database}" if database else namespace_key(server)


def _read_query(
    text: str, dialect: str, namespace: str, schema: Mapping[str, Sequence[Field]]
) -> PluginQuery:
    """Read a query, using the columns of tables in `schema`. Raises InputError or TooLarge."""
    operations = sql.read_query(
        text,
        dialect=dialect,
        target=Dataset(namespace, "query"),
        verb="SELECT",
        tables=sql.TableSchemas(namespace, schema, lambda _: None),
    ).info.operations
    writes = (item for item in operations if isinstance(item, Write))
    return PluginQuery(
        tuple(item for item in operations if isinstance(item, Read)),
        tuple(item for item in operations if isinstance(item, Transform)),
        tuple(item for write in writes for item in write.inputs if item.influence is Influence.INDIRECT),
    )
