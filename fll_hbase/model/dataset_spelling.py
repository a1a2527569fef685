"""Spellings of one dataset or field: clients write the same name in different ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from urllib.parse import unquote

Name = tuple[str, str]
"""Namespace and name of a dataset."""

SCHEMES = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfs": "abfss",
    "wasb": "wasbs",
    "postgresql": "postgres",
    "sqlserver": "mssql",
    "mariadb": "mysql",
}
"""Schemes of namespaces, each with its equivalent in the naming rules of OpenLineage."""

PORTS = {
    "postgres": 5432,
    "mysql": 3306,
    "mssql": 1433,
    "oracle": 1521,
    "redshift": 5439,
    "hive": 9083,
    "hdfs": 8020,
    "trino": 8080,
    "cassandra": 9042,
}
"""Default ports, by scheme of the naming rules."""

_WITHOUT_TABLES = {
    "s3",
    "gs",
    "abfss",
    "wasbs",
    "hdfs",
    "dbfs",
    "file",
    "kafka",
    "pubsub",
    "pulsar",
    "kinesis",
}
"""Schemes of files and topics: their names have no parts, and are case-sensitive."""

HADOOP_S3 = re.compile(r"s3[an]://")
_OBJECT_STORES = {"s3", "gs", "wasb", "wasbs"}
"""Schemes of stores whose names have no leading slash."""
_PATH_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_SHARED_FILES = re.compile(r"(?:s3[an]?|gc?s|abfss?|wasbs?|azure|hdfs|dbfs):/+[^*?{\[]*$", re.IGNORECASE)
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?://([^/]*))?(/.*|$)", re.DOTALL)
_STEPS_MAX = 16
"""Maximum number of name parts and of parent directories to try: names are long, and events have many."""
_QUOTED = re.compile(r'(?:"[^"./]+"|`[^`./]+`)(?:\.(?:"[^"./]+"|`[^`./]+`|[^"`./]+))*')
_QUOTED_LATER = re.compile(r'[^"`./]+(?:\.(?:"[^"./]+"|`[^`./]+`|[^"`./]+))+')


def without_quotes(name: str) -> str:
    """Return a database name without the quotes around its parts, and any other name unchanged."""
    if '"' not in name and "`" not in name:
        return name
    is_quoted = _QUOTED.fullmatch(name) or _QUOTED_LATER.fullmatch(name)
    return name.replace('"', "").replace("`", "") if is_quoted else name


def object_name(namespace: str, name: str) -> Name:
    """Return a dataset with Hadoop's S3 scheme as the naming rules write it, and any other one unchanged.

    Hadoop's paths begin with a slash and may end with one; S3 keys do not.
    """
    if not HADOOP_S3.match(namespace):
        return namespace, name
    return HADOOP_S3.sub("s3://", namespace), name.strip("/") or name


def path_name(path: str) -> Name:
    """Return the dataset of a path or URI of files, without the partitions (`a=1/b=2`) at its end.

    Its namespace and name are those that the Spark agent of OpenLineage writes; a path without a scheme has
    the namespace `file`. Escapes (`%20`) in a URI are decoded. The schemes `gcs` and `azure` are Snowflake's.
    """
    match = _URI.fullmatch(path)
    scheme, authority, name = match.groups("") if match else ("", "", path)
    scheme = scheme.lower()
    name = (unquote(name) if match else name).rstrip("/") or "/"
    directory, _, last = name.rpartition("/")
    # Split from the end: a search in the whole name for each partition would take the square of its length.
    while last.find("=") > 0 and name != last:
        name = directory or "/"
        directory, _, last = name.rpartition("/")
    if scheme in ("", "file"):
        return "file", name
    if scheme == "azure":
        container, _, name = name.lstrip("/").partition("/")
        scheme, authority = "wasbs", f"{container}@{authority}"
    scheme = _PATH_SCHEMES.get(scheme, scheme)
    namespace = f"{scheme}://{authority}" if authority else scheme
    return namespace, (name.lstrip("/") or "/") if scheme in _OBJECT_STORES else name


def file_alias(name: str) -> Name | None:
    """Return `path_name` for a URI of files in a store that many programs share, or None for another name.

    None for a partition or pattern too, since these are only a part of a dataset.
    """
    if not _SHARED_FILES.match(name) or "=" in name.rstrip("/").rpartition("/")[2][1:]:
        return None
    return path_name(name)


def namespace_key(namespace: str) -> str:
    """Return the common part of all spellings of a namespace: scheme, host and port, or its default port."""
    scheme, separator, host = namespace.removeprefix("jdbc:").partition("://")
    scheme = SCHEMES.get(scheme.lower(), scheme.lower()).rstrip(":/")
    host = host.rstrip("/").lower()
    if host and scheme in PORTS:
        # Before the `@`, a database has a user. Other schemes have a container there, which must stay.
        host = host.rpartition("@")[2]
        host = host if ":" in host else f"{host}:{PORTS[scheme]}"
    return f"{scheme}{separator}{host}" if host else scheme


class DeclaredNames:
    """Datasets that a name in another spelling may mean."""

    def __init__(self) -> None:
        self._datasets: dict[Name, set[Name]] = {}
        self._shortened: dict[Name, set[Name]] = {}

    def add(self, dataset: Name, aliases: Iterable[Name] = ()) -> None:
        """Add a dataset by its name and aliases, and by these without database, schema or partitions."""
        for namespace, name in (dataset, *aliases):
            key, plain = _key(namespace, name)
            self._datasets.setdefault((key, plain), set()).add(dataset)
            for short in (*_suffixes(key, plain), *_without_partitions(plain)):
                self._shortened.setdefault((key, short), set()).add(dataset)

    def find(self, name: Name) -> Name | None:
        """Return the dataset that a name means, or None if it may mean none or several.

        The same name in another spelling comes first. Otherwise, the name of a table may lack the database or
        add one. A path may mean the nearest directory above it, or the directory of its partitions.
        """
        key, plain = _key(*name)
        # Only the first match counts. A name that two datasets share means neither.
        candidates = self._datasets.get((key, plain)) or self._shortened.get((key, plain))
        for part in chain(_suffixes(key, plain), _parents(plain)) if not candidates else ():
            candidates = candidates or self._datasets.get((key, part))
        return next(iter(candidates)) if candidates and len(candidates) == 1 else None


def _key(namespace: str, name: str) -> tuple[str, str]:
    """Return the key of a namespace, and a name without leading and trailing slashes.

    The name of a table is in lower case, without quotes.
    """
    key, path = namespace_key(namespace), name.strip("/")
    return key, without_quotes(path).casefold() if _is_table(key, path) else path


def _is_table(key: str, name: str) -> bool:
    """Return whether a name denotes a table, with parts, rather than a file or topic."""
    return "/" not in name and key.partition(":")[0] not in _WITHOUT_TABLES


def _suffixes(key: str, name: str) -> Iterator[str]:
    """Yield the names of a table without its database, then without its schema; nothing for other names."""
    parts = name.rsplit(".", _STEPS_MAX) if _is_table(key, name) else []
    yield from (".".join(parts[start:]) for start in range(1, len(parts)))


def _parents(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first, at most _STEPS_MAX and without the root."""
    for _ in range(_STEPS_MAX):
        path = path.rpartition("/")[0]
        if not path:
            return
        yield path


