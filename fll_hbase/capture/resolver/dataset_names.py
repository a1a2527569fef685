"""Dataset names by the naming rules of OpenLineage, as its Spark agent writes them.

A row of `datasets` has a `kind`, with the members in parentheses:

- `files` (`paths`, and the number of `pathsLeftOut`),
- `jdbc` (`url`, and `name` or `query`),
- `kafka` (`topic`, which may be a `pattern`, and `servers`),
- `name` (of a table),
- `sink` and `relation` (`class`),
- `rdd` and `checkpoint` (`ids` of columns).

`table` has `name`, `location` and `provider` in the session catalog. `identifier` and `catalog` name a table
of another catalog. `metastore` is the host and port of Hive's metastore. `stream` marks files that a stream
lists one by one. `fields` and `types` are the columns that a table has in its catalog after a command.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fll_hbase.model.dataset_spelling import path_name
from fll_hbase.sources.dialect_names import dialect_of, scheme_of

_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306, "sqlserver": 1433, "oracle": 1521}
_DERBY_ELSEWHERE = ("memory:", "classpath:", "jar:")
_SCHEMES = {"postgresql": "postgres", "mariadb": "mysql"}


class DatasetName(NamedTuple):
    """Namespace and name of a dataset; `symlink` is its namespace and name in a catalog, if any, or None."""

    namespace: str
    name: str
    symlink: tuple[str, str] | None = None


def dataset_names(row: dict[str, Any]) -> list[DatasetName]:
    """Return the datasets of a row: one for each path, topic or table of its query, else its table or [].

    A location replaces the paths. Paths and tables of a query are sorted, each once. For a stream, each path
    is replaced by its directory.
    """
    kind = row.get("kind")
    if kind == "jdbc":
        return _jdbc(row)
    if kind == "kafka":
        return _kafka(row)
    table = row.get("table")
    symlink = _table_name(row)
    location = table.get("location") if isinstance(table, dict) else row.get("location")
    paths = [location] if location else list(row.get("paths") or ())
    if row.get("stream") and not location:
        paths = [path.rpartition("/")[0] for path in paths]
    if paths:
        names = [DatasetName(*path_name(path)) for path in paths]
        return sorted({_with_symlink(name, symlink, row.get("metastore")) for name in names})
    return [] if symlink is None else [DatasetName(str(row.get("catalog") or "spark_catalog"), symlink)]


def _with_symlink(name: DatasetName, table: str | None, metastore: str | None) -> DatasetName:
    """Return a dataset with its table as symlink, in the metastore or else the database's directory."""
    if table is None:
        return name
    if metastore:
        return DatasetName(name.namespace, name.name, (f"hive://{metastore}", table))
    folder = name.name.rpartition("/")[0]
    parent = re.sub(r"/[^/]+\.db$", "", folder)
    joined = (
        f"{name.namespace}:{parent}" if name.namespace == "file" else f"{name.namespace}/{parent.lstrip('/')}"
    )
    return DatasetName(name.namespace, name.name, (joined.rstrip("/"), table))


def _table_name(row: dict[str, Any]) -> str | None:
    """Return the name of a row's table relative to its catalog, or None if the row names no table."""
    table = row.get("table")
    if isinstance(table, dict) and table.get("name"):
        return str(table["name"]).removeprefix("spark_catalog.")
    if row.get("identifier"):
        return str(row["identifier"]).replace("`", "")
    name = row.get("name")
    return str(name).removeprefix("spark_catalog.") if name and row.get("kind") in (None, "name") else None


def _kafka(row: dict[str, Any]) -> list[DatasetName]:
    """Return a dataset on the first server for each topic: listed, keys of a JSON text, or one pattern."""
    server = str(row.get("servers") or "").split(",")[0].strip()
    topics = str(row.get("topic") or "")
    if row.get("pattern"):
        names = [topics]
    else:
        names = re.findall(r'"([^"]+)"\s*:', topics) if topics.startswith("{") else topics.split(",")
    return [DatasetName(f"kafka://{server}", name.strip()) for name in names if name.strip()]


def jdbc_table(row: dict[str, Any], parts: Sequence[str], *, written: str) -> DatasetName:
    """Return a table of the database in a row of the kind `jdbc`.

    `parts` is the name as the database stores it, split at its dots. `written` is the name in the job, from
    which the OpenLineage agent makes its name. The result has the stored name, with the agent's as symlink if
    that differs, or only the agent's if the dialect of the database is unknown.
    """
    from fll_hbase.sources.sql.names.dataset_naming import name_in

    namespace, database = _jdbc_namespace(str(row.get("url") or ""), str(row.get("home") or ""))
    agent_name = f"{database}.{written}" if database else written
    if jdbc_dialect(row) is None:
        return DatasetName(namespace, agent_name)
    name = name_in(namespace, [database, *parts] if database else parts)
    return DatasetName(namespace, name, None if name == agent_name else (namespace, agent_name))


def jdbc_dialect(row: dict[str, Any]) -> str | None:
    """Return the dialect of the database in a row of the kind `jdbc`, or None if it has none."""
    return dialect_of(scheme_of(str(row.get("url") or "")))


def _jdbc(row: dict[str, Any]) -> list[DatasetName]:
    """Return the tables of a JDBC relation. For a query, read them from its text without literals."""
    from fll_hbase.capture.resolver.jdbc_query import query_tables, stored_parts

    if name := row.get("name"):
        return [jdbc_table(row, stored_parts(name, jdbc_dialect(row)), written=name)]
    tables = query_tables(row.get("query") or "", jdbc_dialect(row))
    return sorted(jdbc_table(row, parts, written=written) for parts, written in tables.items())


def _jdbc_namespace(url: str, home: str) -> tuple[str, str]:
    """Return the namespace, with the default port, and the database of a JDBC URL, "" if it has none.

    An embedded Derby database is in its directory; a relative directory is below `home`.
    """
    address, _, properties = url.removeprefix("jdbc:").partition(";")
    scheme, _, location = address.partition(":")
    match = re.search(r"databaseName=([^;]+)", properties, re.IGNORECASE)
    if not location.startswith("//"):
        if scheme == "derby" and not location.startswith(_DERBY_ELSEWHERE):
            folder = location.removeprefix("directory:") or (match[1] if match else "")
            return f"file:{posixpath.normpath(posixpath.join(home, folder))}", ""
        if scheme == "oracle" and "@" in location:
            host, _, database = location.rpartition("@")[2].lstrip("/").replace("/", ":").partition(":")
            port, _, service = database.partition(":")
            return f"oracle://{host}:{port or 1521}", service
        return address, ""
    parts = urlsplit(location)
    host = parts.netloc.rpartition("@")[2]
    if host and ":" not in host and scheme in _PORTS:
        host = f"{host}:{_PORTS[scheme]}"
    database = parts.path.strip("/")
    return f"{_SCHEMES.get(scheme, scheme)}://{host}", match[1] if match else database