def _without_partitions(path: str) -> Iterator[str]:
    """Yield the directories above the trailing partitions of a path."""
    last = path
    for directory in _parents(path):
        if "=" not in last[len(directory) :]:
            return
        yield directory
        last = directory


class FieldNames:
    """Fields of a schema, also found by other spellings: dots for nested fields, or another case."""

    def __init__(self, fields: Iterable[str]) -> None:
        """Take the fields, nested ones as `a/b`."""
        self._fields = set(fields)
        self._spellings: dict[str, str | None] | None = None

    def add(self, fields: Iterable[str]) -> None:
        """Add the fields of a further schema of the same dataset."""
        self._fields.update(fields)
        self._spellings = None

    def find(self, name: str) -> str:
        """Return the field that a name means, or the name itself if it means none or several."""
        if name in self._fields or not self._fields:
            return name
        if self._spellings is None:
            self._spellings = self._find_spellings()
        return self._spellings.get(name) or self._spellings.get(name.casefold()) or name

    def _find_spellings(self) -> dict[str, str | None]:
        """Return the fields by dotted path, and by both forms in lower case, with None for ambiguous ones."""
        spellings: dict[str, str | None] = {}
        for field in sorted(self._fields):
            for spelling in {field.casefold(), field.replace("/", ".").casefold()}:
                spellings[spelling] = None if spelling in spellings else field
        # A dotted path in its original case takes precedence over another case.
        return spellings | {field.replace("/", "."): field for field in sorted(self._fields) if "/" in field}
